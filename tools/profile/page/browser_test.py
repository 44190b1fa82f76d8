"""The page of `graphtree profile html` in a real browser: the slow replay is seen and named, at the
width of a phone and in the dark, without a network.

  browser_test.py GRAPHTREE
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, "tools/memory/page/testing")
import report  # noqa: E402
from browser import Browser, find_browser  # noqa: E402

GRAPHTREE = os.path.abspath(sys.argv.pop(1))
SAMPLE = "profiler/trace/testdata/sample.json"
REAL = "tools/trace/testdata/torch_2_11_graph_replays.json"
EAGER = "tools/trace/testdata/torch_2_11_compiled.json"


def made_trace(replays, ops, slow_replay, slow_op, gap=0.2):
    """Replays of a graph, 2 us an op; in one of them one op takes 30 us, or, where slow_op is -1,
    all take twice as long, or the given gap is between any two."""
    events = []
    at = 0.0
    for replay in range(replays):
        arguments = {"correlation": replay + 1}
        events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaGraphLaunch", "pid": 1,
                       "tid": 1, "ts": at, "dur": 4, "args": arguments})
        at += 10
        for op in range(ops):
            slow = replay == slow_replay
            duration = 30 if slow and op == slow_op else 2 + replay % 5 * 0.1
            if slow and slow_op < 0 and gap == 0.2:
                duration *= 2
            events.append({"ph": "X", "cat": "kernel", "name": f"kernel_{op}<{'x' * 30}>",
                           "pid": 0, "tid": 7, "ts": round(at, 3), "dur": duration,
                           "args": dict(arguments, device=0, stream=7, function="decode",
                                        **{"graph id": 3, "graph node id": op + 1})})
            at += duration + (gap if slow else 0.2)
    return {"traceEvents": events}


class PageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if find_browser():
            cls.folder = tempfile.TemporaryDirectory(prefix="graphtree-profile-page-")
            cls.browser = Browser()

    @classmethod
    def tearDownClass(cls):
        if find_browser():
            cls.browser.__exit__()
            cls.folder.cleanup()

    def setUp(self):
        if not find_browser():
            self.skipTest("no Chromium on this machine (tools/setup page installs it)")

    def open(self, source, **look):
        out = os.path.join(self.folder.name, "page.html")
        if not isinstance(source, str):
            path = os.path.join(self.folder.name, "made.json")
            with open(path, "w", encoding="utf-8") as file:
                json.dump(source, file)
            source = path
        done = subprocess.run([GRAPHTREE, "profile", "html", source, "-o", out],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        page = self.browser.open(out, **look)
        page.wait_for("window.graphtreePage !== undefined")
        page.settle()
        self.addCleanup(self.check_quiet, page)
        return page

    def check_quiet(self, page):
        """No error was thrown, and nothing was asked for but the page itself."""
        self.assertEqual(page.errors, [])
        self.assertEqual([url for url in page.requests if not url.startswith("file://")], [])
        page.close()

    def text(self, page, selector):
        return page.evaluate(f"document.querySelector('{selector}').innerText")

    def test_the_slow_replay_is_selected_and_its_op_named(self):
        page = self.open(made_trace(60, 8, 41, 5))
        said = self.text(page, ".said")
        self.assertIn("Replay 42 of 60", said)
        self.assertIn("kernel_5", said)
        self.assertIn("30.0 µs in place of 2.20 µs", said)
        self.assertIn("kernel_5", self.text(page, ".ops .op"))
        self.assertEqual(page.evaluate("document.querySelectorAll('.ops .slow').length"), 1)

    def test_slow_ops_and_gaps_are_told_apart(self):
        page = self.open(made_trace(60, 8, 41, -1))
        self.assertIn("8 of its 8 ops took over a fifth longer", self.text(page, ".said"))
        page = self.open(made_trace(60, 8, 41, -1, gap=9))
        self.assertIn("what is more are gaps", self.text(page, ".said"))

    def test_it_is_seen_in_the_picture(self):
        page = self.open(made_trace(60, 8, 41, 5))
        # Only the slow row reaches the right half.
        rows = page.evaluate("""(() => {
          const {canvas, rowHeight, rows} = graphtreePage.app.stack;
          const context = canvas.getContext('2d');
          const ratio = window.devicePixelRatio;
          return rows.map((_, row) => {
            const x = Math.round(canvas.width * 0.8);
            const y = Math.round((row + 0.4) * rowHeight * ratio);
            return context.getImageData(x, y, 1, 1).data[3] > 0;
          }).flatMap((drawn, row) => drawn ? [row] : []);
        })()""")
        self.assertEqual(rows, [41])

    def test_a_row_is_picked_by_mouse_and_keys(self):
        page = self.open(made_trace(60, 8, 41, 5))
        left, top, high = page.evaluate("""(() => {
          const {canvas, rowHeight} = graphtreePage.app.stack;
          const box = canvas.getBoundingClientRect();
          return [box.left, box.top, rowHeight]; })()""")
        page.click(left + 20, top + 10.5 * high)
        self.assertIn("Replay 11 of 60", self.text(page, ".said"))
        page.evaluate("graphtreePage.app.stack.canvas.focus()")
        page.key("ArrowDown")
        self.assertIn("Replay 12 of 60", self.text(page, ".said"))
        page.evaluate("""(() => { const choice = document.querySelectorAll('nav select')[1];
          choice.value = 'wall'; choice.dispatchEvent(new Event('change')); })()""")
        page.click(left + 20, top + 0.5 * high)
        self.assertIn("Replay 42 of 60", self.text(page, ".said"))

    def test_nothing_is_cut_at_the_width_of_a_phone(self):
        for source in (made_trace(60, 8, 41, 5), REAL, SAMPLE, EAGER):
            page = self.open(source, width=360, height=740, ratio=3, phone=True)
            wide = page.evaluate("document.documentElement.scrollWidth")
            self.assertLessEqual(wide, 360)

    def test_it_follows_the_dark(self):
        for dark in (False, True):
            page = self.open(SAMPLE, dark=dark)
            paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
            self.assertEqual(paper, "rgb(20, 23, 27)" if dark else "rgb(255, 255, 255)")

    def test_real_replays_and_a_trace_without_any(self):
        page = self.open(REAL)
        self.assertIn("of 4, at", self.text(page, ".said"))
        self.assertEqual(page.evaluate("graphtreePage.app.data.kinds[0].ops.length"), 11)
        page = self.open(EAGER)
        self.assertIn("no replay of a graph", self.text(page, "#app"))
        self.assertIn("triton_per_fused", self.text(page, ".ops"))

    def test_names_are_text_and_never_markup(self):
        trace = made_trace(3, 2, 0, 0)
        trace["traceEvents"][1]["name"] = "</script><img src=x onerror=alert(1)>"
        page = self.open(trace)
        self.assertEqual(page.evaluate("document.querySelectorAll('img').length"), 0)
        self.assertIn("<img", page.evaluate("document.body.innerText"))

    def test_thousands_of_replays_open_and_stay_quick(self):
        page = self.open(made_trace(3000, 40, 2345, 7))
        self.assertIn("Replay 2,346 of 3,000", self.text(page, ".said"))
        took = page.evaluate("""(() => { const began = performance.now();
          graphtreePage.app.select(5); return performance.now() - began; })()""")
        self.assertLess(took, 1000)


if __name__ == "__main__":
    report.run()
