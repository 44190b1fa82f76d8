"""Prometheus' own Python parser reads the text of a runtime's metrics.

The parser is prometheus_client's, which `tools/setup --tests` installs. Without it the tests are
skipped.
"""
import json
import subprocess
import sys
import unittest

try:
    from prometheus_client import parser
except ImportError:
    parser = None

WRITER = sys.argv.pop(1)
PROGRAMS = 5
# Of each program: steps, and those that were replayed.
STEPS, REPLAYS = 9, 3


@unittest.skipIf(parser is None, "prometheus_client is not installed; see tools/setup --tests")
class MetricsTextTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        def page(name):
            done = subprocess.run([WRITER, name], check=True, stdout=subprocess.PIPE)
            return done.stdout.decode()

        cls.text = page("metrics") + page("memory")
        cls.json = json.loads(page("json"))
        cls.families = {family.name: family
                        for family in parser.text_string_to_metric_families(cls.text)}

    def samples(self, name):
        # The parser calls a counter by its name without "_total".
        family = self.families[name[:-len("_total")] if name.endswith("_total") else name]
        return family.samples

    def test_every_line_is_read(self):
        lines = [line for line in self.text.split("\n") if line and not line.startswith("#")]
        read = sum(len(family.samples) for family in self.families.values())
        self.assertEqual(read, len(lines))
        declared = [line.split()[2] for line in self.text.split("\n")
                    if line.startswith("# TYPE")]
        self.assertEqual(len(declared), len(set(declared)), "a family is declared twice")
        self.assertEqual(len(declared), len(self.families))

    def test_no_series_comes_twice(self):
        series = [(sample.name, tuple(sorted(sample.labels.items())))
                  for family in self.families.values() for sample in family.samples]
        self.assertEqual(len(series), len(set(series)))

    def test_counters_are_named_so(self):
        for name, family in self.families.items():
            self.assertTrue(name.startswith("graphtree_"), name)
            self.assertTrue(family.documentation, name)
            for sample in family.samples:
                self.assertEqual(family.type == "counter", sample.name.endswith("_total"),
                                 sample.name)

    def test_names_come_back_as_they_were(self):
        names = {sample.labels["program"] for sample in
                 self.samples("graphtree_program_steps_total")}
        self.assertEqual(len(names), PROGRAMS)
        self.assertLessEqual({"decode", 'say "hi" \\ n', "two\nlines\r\tand more", "{}=,#"}, names)
        self.assertIn("<ff><fe> no utf-8 <c3>", names)

    def test_dispatches_are_the_steps(self):
        all_steps = sum(sample.value for sample in self.samples("graphtree_dispatch_total"))
        self.assertEqual(all_steps, PROGRAMS * STEPS)
        replays = sum(sample.value for sample in self.samples("graphtree_dispatch_total")
                      if sample.labels["mode"] == "replay")
        self.assertEqual(replays, PROGRAMS * REPLAYS)
        for sample in self.samples("graphtree_program_replays_total"):
            self.assertEqual(sample.value, REPLAYS)

    def test_histograms_grow_to_their_count(self):
        series = {}
        counts = {}
        for sample in self.samples("graphtree_dispatch_host_seconds"):
            labels = dict(sample.labels)
            end = labels.pop("le", None)
            key = tuple(sorted(labels.items()))
            if end is not None:
                series.setdefault(key, []).append((float(end), sample.value))
            elif sample.name.endswith("_count"):
                counts[key] = sample.value
        self.assertEqual(set(series), set(counts))
        for key, buckets in series.items():
            self.assertEqual(buckets, sorted(buckets), key)
            values = [value for _, value in buckets]
            self.assertEqual(values, sorted(values), key)
            self.assertEqual(buckets[-1], (float("inf"), counts[key]))
        # All but replays are timed.
        timed = sum(value for key, value in counts.items() if ("mode", "replay") not in key)
        self.assertEqual(timed, PROGRAMS * (STEPS - REPLAYS))

    def test_the_ledger_adds_up(self):
        device = self.samples("graphtree_ledger_device_bytes")[0].value
        lanes = sum(sample.value for sample in self.samples("graphtree_ledger_lane_bytes"))
        sums = {s.labels["kind"]: s.value for s in self.samples("graphtree_ledger_sum_bytes")}
        self.assertEqual(device, lanes + sums["slots"] + sums["executables"] + sums["code"] +
                         sums["tagged"])
        functions = self.samples("graphtree_ledger_bytes")
        self.assertEqual(sums["executables"],
                         sum(s.value for s in functions if s.labels["kind"] == "executables"))

    def test_the_plan_and_what_it_came_to(self):
        told = {s.labels["of"]: s.value for s in self.samples("graphtree_plan_estimated_bytes")}
        given = self.samples("graphtree_plan_device_bytes")[0].value
        error = self.samples("graphtree_plan_error_ratio")[0].value
        sum_told = sum(told[of] for of in ("pool_alone", "pool_shared", "executables", "code"))
        self.assertAlmostEqual(error, abs(sum_told - given) / given)
        self.assertEqual(self.json["plan"]["device_bytes"], given)

    def test_json_has_the_same(self):
        lane = self.json["metrics"]["lanes"][0]
        self.assertEqual(lane["steps"], PROGRAMS * STEPS)
        by_text = {(s.labels["mode"], s.labels["reason"]): s.value
                   for s in self.samples("graphtree_dispatch_total")}
        modes = {"replayed": "replay", "recorded": "record", "warmed up": "warm",
                 "eager": "eager", "failed": "failed"}
        by_json = {(modes[route], why): count for route, row in lane["routes"].items()
                   for why, count in row["why"].items()}
        self.assertEqual(by_text, by_json)
        self.assertEqual(len(self.json["explanation"]["steps"]), PROGRAMS * STEPS)
        self.assertTrue(self.json["trees"][0]["outline"]["nodes"])


if __name__ == "__main__":
    unittest.main()
