"""What the page's browser tests share: pages written by the command line, opened in Chromium."""

import os
import subprocess
import tempfile
import unittest

from browser import Browser, find_browser

NO_BROWSER = "no Chromium on this machine (tools/setup page installs it)"
DATA = "tools/snapshot/testdata"


class PageCase(unittest.TestCase):
    """One browser for all tests of a class; a page for each that asks."""

    graphtree = None

    @classmethod
    def setUpClass(cls):
        if not find_browser():
            return
        cls.folder = tempfile.TemporaryDirectory(prefix="graphtree-page-")
        cls.browser = Browser()

    @classmethod
    def tearDownClass(cls):
        if find_browser():
            cls.browser.__exit__()
            cls.folder.cleanup()

    def setUp(self):
        if not find_browser():
            self.skipTest(NO_BROWSER)
        help_text = subprocess.run([self.graphtree, "memory", "html", "/dev/null"],
                                   capture_output=True, text=True, check=False).stderr
        if "without its page" in help_text:
            self.skipTest("this graphtree has no page: " + help_text.strip())

    def write(self, snapshot, *more):
        """Writes a page for a file of the test data and returns its path."""
        source = snapshot if os.path.isabs(snapshot) else f"{DATA}/{snapshot}.pickle"
        out = os.path.join(self.folder.name, os.path.basename(snapshot) + ".html")
        done = subprocess.run([self.graphtree, "memory", "html", source, "-o", out, *more],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return out

    def open(self, snapshot, *more, **look):
        page = self.browser.open(self.write(snapshot, *more), **look)
        page.wait_for("window.graphtreePage !== undefined")
        page.at_rest = "!graphtreePage.app.panes.some(pane => pane.timeline.raster.coarse)"
        page.settle()
        self.addCleanup(self.check_quiet, page)
        return page

    def check_quiet(self, page):
        """No error was thrown, and nothing was asked for but the page itself."""
        self.assertEqual(page.errors, [])
        self.assertEqual([url for url in page.requests if not url.startswith("file://")], [])
        page.close()

    def box(self, page, selector):
        """Left, top, width and height of an element."""
        return page.evaluate(
            f"(r => [r.left, r.top, r.width, r.height])"
            f"(document.querySelector('{selector}').getBoundingClientRect())")

    def text(self, page, selector):
        return page.evaluate(
            f"(e => e.innerText ?? e.textContent)(document.querySelector('{selector}'))")

    def view(self, page, pane=0):
        return page.evaluate(f"graphtreePage.app.panes[{pane}].timeline.view")

    def point_of(self, page, allocation, pane=0):
        """A point of the screen where the allocation is drawn, or None."""
        return page.evaluate(f"""(() => {{
          const {{timeline, lane}} = graphtreePage.app.panes[{pane}];
          const {{ids, canvas}} = timeline.raster;
          const hits = [];
          ids.forEach((id, at) => {{ if (id === {allocation} + 2) hits.push(at); }});
          if (hits.length === 0) return null;
          const at = hits[hits.length >> 1];
          const box = canvas.getBoundingClientRect();
          return [box.left + (Math.floor(at / canvas.height) + 0.5) * box.width / canvas.width,
                  box.top + (at % canvas.height + 0.5) * box.height / canvas.height];
        }})()""")

    def largest(self, page, pane=0):
        """The allocation that covers most of the picture."""
        return page.evaluate(f"""(() => {{
          const counts = new Map();
          for (const id of graphtreePage.app.panes[{pane}].timeline.raster.ids) {{
            if (id >= 2) counts.set(id, (counts.get(id) || 0) + 1);
          }}
          return [...counts].sort((a, b) => b[1] - a[1])[0][0] - 2;
        }})()""")
