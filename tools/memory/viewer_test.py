"""PyTorch's own viewer, torch.cuda._memory_viz, reads what we write.

Only that one file is loaded, from an installed PyTorch or from where GRAPHTREE_MEMORY_VIZ says; it
needs nothing else of it. Without one the tests are skipped.
"""
import contextlib
import glob
import importlib.util
import io
import os
import pickle
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "page", "testing"))
import report  # noqa: E402

GRAPHTREE = sys.argv.pop(1)
FILES = sorted(glob.glob("tools/snapshot/testdata/*.pickle"))


def find_viewer():
    """The path of the viewer, or None."""
    named = os.environ.get("GRAPHTREE_MEMORY_VIZ")
    if named:
        return named
    torch = importlib.util.find_spec("torch")
    if torch is None or not torch.submodule_search_locations:
        return None
    path = os.path.join(torch.submodule_search_locations[0], "cuda", "_memory_viz.py")
    return path if os.path.exists(path) else None


def load(path):
    with open(path, "rb") as file:
        return pickle.load(file)


def as_text(lines, *_):
    """In the place of the script that draws a flame graph, which the viewer would download."""
    return lines


class ViewerTest(unittest.TestCase):
    def setUp(self):
        path = find_viewer()
        if path is None:
            self.skipTest("PyTorch is not installed, and GRAPHTREE_MEMORY_VIZ names no viewer")
        spec = importlib.util.spec_from_file_location("memory_viz", path)
        self.viewer = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.viewer)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def run_graphtree(self, *words):
        done = subprocess.run([GRAPHTREE, *words], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)

    def views(self, snapshot):
        """What the viewer makes of a snapshot, by view."""
        with contextlib.redirect_stdout(io.StringIO()):  # compare prints
            return self.views_of(self.viewer, snapshot)

    @staticmethod
    def views_of(viewer, snapshot):
        return {
            "stats": viewer.segsum(snapshot),
            "trace": viewer.trace(snapshot),
            "segments": viewer.segments(snapshot, as_text),
            "memory": viewer.memory(snapshot, as_text),
            # Of dictionaries it fails, on files of PyTorch, too: it wants lists of segments.
            "compare": viewer.compare(snapshot["segments"], snapshot["segments"][1:], as_text),
            "trace_plot": viewer.trace_plot(snapshot),
            "segment_plot": viewer.segment_plot(snapshot),
        }

    def test_a_snapshot_of_our_pool_opens(self):
        path = os.path.join(self.folder, "own.pickle")
        self.run_graphtree("demo", "--quiet", "--device", "host", "--steps", "20", "--snapshot",
                           path)
        snapshot = load(path)
        views = self.views(snapshot)
        for name, view in views.items():
            self.assertTrue(view, name)
        entries = snapshot["device_traces"][0]
        self.assertTrue(any(entry["action"] == "checkpoint_restore" for entry in entries))
        allocated = sum(entry["action"] == "alloc" for entry in entries)
        self.assertGreater(allocated, 10)
        self.assertGreaterEqual(views["trace"].count("\n"), allocated)
        base = str(snapshot["segments"][0]["address"])
        self.assertIn(base, views["segments"])

    def test_what_was_converted_looks_the_same(self):
        for path in FILES:
            expected = self.views(load(path))
            for between, options in (("x.pickle", ("--protocol", "2")), ("x.json", ()),
                                     ("x.sqlite", ())):
                with self.subTest(path=path, between=between):
                    middle = os.path.join(self.folder, between)
                    back = os.path.join(self.folder, "back.pickle")
                    self.run_graphtree("memory", "convert", path, middle, *options)
                    self.run_graphtree("memory", "convert", middle, back)
                    views = self.views(load(back))
                    for name in ("stats", "trace", "segments", "memory", "compare"):
                        self.assertEqual(views[name], expected[name], name)
                    self.assertEqual(views.keys(), expected.keys())


if __name__ == "__main__":
    report.run()
