"""Launchers: all that a body may do, and what it may not."""

import ctypes
import threading
import unittest

import graphtree
from graphtree import In, InOut, Out
from world import WORDS, TreeTest


class BodyTest(TreeTest):
    """What bodies do."""

    def run_thrice(self, body, *inputs, **options):
        """The outputs of a warm-up, a recording and a replay; all are the same."""
        function = self.tree.function(name="body", **options)(body)
        results = []
        for _ in range(3):
            self.tree.begin_step()
            results.append(function(*inputs).tolist())
        self.assertEqual(self.tree.last_call.route, graphtree.Route.REPLAYED)
        self.assertEqual(results[0], results[2])
        self.assertEqual(results[1], results[2])
        return results[2]

    def test_memory(self):
        def body(on, x):
            on.drop_input(0)
            first = on.empty((WORDS,), "i32")
            on.fill(first, 1)
            second = on.empty_like(first)
            on.copy(second, first)
            return second
        self.assertEqual(self.run_thrice(body, self.words(1)), [0x01010101] * WORDS)

    def test_what_is_dropped_makes_room(self):
        addresses = []

        def body(on, x):
            first = self.plus(on, x, 1)
            addresses.append(first.address)
            second = self.plus(on, first, 1)
            del first
            third = self.plus(on, second, 1)
            addresses.append(third.address)
            return third
        self.assertEqual(self.run_thrice(body, self.words(1))[0], 4)
        self.assertEqual(addresses[-2], addresses[-1])

    def test_padding(self):
        def body(on, x):
            rows = on.empty_with_room((2, 4), (3, 4), "i32")
            on.fill(rows, 0)
            padded = on.pad(rows, (3, 4), 7)
            with self.assertRaises(ValueError):
                rows.check()
            return padded
        self.assertEqual(self.run_thrice(body, self.words(1)), [[0] * 4, [0] * 4, [7] * 4])

    def test_scratch_and_pin(self):
        def body(on, x):
            scratch = on.scratch(64)
            on.launch(self.add, Out(scratch.view((WORDS,), "i32")), In(x), 1, block=WORDS)
            out = self.plus(on, x, 2)
            on.pin(out)
            return out
        self.assertEqual(self.run_thrice(body, self.words(1))[0], 3)

    def test_inputs_are_written(self):
        x = self.words(1)

        def body(on, x):
            on.launch(self.add, InOut(x), In(x), 1, block=WORDS)
            return self.plus(on, x, 0)
        function = self.tree.function(name="body")(body)
        for step in range(4):
            self.tree.begin_step()
            self.assertEqual(function(x).tolist()[0], 2 + step)

    def test_eager_parts(self):
        seen = []

        def body(on, x):
            out = self.plus(on, x, 1)

            def part(on, given):
                seen.append(given.shape)
                on.launch(self.add, Out(given), In(given), 10, block=WORDS)
            on.run_eagerly("needs the host", part, InOut(out))
            return self.plus(on, out, 100)
        self.assertEqual(self.run_thrice(body, self.words(1))[0], 112)
        self.assertEqual(len(seen), 3)
        self.assertEqual(self.tree.stats.eager_parts, 2, "those of recordings")

    def test_a_part_that_raises(self):
        goes_wrong = []

        def body(on, x):
            out = self.plus(on, x, 1)

            def part(on, given):
                if goes_wrong:
                    raise LookupError("the part")
            on.run_eagerly("needs the host", part, InOut(out))
            return out
        function = self.tree.function(name="body")(body)
        x = self.words(1)
        for _ in range(3):
            self.tree.begin_step()
            function(x)
        goes_wrong.append(1)
        self.tree.begin_step()
        with self.assertRaisesRegex(LookupError, "the part"):
            function(x)
        goes_wrong.clear()
        self.tree.begin_step()
        self.assertEqual(function(x).tolist()[0], 2)

    def test_random_numbers(self):
        draw = graphtree.Kernel("draw", ["*i64", 24], host=_draw)
        generator = graphtree.Generator(7)

        @self.tree.function
        def random(on):
            out = on.empty((3,), "i64")
            on.launch(draw, Out(out), on.random(generator, 5))
            return out

        drawn = []
        for _ in range(4):
            self.tree.begin_step()
            drawn.append(random().tolist())
        self.assertEqual([numbers[0] for numbers in drawn], [7] * 4)
        offsets = [numbers[1] for numbers in drawn]
        self.assertEqual(offsets, sorted(set(offsets)), "every run has numbers of its own")
        self.assertEqual(generator.position[0], 7)
        generator.seed(8, 100)
        self.assertEqual(generator.position, (8, 100))
        self.tree.close()
        generator.close()
        draw.close()

    def test_workspaces(self):
        memories = [self.device.memory(64) for _ in range(2)]
        workspace = graphtree.Workspace(self.tree, "scores", graphtree.Range(
            memories[0].address, 64))
        seen = []

        def body(on, x):
            seen.append(on.workspace(workspace).address)
            return self.plus(on, x, 1)
        function = self.tree.function(name="body")(body)
        x = self.words(1)
        for step in range(6):
            self.tree.begin_step()
            if step == 3:
                workspace.move(graphtree.Range(memories[1].address, 64))
            function(x)
        self.assertEqual(seen[0], memories[0].address)
        self.assertEqual(seen[-1], memories[1].address)
        workspace.touch()
        workspace.close()
        self.stream.synchronize()

    def test_events_streams_and_forks(self):
        event, side = self.device.event(), self.device.stream()

        def body(on, x):
            out = self.plus(on, x, 1)
            other = on.empty_like(x)
            on.fork(side)
            on.writes(other)
            side.fill(other, 2)
            on.used_on(other, side)
            on.join_forks()
            on.set_event(event)
            on.reads(out)
            on.writes(out)
            on.stream.fill(out, 3)
            on.check_status()
            return out
        self.run_thrice(body, self.words(1))
        event.synchronize()
        with self.assertRaisesRegex(graphtree.InvalidArgument, "not of a CUDA device"):
            self.tree.function(name="native")(lambda on: on.native_stream)()
        event.close()
        side.close()

    def test_what_lives_with_recordings(self):
        class Thing:
            alive = 0

            def __init__(self):
                Thing.alive += 1

            def __del__(self):
                Thing.alive -= 1

        def body(on, x):
            on.keep_alive(Thing())
            return self.plus(on, x, 1)
        function = self.tree.function(name="body")(body)
        x = self.words(1)
        for _ in range(3):
            self.tree.begin_step()
            function(x)
        self.assertEqual(Thing.alive, 1, "the recording's")
        self.tree.begin_step()
        self.stream.synchronize()
        function.close()
        self.tree.close()
        self.assertEqual(Thing.alive, 0)

    def test_warming_up_again(self):
        asked = []

        def body(on, x):
            if len(asked) < 3:
                asked.append(1)
                on.warm_up_again("caches are cold")
            return self.plus(on, x, 1)
        function = self.tree.function(name="body")(body)
        x, routes = self.words(1), []
        for _ in range(6):
            self.tree.begin_step()
            function(x)
            routes.append(self.tree.last_call.route.name)
        self.assertEqual(routes[:3], ["WARMED_UP"] * 3)
        self.assertEqual(routes[-1], "REPLAYED")


def _draw(call):
    words, seed, offset = (int.from_bytes(call[1][i:i + 8], "little") for i in (0, 8, 16))
    out = call.array(0, 3)
    if words:
        in_memory = (ctypes.c_uint64 * 2).from_address(words)
        seed, offset = in_memory[0], in_memory[1] + offset
    out[0], out[1], out[2] = seed, offset, 0


class FailureTest(TreeTest):
    """What goes wrong in bodies comes back as what it was."""

    def test_an_exception_is_the_calls(self):
        class Own(Exception):
            pass
        raised = Own("mine", 5)

        @self.tree.function
        def body(on, x):
            self.plus(on, x, 1)
            raise raised

        x = self.words(1)
        for _ in range(3):
            with self.assertRaises(Own) as caught:
                body(x)
            self.assertIs(caught.exception, raised)
        self.assertEqual(self.add_three(x).tolist()[0], 4, "nothing is lost")
        self.assertEqual(self.tree.stats.live_blocks, 0)

    def test_an_interrupt_is_one(self):
        @self.tree.function
        def body(on):
            raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            body()

    def test_an_exception_goes_through_two_trees(self):
        other = graphtree.Tree(self.device)
        raised = ZeroDivisionError("deep")

        @self.tree.function
        def inner(on, x):
            raise raised

        @other.function
        def outer(on, x):
            return inner(x)

        with self.assertRaises(ZeroDivisionError) as caught:
            outer(self.words(1))
        self.assertIs(caught.exception, raised)
        other.close()

    def test_what_the_library_got_over_is_not_raised_later(self):
        runs = []

        @self.tree.function
        def second_fails(on, x):
            runs.append(1)
            if len(runs) == 2:
                raise OSError("while recording")
            return self.plus(on, x, 1)

        @self.tree.function
        def wrong(on, x):
            on.copy(x, on.empty((1,), "i32"))

        x = self.words(1)
        for _ in range(2):
            self.tree.begin_step()
            try:
                second_fails(x)
            except OSError as error:
                self.assertEqual(str(error), "while recording")
        with self.assertRaises(graphtree.Error):
            wrong(x)

    def test_the_launchers_failure_sticks_and_is_the_calls(self):
        seen = []

        @self.tree.function
        def body(on, x):
            for _ in range(2):
                try:
                    on.drop_input(7)
                except graphtree.InvalidArgument as error:
                    seen.append(error)
            return x

        with self.assertRaisesRegex(graphtree.InvalidArgument, "input 7") as caught:
            body(self.words(1))
        self.assertEqual(len(seen), 2)
        self.assertIs(seen[0], seen[1])
        self.assertEqual(caught.exception.function, "body")
        del seen[:], caught

    def test_the_errors_cause_has_the_bodys_line(self):
        @self.tree.function
        def body(on):
            on.drop_input(7)

        with self.assertRaises(graphtree.InvalidArgument) as caught:
            body()
        trace, lines = caught.exception.__cause__.__traceback__, []
        while trace is not None:
            lines.append(trace.tb_frame.f_code.co_name)
            trace = trace.tb_next
        self.assertIn("body", lines)
        del trace, caught

    def test_an_input_that_is_kept(self):
        kept = []

        @self.tree.function
        def keeps(on, x, y):
            kept.extend([x, y])

        made = self.add_three(self.words(1))
        x = self.words(2)
        keeps(x, made)
        callers, trees = kept
        self.assertEqual(callers.tolist(), [2] * WORDS, "the caller's memory, which is there")
        with self.assertRaises(graphtree.BadHandle):
            trees.tolist()
        del kept[:], callers, trees, made

    def test_a_launcher_that_is_kept(self):
        kept = []

        @self.tree.function
        def body(on, x):
            kept.extend([on, on.empty_like(x), on.stream])
            return self.plus(on, x, 1)

        x = self.words(1)
        body(x)
        on, tensor, stream = kept
        for use in (lambda: on.empty((1,), "i32"), on.inputs, lambda: on.stream,
                    tensor.tolist, stream.synchronize,
                    lambda: self.add_three(tensor)):
            with self.assertRaises(graphtree.Error) as caught:
                use()
            self.assertEqual(caught.exception.code, graphtree.BadHandle.code,
                             caught.exception.text)
        del kept[:], on, tensor, stream, use, caught

    def test_another_thread_is_told(self):
        heard = []

        @self.tree.function
        def body(on, x):
            def use():
                try:
                    on.empty((1,), "i32")
                except graphtree.FailedPrecondition as error:
                    heard.append(error.text)
            thread = threading.Thread(target=use)
            thread.start()
            thread.join()
            return self.plus(on, x, 1)

        self.assertEqual(body(self.words(1)).tolist()[0], 2)
        self.assertIn("another", heard[0])

    def test_what_bodies_may_not_return(self):
        for wrong in ("text", 1.5, True, object()):
            with self.assertRaisesRegex(TypeError, "a body returns"):
                self.tree.function(name="body")(lambda on, wrong=wrong: wrong)()

    def test_what_is_no_argument(self):
        x = self.words(1)
        for arguments, words in (
                ((Out(x), In(x)), "takes 3 arguments, and is given 2"),
                ((x, In(x), 1), r"say In\(tensor\)"),
                ((Out(x), In(x), 1.5), "float"),
                ((Out(x), In(x), "text"), "'text' where 'i32' is wanted"),
                ((Out(7), In(x), 1), "a int where a graphtree.Tensor")):
            with self.assertRaisesRegex(TypeError, words):
                self.stream.launch(self.add, *arguments)
        with self.assertRaisesRegex(OverflowError, "c_int"):
            self.stream.launch(self.add, Out(x), In(x), 1 << 40)


if __name__ == "__main__":
    unittest.main()
