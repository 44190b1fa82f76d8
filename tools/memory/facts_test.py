"""Every test snapshot's totals, as `stats --json` says them, against Python's own count."""
import json
import os
import subprocess
import sys
import unittest

GRAPHTREE = sys.argv.pop(1)
DATA = "tools/snapshot/testdata"


def stats(path):
    done = subprocess.run([GRAPHTREE, "memory", "stats", "--json", path],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


class FactsTest(unittest.TestCase):
    def test_every_file_has_its_facts(self):
        with open(os.path.join(DATA, "facts.json")) as file:
            facts = json.load(file)
        pickles = [name for name in os.listdir(DATA) if name.endswith(".pickle")]
        self.assertEqual(sorted(pickles), sorted(facts))
        for name, wanted in facts.items():
            with self.subTest(name):
                self.check(stats(os.path.join(DATA, name)), dict(wanted))

    def check(self, got, wanted):
        wanted.pop("protocol")
        private = wanted.pop("private_pool_segments")
        host = wanted.pop("host", None)
        self.assertEqual({key: got[key] for key in wanted}, wanted)
        self.assertEqual(sum(pool["segments"] for pool in got["pools"] if pool["pool"] != [0, 0]),
                         private)
        for key in ("segments", "blocks", "reserved_bytes", "allocated_bytes"):
            for group in ("pools", "devices", "streams", "segment_types"):
                self.assertEqual(sum(part[key] for part in got[group]), got[key], (group, key))
        self.assertEqual(host is not None, "host" in got)
        if host is not None:
            self.assertEqual({key: got["host"][key] for key in host}, host)


if __name__ == "__main__":
    unittest.main()
