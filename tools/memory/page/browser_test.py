"""The page in a real browser, with real snapshots: what a person does, and what they then see."""

import json
import os
import subprocess
import sys

sys.path.insert(0, "tools/memory/page/testing")
import report  # noqa: E402
from case import DATA, PageCase  # noqa: E402

SHIFT = 8


class OpensTest(PageCase):
    def test_totals_are_those_of_the_file(self):
        with open(f"{DATA}/facts.json", encoding="utf-8") as file:
            facts = json.load(file)
        for name, fact in facts.items():
            with self.subTest(name):
                page = self.open(name.removesuffix(".pickle"))
                lanes = page.evaluate("""graphtreePage.app.snapshots[0].lanes.map(lane => [
                    lane.device, lane.allocated[lane.eventCount],
                    lane.reserved[lane.eventCount]])""")
                gpu = [lane for lane in lanes if lane[0] >= 0]
                self.assertEqual(sum(lane[1] for lane in gpu), fact["requested_bytes"])
                self.assertEqual(sum(lane[2] for lane in gpu), fact["reserved_bytes"])
                if "host" in fact:
                    host = [lane for lane in lanes if lane[0] < 0]
                    self.assertEqual(host[0][2], fact["host"]["reserved_bytes"])

    def test_picture_is_not_blank_in_any_layout(self):
        page = self.open("reduce_overhead_batches_1_2_4_8")
        for layout in ("stack", "address"):
            for axis in ("event", "time"):
                page.evaluate(
                    f"graphtreePage.app.store.set({{layout: '{layout}', axis: '{axis}'}})")
                page.settle()
                colours = page.evaluate("""(() => {
                  const {canvas} = graphtreePage.app.panes[0].timeline.raster;
                  const data = canvas.getContext('2d')
                    .getImageData(0, 0, canvas.width, canvas.height);
                  return new Set(new Uint32Array(data.data.buffer)).size; })()""")
                self.assertGreater(colours, 10, f"{layout} by {axis}")

    def test_empty_snapshot_is_said_on_the_page(self):
        path = os.path.join(self.folder.name, "empty.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"segments": [], "device_traces": [[]]}, file)
        page = self.browser.open(self.write(path))
        page.wait_for("document.body.innerText.includes('neither segments nor a history')")
        page.close()

    def test_broken_data_is_said_on_the_page(self):
        path = self.write("leak_step9")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace('{"version":1,', '{"version":99,', 1))
        page = self.browser.open(path)
        page.wait_for("document.body.innerText.includes('cannot be shown')")
        self.assertIn("is 99", self.text(page, "#app"))
        page.close()


class LooksTest(PageCase):
    def test_hover_says_what_is_drawn_there(self):
        page = self.open("train_step7")
        for layout in ("stack", "address"):
            page.evaluate(f"graphtreePage.app.store.set({{layout: '{layout}'}})")
            page.settle()
            allocation = self.largest(page)
            page.move(*self.point_of(page, allocation))
            said = self.text(page, ".tooltip")
            size = page.evaluate(
                f"graphtreePage.app.panes[0].lane.allocations.size[{allocation}]")
            self.assertIn(f"{size / 2**20:g} MiB at 0x7f", said)
            self.assertIn("default pool", said)
        page.move(5, 5)
        self.assertTrue(page.evaluate("document.querySelector('.tooltip').hidden"))

    def test_slow_machine_draws_coarsely_and_then_finely(self):
        page = self.open("train_step7")
        raster = "graphtreePage.app.panes[0].timeline.raster"
        fine = page.evaluate(f"{raster}.canvas.width")
        page.evaluate(f"{raster}.lastMs = 1000")
        left, top, width, height = self.box(page, ".timeline .overlay")
        page.mouse("mouseWheel", left + width / 2, top + 50, deltaX=0, deltaY=-400)
        page.wait_for(f"{raster}.canvas.width < {fine}", 5)
        page.settle()
        self.assertEqual(page.evaluate(f"{raster}.canvas.width"), fine)

    def test_click_pins_and_escape_lets_go(self):
        page = self.open("train_step7")
        # Two workspaces of the same size: which covers more pixels would be a matter of rounding.
        allocation = page.evaluate(
            "graphtreePage.app.panes[0].lane.allocations.size.lastIndexOf(2 ** 25)")
        page.click(*self.point_of(page, allocation))
        pinned = page.evaluate("graphtreePage.app.panes[0].pinned.allocation")
        self.assertEqual(pinned, allocation)
        said = self.text(page, ".side-body")
        for word in ("32 MiB", "Address", "Lived", "Allocated by", "gemm_internal_cublas"):
            self.assertIn(word, said)
        plumbing = page.evaluate("document.querySelectorAll('.stack .plumbing').length")
        shown = page.evaluate("""[...document.querySelectorAll('.stack li')]
            .filter(li => li.offsetParent !== null).length""")
        every = page.evaluate("document.querySelectorAll('.stack li').length")
        self.assertGreater(plumbing, 0)
        self.assertEqual(shown, every - plumbing)
        page.key("Escape")
        self.assertIsNone(page.evaluate("graphtreePage.app.panes[0].pinned"))

    def test_map_shows_the_moment_under_the_pointer(self):
        page = self.open("reduce_overhead_batches_1_2_4_8")
        left, top, width, height = self.box(page, ".timeline .overlay")
        titles = set()
        for part in (0.05, 0.4, 0.7, 0.97):
            page.move(left + part * width, top + height / 2)
            state = page.evaluate("graphtreePage.app.panes[0].state()")
            reserved = page.evaluate(f"graphtreePage.app.panes[0].lane.reserved[{state}]")
            drawn = page.evaluate("""graphtreePage.app.panes[0].map.groups
                .reduce((sum, group) => sum + group.bytes, 0)""")
            self.assertEqual(drawn, reserved)
            titles.add(self.text(page, ".map-title"))
        self.assertGreater(len(titles), 2)

    def test_block_of_the_map_can_be_pinned(self):
        page = self.open("train_step7")
        part = page.evaluate("""(() => { const {map} = graphtreePage.app.panes[0];
          const box = map.canvas.getBoundingClientRect();
          const part = map.tape.parts.find(p => p.segment.blocks.length > 0);
          const i = part.segment.blocks[0];
          const at = graphtreePage.app.panes[0].lane.allocations.address[i] - part.segment.address;
          return [box.left + part.x + at / map.bytesPerPixel + 3, box.top + part.y + 8, i]; })()""")
        page.click(part[0], part[1])
        self.assertEqual(page.evaluate("graphtreePage.app.panes[0].pinned.allocation"), part[2])

    def test_failure_is_explained_where_it_happened(self):
        page = self.open("oom_fragmented")
        self.assertIn("Out of memory: 8.25 MiB were asked for", self.text(page, ".side-body"))


class MovesTest(PageCase):
    def test_wheel_zooms_around_the_pointer(self):
        page = self.open("train_step7")
        left, top, width, height = self.box(page, ".timeline .overlay")
        before = self.view(page)
        x = left + 0.25 * width
        under = before["from"] + 0.25 * (before["to"] - before["from"])
        page.wheel(x, top + 50, -400)
        after = self.view(page)
        self.assertLess(after["to"] - after["from"], 0.8 * (before["to"] - before["from"]))
        still = after["from"] + 0.25 * (after["to"] - after["from"])
        self.assertAlmostEqual(still, under, delta=0.01 * (after["to"] - after["from"]))
        self.assertEqual(after["top"], before["top"])
        page.wheel(x, top + height - 1, -400, SHIFT)
        self.assertLess(self.view(page)["top"], before["top"])
        page.key("0")
        self.assertEqual(self.view(page), before)

    def test_drag_moves_by_what_the_hand_moves(self):
        page = self.open("train_step7")
        left, top, width, height = self.box(page, ".timeline .overlay")
        for _ in range(3):
            page.wheel(left + width / 2, top + 50, -400)
        before = self.view(page)
        page.drag([(left + 300, top + 100), (left + 250, top + 100), (left + 200, top + 100)])
        after = self.view(page)
        moved = (after["from"] - before["from"]) / (before["to"] - before["from"]) * width
        self.assertAlmostEqual(moved, 100, delta=2)
        self.assertIsNone(page.evaluate("graphtreePage.app.panes[0].pinned"), "a drag is no click")

    def test_strip_above_follows_and_leads(self):
        page = self.open("train_step7")
        left, top, width, height = self.box(page, ".overview")
        page.drag([(left + 0.5 * width, top + 20), (left + 0.7 * width, top + 20)])
        page.evaluate("graphtreePage.app.panes[0].timeline.zoomAtCentre(4)")
        page.settle()
        view = self.view(page)
        span = page.evaluate("graphtreePage.app.panes[0].timeline.length")
        _, _, window, _ = self.box(page, ".overview .selection")
        self.assertAlmostEqual(window / width, (view["to"] - view["from"]) / span, delta=0.01)

    def test_keys(self):
        page = self.open("oom_fragmented")
        state = "graphtreePage.app.panes[0].state()"
        page.key("p")
        self.assertEqual(page.evaluate(state),
                         page.evaluate("graphtreePage.app.panes[0].lane.peakState"))
        page.key("e")
        last = page.evaluate(state)
        page.key("[")
        self.assertEqual(page.evaluate(state), last - 1)
        page.key("l")
        self.assertEqual(page.evaluate("graphtreePage.app.store.get('layout')"), "address")
        page.key("t")
        self.assertEqual(page.evaluate("graphtreePage.app.store.get('axis')"), "time")
        page.key("/")
        self.assertEqual(page.evaluate("document.activeElement.type"), "search")

    def test_axis_keeps_what_is_shown(self):
        page = self.open("train_step7")
        page.evaluate("graphtreePage.app.panes[0].timeline.showStates(400, 500)")
        events = self.view(page)
        page.evaluate("graphtreePage.app.store.set({axis: 'time'})")
        page.evaluate("graphtreePage.app.store.set({axis: 'event'})")
        again = self.view(page)
        self.assertAlmostEqual(events["from"], again["from"], delta=3)
        self.assertAlmostEqual(events["to"], again["to"], delta=3)


class FindsTest(PageCase):
    def search(self, page, query):
        page.evaluate(f"graphtreePage.app.search({json.dumps(query)})")
        page.settle()

    def test_stack_text_dims_the_rest_and_lists_the_hits(self):
        page = self.open("train_step7")
        self.search(page, "AddmmBackward")
        self.assertRegex(self.text(page, ".side-body"), r"^\d+ allocations, ")
        lit = page.evaluate("""(() => { const [found] = graphtreePage.app.matches();
          const {lane, snapshot} = found.pane; return [found.hits.length, found.hits.every(i =>
            snapshot.stacks.text(lane.allocations.stack[i]).includes('AddmmBackward'))]; })()""")
        self.assertGreater(lit[0], 5)
        self.assertTrue(lit[1])
        page.key("n")
        first = page.evaluate("graphtreePage.app.panes[0].pinned.allocation")
        page.key("n")
        self.assertGreater(page.evaluate("graphtreePage.app.panes[0].pinned.allocation"), first)

    def test_address_and_size(self):
        page = self.open("leak_step39")
        address = page.evaluate("""(() => { const {lane} = graphtreePage.app.panes[0];
          const address = lane.addressBase + BigInt(lane.allocations.address[9] + 3);
          return '0x' + address.toString(16); })()""")
        self.search(page, address)
        self.assertIn(9, page.evaluate("graphtreePage.app.matches()[0].hits"))
        self.search(page, ">16M alive")
        self.assertEqual(page.evaluate("graphtreePage.app.matches()[0].hits.length"), 1)

    def test_legend_entry_stands_out(self):
        page = self.open("torch_2_15_mixed")
        page.evaluate("""[...document.querySelectorAll('.legend button')]
            .find(b => b.innerText.includes('graph pool (1, 0)')).click()""")
        self.assertEqual(page.evaluate("graphtreePage.app.store.get('focus')"), "graph pool (1, 0)")

    def test_devices_can_be_chosen_and_notes_are_shown(self):
        page = self.open("torch_2_15_mixed")
        self.search(page, "saved by autograd")
        page.evaluate("graphtreePage.app.step(1)")
        page.evaluate("graphtreePage.app.side.show('allocation')")
        self.assertIn("saved by autograd", self.text(page, ".side-body"))
        page.evaluate("""(() => { const s = document.querySelector('.pane select');
          s.selectedIndex = 1; s.dispatchEvent(new Event('change')); })()""")
        page.settle()
        self.assertEqual(page.evaluate("graphtreePage.app.panes[0].lane.device"), -1)


class NodesTest(PageCase):
    """A snapshot as our own pool writes it: blocks say which tree node they belong to."""

    def test_tree_nodes_are_coloured_first(self):
        blocks = [{"address": 0x7f0000000000 + k * 2**20, "size": 2**20, "requested_size": 2**20,
                   "state": "active_allocated", "frames": [], "node": f"root/{k % 3}",
                   "function": "decode"} for k in range(9)]
        segment = {"device": 0, "address": 0x7f0000000000, "total_size": 9 * 2**20, "stream": 0,
                   "segment_type": "large", "segment_pool_id": [0, 7], "is_expandable": True,
                   "frames": [], "blocks": blocks}
        path = os.path.join(self.folder.name, "ours.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"segments": [segment], "device_traces": [[]]}, file)
        page = self.open(path)
        self.assertEqual(page.evaluate("graphtreePage.app.store.get('grouping')"), "node")
        self.assertIn("root/1, decode", self.text(page, ".legend"))
        colours = page.evaluate("""(() => { const {raster} = graphtreePage.app.panes[0].timeline;
          const {canvas, ids} = raster; const seen = new Set();
          const words = graphtreePage.app.panes[0].colours();
          for (const id of ids) if (id >= 2) seen.add(words[id]); return seen.size; })()""")
        self.assertGreaterEqual(colours, 3)
        page.evaluate("graphtreePage.app.search('node:root/2')")
        self.assertEqual(page.evaluate("graphtreePage.app.matches()[0].hits.length"), 3)


class ComparesTest(PageCase):
    def test_two_side_by_side(self):
        page = self.open("leak_step9", "--against", f"{DATA}/leak_step39.pickle")
        self.assertEqual(page.evaluate("document.querySelectorAll('.pane').length"), 2)
        said = self.text(page, ".side-body")
        self.assertIn("+7.5 MiB", said)
        self.assertIn("model.py:33", said)
        tops = [self.view(page, pane)["top"] for pane in (0, 1)]
        self.assertEqual(tops[0], tops[1], "stacks side by side are drawn to one scale")
        colours = page.evaluate("""graphtreePage.app.panes.map(pane => {
          const {names} = graphtreePage.app.groupsOf(pane);
          const i = names.findIndex(name => name.startsWith('addmm'));
          return graphtreePage.app.cssColourOfName(names[i]); })""")
        self.assertEqual(colours[0], colours[1])


class FlameTest(PageCase):
    def test_picture_zooms_and_searches(self):
        out = os.path.join(self.folder.name, "flame.svg")
        snapshot = f"{DATA}/train_step7.pickle"
        subprocess.run([self.graphtree, "memory", "flame", snapshot, "--at", "peak", "-o", out],
                       check=True)
        page = self.browser.open(out, width=1300)
        self.addCleanup(self.check_quiet, page)
        shown = """[...document.querySelectorAll('.frame')].filter(g => g.style.display !== 'none')
            .map(g => [+g.dataset.row, +g.querySelector('rect').getAttribute('width')])"""
        before = page.evaluate(shown)
        for row in range(1, 4):
            self.assertLessEqual(sum(w for r, w in before if r == row), 1200.5)
        page.evaluate("""[...document.querySelectorAll('.frame')].find(g => +g.dataset.row === 3 &&
            +g.dataset.w < 0.9).dispatchEvent(new MouseEvent('click'))""")
        after = page.evaluate(shown)
        self.assertLess(len(after), len(before))
        self.assertEqual({w for r, w in after if r <= 3}, {1200})
        page.evaluate("""(() => { const field = document.querySelector('input');
          field.value = 'model.py'; field.dispatchEvent(new Event('input')); })()""")
        self.assertRegex(self.text(page, ".said"), r"^\d+\.\d % matches$")


class ScreensTest(PageCase):
    def test_phone(self):
        page = self.open("leak_step9", "--against", f"{DATA}/leak_step39.pickle", width=390,
                         height=844, ratio=2, phone=True)
        self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth"), 390)
        left, top, width, height = self.box(page, ".timeline .overlay")
        before = self.view(page)
        x, y = left + width / 2, top + height / 2
        page.touch("touchStart", (x - 20, y), (x + 20, y))
        for step in (40, 60, 80):
            page.touch("touchMove", (x - step, y), (x + step, y))
        page.touch("touchEnd")
        page.settle()
        after = self.view(page)
        self.assertLess(after["to"] - after["from"], 0.5 * (before["to"] - before["from"]))
        page.tap(*self.point_of(page, self.largest(page)))
        page.wait_for("graphtreePage.app.panes[0].pinned !== null", 5)
        small = page.evaluate("""[...document.querySelectorAll('button, select, input')].filter(e =>
            e.offsetParent !== null && e.getBoundingClientRect().height < 20 &&
            !e.matches('.link, .entry'))
            .map(e => e.outerHTML)""")
        self.assertEqual(small, [])

    def test_dark(self):
        def look(dark):
            page = self.open("train_step7", dark=dark)
            return page.evaluate("""(() => { const style = getComputedStyle(document.body);
              const light = text =>
                text.match(/\\d+/g).slice(0, 3).reduce((a, b) => a + +b, 0) / 765;
              const {raster} = graphtreePage.app.panes[0].timeline;
              const at = raster.ids.indexOf(1);
              const x = Math.floor(at / raster.canvas.height), y = at % raster.canvas.height;
              const [r, g, b] = raster.canvas.getContext('2d').getImageData(x, y, 1, 1).data;
              return [light(style.backgroundColor), light(style.color), (r + g + b) / 765]; })()""")
        paper, ink, free = look(False)
        self.assertGreater(paper - ink, 0.7)
        self.assertGreater(free, 0.6)
        paper, ink, free = look(True)
        self.assertGreater(ink - paper, 0.7)
        self.assertLess(free, 0.4)


if __name__ == "__main__":
    PageCase.graphtree = sys.argv.pop(1)
    report.run()
