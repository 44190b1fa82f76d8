"""Trees and their functions: calls, what becomes of them, what trees tell, and their memory."""

import copy
import gc
import os
import tempfile
import unittest

import graphtree
from graphtree import In, Out, Route
from world import WORDS, HostTest, TreeTest


class CallTest(TreeTest):
    """Calling functions."""

    def test_warms_up_records_and_replays(self):
        x = self.words(4)
        routes = []
        for _ in range(4):
            self.tree.begin_step()
            y = self.add_three(x)
            self.assertEqual(y.tolist(), [7] * WORDS)
            routes.append(self.tree.last_call.route)
        self.assertEqual(routes, [Route.WARMED_UP, Route.RECORDED, Route.REPLAYED,
                                  Route.REPLAYED])
        self.assertEqual(self.bodies, 2)
        self.assertEqual(self.tree.stats.replays, 2)
        self.assertEqual(self.add_three.stats.replays, 2)
        self.assertEqual(len(self.add_three.recordings), 1)

    def test_an_input_that_moves(self):
        a, b = self.words(1), self.words(2)
        for step in range(6):
            self.tree.begin_step()
            self.assertEqual(self.add_three((a, b)[step % 2]).tolist(), [4 + step % 2] * WORDS)
        self.assertGreaterEqual(self.tree.stats.replays, 3)

    def test_outputs_are_inputs_and_stay_the_callers(self):
        x = self.words(0)
        for _ in range(4):
            self.tree.begin_step()
            y = self.add_three(x)
            z = self.add_three(y)
            self.assertEqual((y.tolist()[0], z.tolist()[0]), (3, 6))

    def test_a_given_tensor_is_the_calls(self):
        x = self.words(0)
        for _ in range(4):
            self.tree.begin_step()
            y = self.add_three(x)
            z = self.add_three(y.give())
            self.assertEqual(z.tolist()[0], 6)
            with self.assertRaisesRegex(ValueError, "closed"):
                y.check()
        del y, z
        self.assertEqual(self.tree.stats.live_blocks, 0)

    def test_a_failed_call_leaves_what_was_given(self):
        @self.tree.function
        def refuses(on, x):
            raise ValueError("not today")

        y = self.add_three(self.words(0))
        with self.assertRaisesRegex(ValueError, "not today"):
            refuses(y.give())
        self.assertEqual(y.tolist(), [3] * WORDS)

    def test_no_output_one_output_and_many(self):
        @self.tree.function
        def none(on, x):
            on.reads(x)

        @self.tree.function
        def three(on, x):
            return self.plus(on, x, 1), 5, None

        x = self.words(1)
        for _ in range(4):
            self.tree.begin_step()
            self.assertIsNone(none(x))
            tensor, number, nothing = three(x)
            self.assertEqual((tensor.tolist()[0], number, nothing), (2, 5, None))

    def test_more_outputs_than_were_said(self):
        @self.tree.function(most_outputs=1)
        def two(on, x):
            return x, x

        with self.assertRaisesRegex(ValueError, "2 outputs, and most_outputs is 1"):
            two(self.words(1))

    def test_integers_are_part_of_the_key(self):
        seen = []

        @self.tree.function
        def add(on, x, by):
            seen.append(by)
            return self.plus(on, x, by)

        x = self.words(0)
        for by in (5, 5, 5, -6, -6, -6):
            self.tree.begin_step()
            self.assertEqual(add(x, by).tolist()[0], by)
        self.assertEqual(seen, [5, 5, -6, -6])

    def test_opaque_objects(self):
        seen = []

        @self.tree.function
        def add(on, x, what):
            seen.append(what)
            return self.plus(on, x, what["by"])

        x = self.words(0)
        thing = graphtree.Opaque({"by": 9}, version=1)
        for _ in range(3):
            self.tree.begin_step()
            self.assertEqual(add(x, thing).tolist()[0], 9)
        self.assertIs(seen[0], thing.thing)
        del thing, seen[:]

    def test_what_is_no_input(self):
        x = self.words(1)
        for wrong, kind, words in ((object(), TypeError, "input 1 of 'pair': a object is no ten"),
                                   ("text", TypeError, "input 1 of 'pair': a str is no tensor"),
                                   (1.5, TypeError, "a float is no tensor"),
                                   (1 << 70, ValueError, "no integer of 64 bits")):
            with self.assertRaisesRegex(kind, words):
                self._pair()(x, wrong)
        # A handle that was made for an input before it is dropped again.
        made = self.add_three(x)
        with self.assertRaisesRegex(TypeError, "input 1"):
            self._pair()(made, object())

    def _pair(self):
        @self.tree.function(name="pair")
        def pair(on, x, y):
            on.reads(x, y)
        return pair

    def test_memory_that_is_closed(self):
        memory = self.device.memory(64)
        x = memory.tensor(graphtree.Layout("i32", (WORDS,)))
        self.stream.fill(x, 0)
        self.add_three(x)
        self.stream.synchronize()
        memory.close()
        with self.assertRaisesRegex(graphtree.BadHandle, "input 0 of 'add_three'.*closed") as seen:
            self.add_three(x)
        self.assertEqual((seen.exception.input, seen.exception.function), (0, "add_three"))

    def test_a_stale_output_says_who_made_it(self):
        x = self.words(1)
        old = self.add_three(x)
        self.tree.begin_step()
        with self.assertRaises(graphtree.FailedPrecondition) as caught:
            self.add_three(old)
        self.assertIn("add_three", caught.exception.text)
        with self.assertRaises(graphtree.FailedPrecondition):
            old.tolist()

    def test_kept_outputs_stay(self):
        @self.tree.function(kept_outputs=[0])
        def keeps(on, x):
            return self.plus(on, x, 1)

        x = self.words(1)
        kept = []
        for _ in range(4):
            self.tree.begin_step()
            kept.append(keeps(x))
        self.assertEqual([y.tolist()[0] for y in kept], [2] * 4)

    def test_inputs_by_name(self):
        @self.tree.function(static_inputs=["weights"], alignments={"x": 16})
        def layer(on, x, weights):
            on.reads(weights)
            return self.plus(on, x, 1)

        self.assertEqual(layer(self.words(1), self.words(2)).tolist()[0], 2)
        with self.assertRaisesRegex(ValueError, "no input 'weight'; it has x, weights"):
            self.tree.function(static_inputs=["weight"])(layer.body)

    def test_a_function_that_is_closed(self):
        x = self.words(1)
        self.add_three(x)
        self.add_three.close()
        self.add_three.close()
        with self.assertRaises(graphtree.BadHandle) as caught:
            self.add_three(x)
        self.assertEqual(caught.exception.call, "gt_call")

    def test_other_ways_to_call(self):
        x = self.words(1)
        self.assertFalse(self.add_three.would_replay(x))
        with self.assertRaisesRegex(graphtree.FailedPrecondition, "add_three"):
            self.add_three.replay(x)
        self.add_three(x)
        self.add_three.record(x)
        self.tree.begin_step()
        self.assertTrue(self.add_three.would_replay(x))
        self.assertEqual(self.add_three.replay(x).tolist()[0], 4)
        self.tree.begin_step()
        y, parity, text = self.add_three.compare(x)
        self.assertEqual((y.tolist()[0], parity), (4, graphtree.Parity.SAME), text)
        z, parity, _ = self.add_three.compare(y)
        self.assertEqual((z.tolist()[0], parity), (7, graphtree.Parity.NOT_COMPARED))

    def test_a_recording_that_has_failed(self):
        runs = []

        @self.tree.function
        def second_fails(on, x):
            runs.append(1)
            if len(runs) == 2:
                raise OSError
            return self.plus(on, x, 1)

        x = self.words(1)
        second_fails(x)
        self.tree.begin_step()
        self.assertEqual(second_fails(x).tolist(), [2] * WORDS, "it ran eagerly after all")
        self.assertEqual(self.tree.last_call.route, Route.EAGER)
        second_fails.end_pause()
        for _ in range(3):
            self.tree.begin_step()
            second_fails(x)
        self.assertEqual(self.tree.last_call.route, Route.REPLAYED)

    def test_handles_are_copied(self):
        y = self.add_three(self.words(1))
        again = y.copy_handle()
        del y
        self.assertEqual(self.tree.stats.live_blocks, 1)
        self.assertEqual(again.tolist(), [4] * WORDS)
        x = self.words(1)
        self.assertEqual(x.copy_handle().address, x.address)
        self.assertEqual((x.strides, x.size_bytes), ((1,), 4 * WORDS))

    def test_calls_in_bodies(self):
        other = graphtree.Tree(self.device)

        @other.function
        def twice(on, x):
            return self.add_three(self.add_three(x))

        x = self.words(0)
        for _ in range(4):
            self.tree.begin_step()
            other.begin_step()
            self.assertEqual(twice(x).tolist()[0], 6)
        other.close()


class TellTest(TreeTest):
    """What trees tell."""

    def setUp(self):
        super().setUp()
        self.x = self.words(1)
        for _ in range(3):
            self.tree.begin_step()
            self.y = self.add_three(self.x)

    def close_more(self):
        del self.x, self.y
        super().close_more()

    def test_outline(self):
        self.assertIn("add_three", self.tree.outline())
        self.assertIn("add_three", str(self.tree.outline_data()))
        self.assertIn("digraph", self.tree.outline_graphviz())
        self.assertIn("add_three", self.tree.edges())
        self.assertIn("add_three", self.tree.functions())
        self.assertTrue(self.tree.state())

    def test_ops_and_pointers(self):
        recording = self.add_three.recordings[0]
        self.assertIn("add", str(self.tree.ops(recording)))
        self.assertIn("digraph", self.tree.ops_graphviz(recording))
        self.assertTrue(self.tree.pointers(recording, self.y.address, 4))

    def test_stats_are_objects(self):
        self.assertEqual(self.tree.stats.as_dict()["recordings"], 1)
        self.assertIn("replays=1", repr(self.tree.stats))
        self.assertGreater(self.tree.pool_stats.mapped_bytes, 0)

        @self.tree.function(exclude=True)
        def excluded(on, x):
            on.reads(x)

        excluded(self.x)
        self.assertEqual(self.tree.stats.by_reason, {"excluded": 1})
        self.assertEqual(excluded.stats.by_reason, {"excluded": 1})
        self.assertEqual(self.tree.last_call, (Route.EAGER, "excluded"))

    def test_snapshots(self):
        self.assertIn("segments", self.tree.snapshot())
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "tree.pickle")
            self.tree.write_snapshot(path)
            self.assertGreater(os.path.getsize(path), 100)

    def test_words_for_people(self):
        layout = graphtree.Layout("f32", (4, 2), (1, 4))
        self.assertEqual(repr(layout), "Layout('f32', (4, 2), strides=(1, 4))")
        self.assertIs(copy.copy(layout), layout)
        self.assertIn("i32[16]", repr(self.y))
        self.assertEqual(repr(self.add_three), "<graphtree.Function 'add_three'>")
        self.assertIn("of 3 parameters", repr(self.add))

    def test_who_made_it(self):
        self.assertTrue(self.tree.made(self.y))
        self.assertFalse(self.tree.made(self.x))
        self.tree.check_may_read(self.y)
        self.assertEqual((self.tree.is_inside, self.tree.is_others), (False, False))
        self.assertEqual(self.y.describe(), "a tensor of i32[16]")

    def test_observers(self):
        seen = []
        with self.tree.observe(seen.append):
            self.tree.begin_step()
            self.y = self.add_three(self.x)
        self.assertEqual([event.moment for event in seen], ["REPLAY_BEGIN", "REPLAY_END"])
        self.assertEqual(seen[0].function, "add_three")
        self.assertTrue(seen[1].ok)

    def test_an_observer_that_raises_is_heard_of(self):
        def saw(event):
            raise KeyError(event.moment)
        with self.tree.observe(saw):
            self.tree.begin_step()
            self.y = self.add_three(self.x)
        for _ in range(2):
            with self.assertRaises(KeyError):
                self.stream.synchronize()

    def test_memory_for_foreign_code(self):
        address = self.tree.foreign_allocate(100, 0)
        self.assertNotEqual(address, 0)
        self.tree.foreign_use_on(address, 0)
        self.tree.foreign_give_back(address, 0)
        self.tree.install_allocator(0)

    def test_parking(self):
        self.stream.synchronize()
        self.tree.park()
        self.assertGreater(self.tree.pool_stats.parked_bytes, 0)
        self.tree.wake()
        self.assertEqual(self.y.tolist(), [4] * WORDS)
        self.tree.set_limit(1 << 30)
        del self.y
        self.tree.begin_step()
        self.tree.give_up(0, 0, 0)
        self.assertEqual(self.tree.stats.nodes, 0)
        self.assertGreaterEqual(self.tree.give_memory(1, "a test"), 0)
        self.tree.trim()
        self.y = None


class OptionsTest(HostTest):
    """What trees are told."""

    def test_strict(self):
        with graphtree.Tree(self.device, strict=True) as tree:
            moves, kept = self._moves(tree), [self.words(step) for step in range(6)]
            with self.assertRaises(graphtree.FailedPrecondition) as caught:
                for x in kept:
                    tree.begin_step()
                    moves(x)
            self.assertEqual(caught.exception.function, "moves")

    def test_warnings_come(self):
        heard = []
        options = graphtree.TreeOptions(warn=heard.append)
        with graphtree.Tree(self.device, options=options) as tree:
            moves, kept = self._moves(tree), [self.words(step) for step in range(6)]
            for x in kept:
                tree.begin_step()
                moves(x)
        self.assertEqual(len(heard), 1, heard)
        self.assertIn("moves", heard[0])
        with self.assertRaises(TypeError):
            graphtree.Tree(self.device, options=options, strict=True)

    def _moves(self, tree):
        @tree.function(static_inputs=["x"], moving=graphtree.Moving.EAGER)
        def moves(on, x):
            out = on.empty_like(x)
            on.launch(self.add, Out(out), In(x), 1, block=WORDS)
            return out
        return moves

    def test_budgets_are_shared(self):
        with graphtree.Budget(nodes=1) as budget:
            trees = [graphtree.Tree(self.device, budget=budget) for _ in range(2)]
        x = self.words(1)
        for tree in trees:
            for _ in range(3):
                tree.begin_step()
                made = tree.function(name="f")(lambda on, x: on.reads(x))
                made(x)
                made(x)
        self.assertLessEqual(sum(tree.stats.nodes for tree in trees), 1)
        for tree in trees:
            tree.close()

    def test_memory_is_shared(self):
        with graphtree.SharedBytes(1 << 26) as shared:
            with graphtree.Tree(self.device, shared_bytes=shared) as tree, \
                    graphtree.Pool(self.device, shared_bytes=shared) as pool:
                pool.free(pool.allocate(64, self.stream))
                self.assertGreater(shared.taken, 0)
                with self.assertRaises(graphtree.ResourceExhausted):
                    pool.allocate(1 << 27, self.stream)
                del tree
            self.assertEqual((shared.taken, shared.limit), (0, 1 << 26))

    def test_outputs_outlive_their_tree(self):
        tree = graphtree.Tree(self.device)

        @tree.function
        def add_one(on, x):
            out = on.empty_like(x)
            on.launch(self.add, Out(out), In(x), 1, block=WORDS)
            return out

        y = add_one(self.words(1))
        tree.close()
        tree.close()
        self.assertEqual(y.tolist(), [2] * WORDS)
        with self.assertRaises(graphtree.BadHandle):
            tree.begin_step()

    def test_a_tree_that_is_dropped_is_closed(self):
        tree = graphtree.Tree(self.device)
        tree.function(name="f")(lambda on: 1)()
        del tree
        gc.collect()


if __name__ == "__main__":
    unittest.main()
