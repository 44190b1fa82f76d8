"""Runtimes, programs and steps; plans, parking, votes, and what runtimes tell."""

import os
import tempfile
import unittest

import graphtree
from graphtree import (ANY, Contents, FieldRule, In, Key, KeyField, Mode, Modes, Out, Pad, Serving,
                       ServingMode, Slot)
from producer import Producer
from world import WORDS, HostTest


def _add_rows(call):
    count = call.block[0]
    out, x = call.array(0, count), call.array(1, count)
    for i in range(count):
        out[i] = x[i] + call[2]


class ProgramTest(HostTest):
    """A runtime with one program: tokens are ids plus 5."""

    def setUp(self):
        super().setUp()
        self.add_rows = graphtree.Kernel("add rows", ["*i32", "const *i32", "i32"], host=_add_rows)
        self.runtime = graphtree.Runtime([self.device])
        self.bodies = 0
        self.decode = self.make()

    def close_more(self):
        self.runtime.close()
        self.add_rows.close()
        del self.decode

    def make(self, name="decode", slots=None, **options):
        slots = slots or [Slot("ids", "i32", (8,), rows=KeyField.TOKENS)]

        @self.runtime.program(name=name, slots=slots, **options)
        def body(on, ids):
            self.bodies += 1
            return self.plus(on, ids, 5)
        return body

    def plus(self, on, x, by):
        out = on.empty_like(x)
        on.launch(self.add_rows, Out(out), In(x), by, block=x.shape[0])
        return out

    def record(self, *tokens):
        self.decode.add_shapes([Key(tokens=count) for count in tokens])
        self.decode.record()


class StepTest(ProgramTest):
    """Steps."""

    def test_a_loop(self):
        self.record(2, 8)
        bodies = self.bodies
        for step in range(10):
            count = 1 + step % 8
            with self.decode.step(Key(tokens=count)) as one:
                one.stage("ids", list(range(count)))
                out = one.run()
                self.assertIn(one.choice.why, ("hit", "cover"))
            self.assertEqual(out.tolist()[:count], [5 + i for i in range(count)])
        self.assertEqual(self.bodies, bodies)
        self.assertEqual(self.runtime.stats.steps, 10)
        self.assertEqual(self.runtime.stats.by_why, {"hit": 3, "cover": 7})

    def test_all_modes_but_one(self):
        self.record(4)
        self.assertEqual(self.decode.choose(Key(tokens=4), ~Modes.SEGMENTED).why, "hit")
        self.assertNotEqual(self.decode.choose(Key(tokens=4), ~Modes.FULL).why, "hit")
        with self.decode.step(Key(tokens=4), forbidden=~Modes.FULL) as step:
            self.assertEqual(step.choice.why, "hit")
        votes = [self.decode.vote(Key(tokens=4), ~Modes.SEGMENTED, 1)]
        self.assertEqual(self.decode.agree(Key(tokens=4), ~Modes.SEGMENTED, 1, votes).modes,
                         Modes.FULL)

    def test_what_slots_are_staged_with(self):
        import array
        self.record(4)
        x = self.device.tensor_from([1, 2, 3, 4], "i32")
        on_host = self.device.tensor_from([1, 2, 3, 4], "i32", on_host=True)
        for data, first in (([1, 2, 3, 4], 6), (array.array("i", [1, 2, 3, 4]), 6), (7, 12),
                            (array.array("q", [1, 2, 3, 4]), 6), (x, 6), (on_host, 6)):
            out = self.decode.run(Key(tokens=4), {"ids": data})
            self.assertEqual(out.tolist()[0], first, data)
        last = self.decode.run(Key(tokens=4), {0: [1, 2, 3, 4]})
        with self.decode.step(Key(tokens=4), continues=True) as step:
            step.stage(0, last)
            self.assertEqual(step.run().tolist(), [11, 12, 13, 14])
        with self.decode.step(Key(tokens=4)) as step:
            buffer = step.buffer("ids", 4)
            self.assertEqual(len(buffer), 16)
            buffer[:] = b"".join(i.to_bytes(4, "little") for i in range(4))
            self.assertEqual(step.run().tolist(), [5, 6, 7, 8])

    def test_foreign_rows(self):
        self.record(8)
        out = self.decode.run(Key(tokens=8), {"ids": Producer(sizes=(8,))})
        self.assertEqual(out.tolist(), [5 + i for i in range(8)])

    def test_what_slots_are_not_staged_with(self):
        self.record(4)
        with self.decode.step(Key(tokens=4)) as step:
            for slot, data, kind, words in (
                    ("idz", [1], ValueError, "no slot 'idz'; there are ids"),
                    ("ids", [[1]], ValueError, "1 dimensions"),
                    ("ids", object(), TypeError, "no tensor")):
                with self.assertRaisesRegex(kind, words):
                    step.stage(slot, data)
            step.cancel()
        with self.decode.step(Key(tokens=4)):
            pass  # it is canceled
        self.assertFalse(self.runtime.cancel_step())
        with self.assertRaises(graphtree.Error):
            self.decode.run(Key(tokens=4), {})
        self.assertIn("tokens", self.decode.step(Key(tokens=3)).describe())
        self.assertTrue(self.runtime.cancel_step() or True)

    def test_bodies_of_programs(self):
        seen = []

        def prepare(on, ids, zeros):
            return self.plus(on, ids, 100)

        def fill(on, key, slot):
            seen.append(key.tokens)
            on.fill(slot, 0)

        memory = self.device.memory(64)
        cache = self.runtime.dependency("cache", memory.address, 64)
        weights = self.runtime.dependency("weights")

        @self.runtime.program(prepare=prepare, dependencies=[weights, cache], lane=1, slots=[
            Slot("ids", "i32", (4,), rows=KeyField.TOKENS, pad=Pad.VALUE, pad_value=9),
            Slot("zeros", "i32", (4,), fill=fill)])
        def program(on, ids, zeros):
            seen.append((on.key.tokens, on.mode, on.dependency(1).address == memory.address,
                         zeros.shape))
            prepared = on.prepared(0)
            on.slots_are_free()
            return self.plus(on, prepared, 1)

        program.add_shapes([Key(tokens=4)])
        program.record()
        self.assertIn((4, Mode.FULL, True, (4,)), seen)
        self.assertEqual(program.run(Key(tokens=2), {"ids": [1, 2]}).tolist(),
                         [102, 103, 110, 110])
        weights.touch()
        cache.move(memory.address, 32)
        program.run(Key(tokens=2), {"ids": [1, 2]})
        self.assertEqual(self.runtime.stats.touches, 2)
        self.assertEqual(program.slot("ids").shape, (4,))
        self.stream.synchronize()
        self.runtime.close()

    def test_a_body_that_raises(self):
        wrong = []

        @self.runtime.program(lane=1, slots=[Slot("ids", "i32", (4,), rows=KeyField.TOKENS)])
        def program(on, ids):
            if wrong:
                raise wrong[0]
            return self.plus(on, ids, 1)

        wrong.append(LookupError("in the program"))
        with self.assertRaises(LookupError) as caught:
            program.run(Key(tokens=3), {"ids": [1, 2, 3]})
        self.assertIs(caught.exception, wrong[0])
        wrong.clear()
        self.assertEqual(program.run(Key(tokens=3), {"ids": [1, 2, 3]}).tolist()[:3], [2, 3, 4])

    def test_choosing_and_excluding(self):
        self.record(4, 8)
        self.assertEqual(self.decode.choose(Key(tokens=3)).key.tokens, 4)
        self.decode.exclude(Key(tokens=4))
        self.assertEqual(self.decode.choose(Key(tokens=3)).key.tokens, 8)
        self.decode.exclude(Key(tokens=4), False)
        none = self.decode.choose(Key(tokens=9))
        self.assertEqual((none.shape, none.field), (-1, KeyField.TOKENS))
        self.assertIn(none.why, graphtree.why_names())
        self.assertTrue(graphtree.why_sentence(none.why))
        self.assertEqual(self.decode.choose(Key(tokens=3), Modes.NONE).shape, -1)

    def test_rules(self):
        program = self.make("ruled", lane=1, rules={KeyField.TOKENS: FieldRule(most_extra=1)})
        program.add_shapes([Key(tokens=8, kind=ANY)])
        self.assertEqual(program.choose(Key(tokens=7, kind=3)).key.tokens, 8)
        self.assertEqual(program.choose(Key(tokens=6)).shape, -1)
        with self.assertRaisesRegex(ValueError, "EXTRA has no rule"):
            self.make("wrong", rules={KeyField.EXTRA: FieldRule()})

    def test_when_slots_are_free(self):
        program = self.make("tells", lane=1, tells_when_free=True)
        program.add_shapes([Key(tokens=8)])
        program.record()
        program.run(Key(tokens=8), {"ids": list(range(8))})
        rows, slots = program.when_free()
        rows.synchronize()
        slots.synchronize()
        self.assertTrue(rows.is_done and slots.is_done)
        rows.close()
        slots.close()

    def test_pointers(self):
        self.record(8)
        slot = self.decode.slot("ids")
        self.assertTrue(self.decode.pointers(Key(tokens=8), slot.address, slot.size_bytes))

    def test_a_program_that_is_closed(self):
        self.record(8)
        self.decode.close()
        with self.assertRaises(graphtree.BadHandle):
            self.decode.step(Key(tokens=3))


class RuntimeTest(ProgramTest):
    """All around steps."""

    def test_serving(self):
        self.record(8)
        self.assertEqual(self.runtime.serving, ServingMode())
        self.runtime.serving = ServingMode(Serving.STRICT, parity_every=2)
        self.assertEqual(self.runtime.serving.parity_every, 2)
        with self.assertRaises(graphtree.Error):
            self.decode.run(Key(tokens=9), {"ids": list(range(8))})
        for _ in range(4):
            self.decode.run(Key(tokens=8), {"ids": list(range(8))})

    def test_what_it_tells(self):
        self.record(8)
        self.decode.run(Key(tokens=8), {"ids": list(range(8))})
        self.assertIn("decode", self.runtime.explain())
        self.assertIn("decode", str(self.runtime.explain_data("decode", 5)))
        self.assertIn("graphtree_", self.runtime.metrics_text())
        self.assertTrue(self.runtime.metrics())
        self.assertIn("decode", self.runtime.ledger())
        self.assertTrue(self.runtime.ledger_data())
        self.assertTrue(self.runtime.settings())
        self.assertTrue(self.runtime.everything())
        with self.runtime.tree() as tree:
            self.assertIn("decode", tree.outline())
        self.assertEqual(self.runtime.history().steps, 1)

    def test_the_door(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "door")
            self.runtime.open_door(path)
            self.assertTrue(os.path.exists(path))
            self.runtime.close_door()

    def test_logs_and_clocks(self):
        heard, ticks = [], iter(range(0, 1 << 40, 1000))
        with graphtree.Runtime([self.device], log=lambda *told: heard.append(told),
                               clock_ns=lambda: next(ticks), pool_bytes=1 << 28,
                               tree=graphtree.TreeOptions(nodes=8),
                               serving=ServingMode(Serving.OFF)) as runtime:
            self.assertEqual(runtime.serving.serving, Serving.OFF)

            @runtime.program(slots=[Slot("ids", "i32", (8,), rows=KeyField.TOKENS)])
            def program(on, ids):
                return self.plus(on, ids, 1)
            program.run(Key(tokens=2), {"ids": [1, 2]})
        self.assertTrue(all(level in (0, 1) and text for level, text in heard))

    def test_plans_and_progress(self):
        self.decode.add_shapes([Key(tokens=4), Key(tokens=8)])
        self.assertEqual(self.runtime.readiness.shapes, 2)
        plan = self.runtime.plan()
        self.assertEqual(plan.info.to_record, 2)
        self.assertTrue(str(plan))
        self.assertEqual(plan.record().recorded, 2)
        self.assertEqual(self.runtime.readiness.ready, 2)
        plan.close()
        other = self.make("other", lane=1)
        other.add_shapes([Key(tokens=8)])
        for _ in range(8):
            report = self.runtime.progress(lanes=[1],
                                           only=[graphtree.Shape(other, Key(tokens=8))])
            if report.is_done:
                break
        self.assertEqual(self.runtime.readiness.ready, 3)

    def test_epochs(self):
        program = self.make("commits", lane=1, needs_commit=True)
        program.add_shapes([Key(tokens=8)])
        program.record()
        found = self.runtime.uncommitted([program])
        self.assertEqual([shape.key.tokens for shape in found], [8])
        self.assertEqual(program.choose(Key(tokens=8)).shape, -1)
        self.runtime.commit(self.runtime.epoch)
        self.assertEqual(program.choose(Key(tokens=8)).shape, 0)

    def test_votes(self):
        self.record(8)
        votes = [self.decode.vote(Key(tokens=5), Modes.ALL, 1) for _ in range(2)]
        agreed = self.decode.agree(Key(tokens=5), Modes.ALL, 1, votes)
        self.assertEqual((agreed.outcome, agreed.key.tokens), (0, 8))
        self.assertTrue(agreed.sentence)
        other = self.decode.vote(Key(tokens=6), Modes.NONE, 1)
        self.assertNotEqual(
            self.decode.agree(Key(tokens=5), Modes.ALL, 1, [votes[0], other]).outcome, 0)
        with self.assertRaisesRegex(ValueError, "16"):
            self.decode.agree(Key(tokens=5), Modes.ALL, 1, [b"short"])

    def test_parking(self):
        cache = self.runtime.add_memory("kv", "cache", 4096, contents=Contents.KEEP)
        tensor = cache.tensor(graphtree.Layout("i32", (4,)))
        self.stream.fill(tensor, 5, 4)
        self.stream.synchronize()
        self.runtime.park("kv")
        self.runtime.wake("kv")
        self.assertEqual(tensor.tolist(self.stream), [5] * 4)
        cache.remove()
        with self.assertRaisesRegex(ValueError, "closed"):
            tensor.check()
        self.record(8)
        self.decode.run(Key(tokens=8), {"ids": list(range(8))})
        with self.assertRaisesRegex(graphtree.Error, "idle"):
            self.runtime.lend(1 << 40)

    def test_lending(self):
        options = graphtree.TreeOptions(initial_bytes=1 << 24)
        with graphtree.Runtime([self.device], tree=options) as runtime:
            @runtime.program(slots=[Slot("ids", "i32", (8,), rows=KeyField.TOKENS)])
            def program(on, ids):
                return self.plus(on, ids, 1)

            staged = {"ids": list(range(8))}
            program.run(Key(tokens=8), staged, self.stream)
            loan = runtime.lend(1 << 16, self.stream)
            loan.use_on(self.stream)
            self.assertEqual(loan.range.size, 1 << 16)
            self.stream.fill(loan.range.address, 1, 1, 1 << 16)
            program.run(Key(tokens=8), staged, self.stream)
            self.assertEqual(loan.range, (0, 0), "it has ended with the next step")
            loan.close()
            with runtime.lend(64, self.stream, until_given_back=True) as kept:
                program.run(Key(tokens=8), staged, self.stream)
                self.assertEqual(kept.range.size, 64)

    def test_preparing_ahead(self):
        prepare = self.make("prepare", lane=1, kept_outputs=[0])
        with graphtree.Ahead(prepare) as ahead, self.device.stream() as side:
            staged = {"ids": [1, 2, 3]}
            for _ in range(3):
                ahead.prepare(Key(tokens=3), staged, side)
                out = ahead.take(Key(tokens=3), staged, self.stream)
                self.assertEqual(out.tolist()[:3], [6, 7, 8])
            other = ahead.take(Key(tokens=3), {"ids": [4, 5, 6]}, self.stream)
            self.assertEqual(other.tolist()[:3], [9, 10, 11])
            self.assertEqual((ahead.stats.prepared, ahead.stats.used), (3, 3))


if __name__ == "__main__":
    unittest.main()
