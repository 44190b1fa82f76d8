"""The rows are well formed, also where there is no PyTorch, and read like a bench binary's."""

import contextlib
import io
import json
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import peers  # noqa: E402
import rows  # noqa: E402

KEYS = ["name", "ours_is", "baseline_is", "unit", "ours", "baseline", "ratio", "difference",
        "spread", "goal", "met", "skipped", "failed"]


def run(bench, *arguments):
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        code = rows.main(bench, list(arguments))
    return code, out.getvalue()


def failing(smoke):
    raise ValueError("broken")


def skipping(smoke):
    raise rows.Skip("needs a thing")


class PeersTest(unittest.TestCase):
    def test_names_differ_and_can_be_listed(self):
        code, out = run(peers.all_rows(), "--list")
        names = out.split()
        self.assertEqual(code, 0)
        self.assertEqual(len(names), len(set(names)))
        self.assertIn("peer.torch.replay.copied.32", names)

    def test_a_name_picks_rows(self):
        _, out = run(peers.all_rows(), "--list", "checkpoint.take")
        self.assertEqual(len(out.split()), 3)

    def test_every_row_runs_or_says_what_it_needs(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "rows.json")
            code, _ = run(peers.all_rows(), "--smoke", "--json", path)
            with open(path, encoding="utf-8") as file:
                text = file.read()
        self.assertEqual(code, 0)
        for row in json.loads(text)["rows"]:
            self.assertEqual(list(row), KEYS)
            self.assertTrue(row["skipped"] or row["ours"] > 0, row)
        self.assertTrue(text.split("\n")[1].startswith('{"name"'))
        self.assertIn('"failed":null}', text)

    def test_failures_and_skips_are_told_apart(self):
        bench = [rows.Row("a", "x", "us", failing), rows.Row("b", "x", "us", skipping),
                 rows.Row("c", "x", "us", lambda smoke: rows.figure_of([1, 2, 3, 4, 5]))]
        with contextlib.redirect_stderr(io.StringIO()):
            results = [rows.run_row(row, False) for row in bench]
        self.assertEqual(results[0]["failed"], "ValueError: broken")
        self.assertEqual(results[1]["skipped"], "needs a thing")
        self.assertEqual(results[2]["ours"], 3)
        self.assertEqual(run(bench)[0], 1)
        self.assertEqual(run(bench, "b", "--json", "/nowhere/rows.json")[0], 3)


if __name__ == "__main__":
    unittest.main()
