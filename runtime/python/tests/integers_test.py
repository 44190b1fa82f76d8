"""Integers that C has no room for are an error that says so, wherever they come in."""

import ctypes
import re
import unittest

import graphtree
from graphtree import FieldRule, In, Key, KeyField, Layout, Num, Out, Range, Slot
from world import WORDS, TreeTest

_TOO_LARGE = ((2**64 + 4, "18446744073709551620"), (-1, "-1"))


class OptionsTest(TreeTest):
    """Fields of options."""

    def refused(self, name, make, values=_TOO_LARGE):
        """`make(value)` names what is wrong with it."""
        for value, word in values:
            with self.subTest(name, value=value):
                with self.assertRaisesRegex(OverflowError, r"^%s is %s, where an integer from"
                                            % (name, word)):
                    made = make(value)
                    getattr(made, "close", lambda: None)()

    def test_of_trees_pools_and_devices(self):
        for field in ("pool_bytes", "initial_bytes", "nodes", "executable_bytes"):
            self.refused(field, lambda value, field=field: graphtree.Tree(
                self.device, **{field: value}))
        self.refused("limit_bytes", lambda value: graphtree.Pool(self.device, limit_bytes=value))
        for field in ("memory_bytes", "seed", "queue_limit"):
            self.refused(field, lambda value, field=field: graphtree.Device(
                "host", **{field: value}))

    def test_of_functions(self):
        def make(**options):
            return self.tree.function(lambda on, x: x, name="one", **options)

        for field in ("static_inputs", "mutated_inputs", "kept_outputs"):
            self.refused(r"%s\[1\]" % field, lambda value, field=field: make(
                **{field: [0, value]}))
        self.refused("most_outputs", lambda value: make(most_outputs=value))
        self.refused("input", lambda value: make(alignments={value: 16}))
        self.refused("bytes", lambda value: make(alignments={0: value}))
        self.refused(r"recorded_sizes\[1\]", lambda value: make(recorded_sizes=[[1, value]]),
                     ((2**63, "9223372036854775808"),))

    def test_of_runtimes_and_programs(self):
        self.refused("pool_bytes", lambda value: graphtree.Runtime([self.device],
                                                                   pool_bytes=value))
        with graphtree.Runtime([self.device]) as runtime:
            def make(slots=(), **options):
                return runtime.program(name="one", slots=slots, **options)(lambda on, *slots: None)

            for field in ("most_outputs", "lane"):
                self.refused(field, lambda value, field=field: make(**{field: value}))
            self.refused(r"kept_outputs\[0\]", lambda value: make(kept_outputs=[value]))
            self.refused("axis", lambda value: make([Slot("x", "i32", (4,), axis=value)]))
            self.refused(r"sizes\[0\]", lambda value: make([Slot("x", "i32", (value,))]),
                         ((2**64 + 4, "18446744073709551620"),))
            self.refused("most_extra", lambda value: make(
                rules={KeyField.TOKENS: FieldRule(most_extra=value)}),
                ((2**31, "2147483648"),))
            program = make([Slot("x", "i32", (4,), rows=KeyField.TOKENS)])
            for field in ("tokens", "kind"):
                self.refused(field, lambda value, field=field: program.choose(
                    Key(**{field: value})), ((2**32 + 1, "4294967297"),))
            self.refused("extra", lambda value: program.step(Key(extra=value)))
            self.refused(r"lanes\[0\]", lambda value: runtime.progress(lanes=[value]))
            self.refused("budget of gt_plan_new|bytes of gt_plan_new|budget_bytes of gt_plan_new",
                         lambda value: runtime.plan(budget=value))
            with program.step(Key(tokens=4)) as step:
                for place in (1, -1, 2**32):
                    with self.assertRaisesRegex(ValueError, "there is no slot %d; " % place):
                        step.stage(place, 5)
            program.close()

    def test_what_a_field_holds_is_taken(self):
        self.assertEqual(Key(extra=2**64 - 1, tokens=-1).to_c().extra, 2**64 - 1)
        graphtree.Tree(self.device, pool_bytes=2**64 - 1).close()
        with self.assertRaisesRegex(TypeError, "pool_bytes is 1.5, where an integer is wanted"):
            graphtree.Tree(self.device, pool_bytes=1.5)

    def test_what_is_as_good_as_an_int(self):
        class Four:
            def __index__(self):
                return 4

        four = Four()
        self.assertIs(Layout("i32", (four,)), Layout("i32", (4,)))
        self.device.memory(four).close()
        self.stream.fill(self.words(0), 0, 4, four)
        self.assertEqual(Key(tokens=four).to_c().tokens, 4)


class ValuesTest(TreeTest):
    """Sizes, launches and what goes to functions of C as it is."""

    def test_sizes(self):
        for sizes in ((2**65,), (2**64 + 4,), (-2**63 - 1,)):
            with self.assertRaisesRegex(OverflowError, r"^sizes\[0\] is %d, " % sizes):
                Layout("i32", sizes)
        with self.assertRaisesRegex(OverflowError, r"^strides\[1\] is "):
            Layout("i32", (1, 1), (1, 2**64))
        with self.assertRaisesRegex(TypeError, r"^sizes\[0\] is 2.5, where an integer is wanted"):
            Layout("i32", (2.5,))

    def test_launches(self):
        x = self.words(1)
        for name, shape in (("grid", {"grid": -1}), ("grid", {"grid": 2**32 + 1}),
                            ("block", {"block": (-1, 1)}), ("shared_bytes", {"shared_bytes": -1})):
            with self.subTest(shape):
                with self.assertRaisesRegex(OverflowError, "^%s.* is -?[0-9]+, where" % name):
                    self.stream.launch(self.add, Out(x), In(x), 1, **shape)
        with self.assertRaisesRegex(TypeError, "grid is 1.5, where"):
            self.stream.launch(self.add, Out(x), In(x), 1, grid=1.5)
        for given in (Range(-1, 4), Range(0, 2**64)):
            with self.assertRaisesRegex(OverflowError, "^(address|bytes) is"):
                self.stream.launch(self.add, given, In(x), 1)

    def test_functions_of_c(self):
        x = self.words(1)
        for what, call in (
                ("bytes of gt_memory_new", lambda: self.device.memory(2**64 + 4)),
                ("bytes of gt_memory_new", lambda: self.device.memory(-1)),
                ("bytes of gt_stream_copy", lambda: self.stream.copy(x.address, x.address, -1)),
                ("target of gt_stream_copy", lambda: self.stream.copy(-1, x.address, 4)),
                ("value", lambda: self.stream.fill(x, 2**32)),
                ("seed of gt_generator_new", lambda: graphtree.Generator(2**64)),
                ("nodes of gt_budget_new", lambda: graphtree.Budget(-1)),
                ("bytes of gt_tree_set_limit", lambda: self.tree.set_limit(-1)),
                ("version", lambda: graphtree.Opaque(x, 2**64)),
                ("a stream's number", lambda: self.device.stream(2**64))):
            with self.subTest(what):
                with self.assertRaisesRegex(OverflowError, "^%s is -?[0-9]+, where" % what):
                    call()

    def test_addresses_of_others(self):
        for what, call in (
                ("native", lambda: self.tree.foreign_allocate(8, 2**64)),
                ("native", lambda: self.tree.foreign_give_back(8, -1)),
                ("native", lambda: self.tree.foreign_use_on(8, 2**64 + 4)),
                ("host", lambda: graphtree.Kernel("k", [], host=2**64 + 4)),
                ("host", lambda: graphtree.Kernel("k", [], host=-1))):
            with self.subTest(what):
                with self.assertRaisesRegex(OverflowError, "^%s is -?[0-9]+, where" % what):
                    call()

    def test_what_a_body_says(self):
        x, wrong = self.words(1), []

        @self.tree.function
        def body(on, x):
            for call in (lambda: on.fill(x, 256), lambda: on.empty((2**65,), "i32"),
                         lambda: on.scratch(-1), lambda: on.drop_input(-1)):
                with self.assertRaises(OverflowError) as caught:
                    call()
                wrong.append(str(caught.exception).partition(" is ")[0])
            del caught

        body(x)
        self.assertEqual(wrong, ["byte of gt_launcher_fill", "sizes[0]",
                                 "bytes of gt_launcher_scratch", "index of gt_launcher_drop_input"])

    def test_what_a_body_returns(self):
        for given in (2**63, -2**63 - 1, 2**64 + 4):
            with self.assertRaisesRegex(ValueError, "%d is no integer of 64 bits" % given):
                self.tree.function(lambda on, given=given: given, name="returns")()
        for given in (2**63 - 1, -2**63):
            self.assertEqual(self.tree.function(lambda on, x=given: x, name="returns")(), given)

    def test_fills(self):
        x = self.device.tensor_from([0] * 4, "u8")
        for value, width in ((300, 1), (-1, 1), (1 << 16, 2), (1 << 32, 4)):
            with self.assertRaisesRegex(OverflowError, "^value is %d, where" % value):
                self.stream.fill(x, value, width)
        self.stream.fill(x, 255)
        self.stream.fill(x.address, 0xFFFE, 2, 1)
        self.assertEqual(x.tolist(self.stream), [0xFE, 255, 255, 255])
        with self.assertRaisesRegex(ValueError, "^width is 3, where 1, 2 or 4 is wanted"):
            self.stream.fill(x, 0, 3)
        odd = self.device.tensor_from([0] * 3, "u8")
        with self.assertRaisesRegex(ValueError, "3 bytes, which are no elements of 2 bytes"):
            self.stream.fill(odd, 0, 2)

    def test_patched_fills(self):
        x = self.device.tensor_from([0] * 4, "u8")
        self.stream.begin_capture()
        self.stream.fill(x, 1)
        with self.stream.end_capture() as graph, graph.instantiate() as executable:
            with self.assertRaisesRegex(OverflowError, "^value is 256, where"):
                executable.patch_fill(0, x.address, 256, 1, 4)

    def test_offsets(self):
        memory, layout = self.device.memory(64), Layout("u8", (4,))
        made = self.tree.function(lambda on: on.empty((4,), "u8"), name="makes")()
        for look in (lambda at: memory.tensor(layout, at),
                     lambda at: memory.tensor(layout).view((1,), offset_bytes=at),
                     lambda at: made.view((1,), offset_bytes=at)):
            with self.assertRaisesRegex(TypeError, "offset_bytes.* is 1.5, where an integer"):
                look(1.5)
            with self.assertRaises((ValueError, OverflowError)):
                look(-1)
            self.assertGreater(look(0).address, 0)
        del made

    def test_numbers_in_lists(self):
        for dtype, given, error in (
                ("u8", 300, OverflowError), ("u8", -1, OverflowError),
                ("i32", 2**31, OverflowError), ("i64", 2**63, OverflowError),
                ("f16", 1e9, OverflowError), ("bf16", 1e39, OverflowError),
                ("i32", 1.5, TypeError), ("i32", "a", TypeError), ("f32", None, TypeError)):
            with self.subTest(dtype, given=given):
                words = "element 1 is %r, which no %s holds" % (given, dtype)
                with self.assertRaisesRegex(error, "^%s$" % re.escape(words)):
                    self.device.tensor_from([0, given], dtype)

    def test_numbers_that_slots_are_staged_with(self):
        with graphtree.Runtime([self.device]) as runtime:
            slots = [Slot("x", "i64", (1,)), Slot("y", "f32", (1,))]
            program = runtime.program(name="one", slots=slots)(lambda on, x, y: (x, y))
            for value in (2**53 + 1, -2**60 - 1):
                with program.step(Key()) as step:
                    with self.assertRaisesRegex(
                            OverflowError, "^slot 'x' is staged with %d, which is not exactly a "
                            "double: stage a row" % value):
                        step.stage("x", value)
                    step.stage("x", [value])
                    step.stage("y", value)
                    self.assertEqual(step.run()[0].tolist(), [value])
            with program.step(Key()) as step:
                step.stage("x", 2**60)
                step.stage("y", 0)
                self.assertEqual(step.run()[0].tolist(), [2**60])
            program.close()

    def test_more_than_a_struct_has(self):
        with self.assertRaisesRegex(TypeError, "3 values for a gt_range, which has 2"):
            graphtree.Workspace(self.tree, "w", (0, 0, 0))

    def test_parameters_of_kernels(self):
        with self.assertRaisesRegex(OverflowError, r"parameters\[0\] is -1"):
            graphtree.Kernel("k", [-1], host=print)
        with self.assertRaisesRegex(OverflowError, "symbol is -1"):
            graphtree.Kernel("k", [], symbol=-1)
        self.stream.launch(self.add, Out(self.words(0)), In(self.words(0)), Num(ctypes.c_int(3)))
        self.stream.synchronize()


if __name__ == "__main__":
    unittest.main()
