"""Every series and label that the Grafana dashboard names is in the metrics of a runtime.

The dashboard is only read: its queries, its legends, and where its panels lie.
"""
import json
import re
import subprocess
import sys
import unittest

WRITER = sys.argv.pop(1)
DASHBOARD = sys.argv.pop(1)

# Families without samples in the server that the test looks at, with their labels: nothing of the
# kind has happened there.
QUIET = {
    "graphtree_strict_refused_total": {"device", "lane", "reason"},
    "graphtree_rerecord_total": {"device", "lane", "reason"},
    "graphtree_evict_total": {"device", "lane", "reason"},
}
# What Prometheus adds.
ADDED = {"job", "instance"}


def labels_of_series(text):
    """By series, suffixes included, the labels of its samples; and the families declared."""
    series, families = {}, set()
    for line in text.split("\n"):
        if line.startswith("# TYPE "):
            families.add(line.split()[2])
        match = re.match(r"(graphtree_\w+)(?:\{(.*)\})? ", line)
        if match:
            names = set(re.findall(r'(\w+)="', match.group(2) or ""))
            series.setdefault(match.group(1), set()).update(names)
    return series, families


class DashboardTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        text = ""
        for page in ("metrics", "memory"):
            done = subprocess.run([WRITER, page], check=True, stdout=subprocess.PIPE)
            text += done.stdout.decode()
        cls.series, cls.families = labels_of_series(text)
        with open(DASHBOARD, encoding="utf-8") as file:
            cls.dashboard = json.load(file)
        cls.targets = [(panel["title"], target) for panel in cls.dashboard["panels"]
                       for target in panel["targets"]]

    def labels(self, name):
        if name in self.series:
            return self.series[name]
        self.assertIn(name, QUIET, "no such series")
        self.assertIn(name, self.families, "no such family")
        return QUIET[name]

    def test_series_and_labels_are_there(self):
        seen = set()
        for title, target in self.targets:
            with self.subTest(panel=title, expr=target["expr"]):
                expr = target["expr"]
                names = re.findall(r"graphtree_\w+", expr)
                self.assertTrue(names)
                seen.update(names)
                for name, selector in re.findall(r"(graphtree_\w+)\{([^}]*)\}", expr):
                    wanted = set(re.findall(r"(\w+)=", selector))
                    self.assertLessEqual(wanted, self.labels(name) | ADDED)
                for by in re.findall(r"by \(([^)]*)\)", expr):
                    for name in names:
                        self.assertLessEqual(set(by.split(", ")), self.labels(name) | ADDED)
                for label in re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]):
                    self.assertRegex(expr, r"by \([^)]*\b%s\b" % label)
        self.assertGreater(len(seen), 25)
        for name in re.findall(r"graphtree_\w+", json.dumps(self.dashboard["templating"])):
            self.labels(name)

    def test_values_of_labels_are_there(self):
        text = subprocess.run([WRITER, "metrics"], check=True, stdout=subprocess.PIPE).stdout
        for title, target in self.targets:
            for name, label, value in re.findall(r'(graphtree_\w+)\{[^}]*?(mode|result)="(\w+)"',
                                                 target["expr"]):
                with self.subTest(panel=title):
                    pattern = r'%s\{[^}]*%s="%s"' % (name, label, value)
                    self.assertRegex(text.decode(), pattern)

    def test_panels_do_not_overlap(self):
        places = [panel["gridPos"] for panel in self.dashboard["panels"]]
        ids = [panel["id"] for panel in self.dashboard["panels"]]
        self.assertEqual(len(ids), len(set(ids)))
        for i, a in enumerate(places):
            self.assertLessEqual(a["x"] + a["w"], 24)
            for b in places[:i]:
                apart = (a["x"] + a["w"] <= b["x"] or b["x"] + b["w"] <= a["x"] or
                         a["y"] + a["h"] <= b["y"] or b["y"] + b["h"] <= a["y"])
                self.assertTrue(apart, (a, b))

    def test_counters_are_asked_for_their_rate(self):
        for title, target in self.targets:
            with self.subTest(panel=title):
                for name in re.findall(r"(graphtree_\w+_(?:total|bucket))\{", target["expr"]):
                    if title == "Replays that differ":
                        continue  # ever
                    self.assertIn("rate(" + name, target["expr"])


if __name__ == "__main__":
    unittest.main()
