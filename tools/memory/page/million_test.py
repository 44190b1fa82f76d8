"""A million trace entries: the page opens in seconds and redraws at 30 frames a second or better.

Frames are counted while the page does what a hand does: zooms, moves and stretches, in both
layouts. Every frame sets a view of its own, so every frame paints. The best of three tries counts.
Where the machine has more to do than it has cores, its clock says little: there the frames are held
against the processor time that the page's thread took for them, and the output says so.
"""

import os
import subprocess
import sys
import time

sys.path.insert(0, "tools/memory/page/testing")
import report  # noqa: E402
from case import PageCase  # noqa: E402

ENTRIES = 1_000_000
FRAMES = 60
WANTED = 30

MEASURE = """(async () => {
  const {timeline} = graphtreePage.app.panes[0];
  const {length, fullHeight} = timeline;
  const views = {
    whole: k => ({from: 0, to: length, bottom: 0, top: fullHeight * (1 - 0.005 * (k %% 9))}),
    move: k => ({from: length * 0.5 * k / %(frames)d, to: length * (0.5 * k / %(frames)d + 0.4),
                 bottom: 0, top: fullHeight}),
    zoom: k => ({from: length * 0.3, to: length * (0.3 + 0.6 * 0.85 ** k), bottom: 0,
                 top: fullHeight}),
  };
  const next = () => new Promise(done => requestAnimationFrame(done));
  timeline.showAll();
  await new Promise(done => setTimeout(done, 200));
  const before = timeline.framesDrawn;
  const began = performance.now();
  let coarse = 0;
  for (let k = 0; k < %(frames)d; ++k) {
    timeline.setView(views.%(what)s(k));
    await next();
    coarse += timeline.raster.coarse ? 1 : 0;
  }
  await next();
  const seconds = (performance.now() - began) / 1000;
  return [(timeline.framesDrawn - before) / seconds, coarse, timeline.raster.lastMs];
})()"""


class MillionTest(PageCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if not hasattr(cls, "folder"):
            return
        cls.source = os.path.join(cls.folder.name, "million.pickle")
        subprocess.run([sys.executable, "-B", "tools/memory/page/testing/make_large_snapshot.py",
                        cls.source, "--entries", str(ENTRIES)], check=True)

    def test_opens_and_redraws(self):
        began = time.monotonic()
        path = self.write(self.source)
        written = time.monotonic() - began
        self.assertLess(os.path.getsize(path), 16 << 20)
        began = time.monotonic()
        page = self.open(self.source, width=1400, height=900)
        seen = time.monotonic() - began
        opened = page.evaluate("graphtreePage.openedMs")
        self.assertGreaterEqual(
            page.evaluate("graphtreePage.app.panes[0].lane.eventCount"), ENTRIES)
        print(f"\n{os.path.getsize(path) / 2**20:.1f} MiB written in {written:.2f} s; on the "
              f"screen after {seen:.2f} s, of which the page's own work {opened / 1000:.2f} s")
        self.assertLess(opened, 10_000)
        for layout in ("stack", "address"):
            page.evaluate(f"graphtreePage.app.store.set({{layout: '{layout}'}})")
            for what in ("whole", "move", "zoom"):
                with self.subTest(layout=layout, what=what):
                    self.check_rate(page, layout, what)

    def check_rate(self, page, layout, what):
        tries = []
        while len(tries) < 3 and max(tries, default=(0,))[0] < WANTED:
            before = page.busy_seconds()
            measured = page.evaluate(MEASURE % {"frames": FRAMES, "what": what})
            tries.append((*measured, FRAMES / (page.busy_seconds() - before)))
        rate, coarse, sharp, by_processor = max(tries)
        print(f"{layout:8} {what:6} {rate:5.1f} frames/s by the clock, {by_processor:5.1f} by "
              f"processor time; {coarse} of {FRAMES} coarse, a sharp picture in {sharp:.1f} ms")
        crowded = os.getloadavg()[0] > os.cpu_count()
        if rate < WANTED and crowded:
            print(f"         the load is {os.getloadavg()[0]:.1f}: held to processor time")
            rate = by_processor
        self.assertGreaterEqual(rate, WANTED)

    def test_search_and_hover_answer_at_once(self):
        page = self.open(self.source, width=1400, height=900)
        took = page.evaluate("""(() => { const began = performance.now();
          graphtreePage.app.search('function_21 >1M'); return performance.now() - began; })()""")
        self.assertGreater(page.evaluate("graphtreePage.app.matches()[0].hits.length"), 100)
        print(f"\nsearched in {took:.0f} ms")
        self.assertLess(took, 3000)
        left, top, width, height = self.box(page, ".timeline .overlay")
        page.move(left + width / 3, top + height - 20)
        self.assertIn("MiB at 0x7f", self.text(page, ".tooltip"))


if __name__ == "__main__":
    PageCase.graphtree = sys.argv.pop(1)
    report.run()
