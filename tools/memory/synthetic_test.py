"""Synthetic snapshots are what Python's own pickler writes, byte for byte."""
import os
import pickle
import subprocess
import sys
import tempfile
import unittest

MAIN = sys.argv.pop(1)


class SyntheticTest(unittest.TestCase):
    def check(self, protocol, *shape):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "synthetic.pickle")
            done = subprocess.run([MAIN, path, str(protocol), *map(str, shape)],
                                  capture_output=True, text=True, check=True)
            with open(path, "rb") as file:
                written = file.read()
        snapshot = pickle.loads(written)
        # A dump of what was loaded: the same opcodes, memo numbers and frames.
        self.assertEqual(pickle.dumps(snapshot, protocol), written)
        segments = snapshot["segments"]
        blocks = [block for segment in segments for block in segment["blocks"]]
        totals = [len(segments), len(blocks), len(snapshot["device_traces"][0]),
                  sum(segment["total_size"] for segment in segments),
                  sum(block["requested_size"] for block in blocks)]
        self.assertEqual([int(word) for word in done.stdout.split()], totals)
        return snapshot

    def test_every_protocol_is_dumped_alike(self):
        for protocol in (2, 3, 4, 5):
            with self.subTest(protocol=protocol):
                self.check(protocol, 2000)

    def test_odd_shapes(self):
        for shape in ((1, 1, 1, 1), (400, 3, 2, 1), (334, 50, 1001, 2)):
            with self.subTest(shape=shape):
                self.check(4, *shape)

    def test_history_leads_to_the_blocks(self):
        snapshot = self.check(4, 3000)
        held = {}
        for entry in snapshot["device_traces"][0]:
            if entry["action"] == "alloc":
                held[entry["addr"]] = entry
        blocks = {b["address"]: b for s in snapshot["segments"] for b in s["blocks"]}
        self.assertGreater(len(held), 100)
        for address, entry in held.items():
            self.assertEqual(entry["size"], blocks[address]["requested_size"])
            self.assertIs(entry["frames"], blocks[address]["frames"])


if __name__ == "__main__":
    unittest.main()
