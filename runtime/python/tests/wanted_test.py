"""What is of a wrong type is an error that says what was expected, and what was given."""

import os
import pathlib
import tempfile
import unittest

import graphtree
from graphtree import FieldRule, FunctionOptions, In, Key, KeyField, Layout, Out, Slot
from world import TreeTest


class WantedTest(TreeTest):
    """TypeErrors, one for each place that takes something."""

    def refused(self, *rows):
        """Rows of what is said to be wrong, what is wanted instead, and a call."""
        for what, wanted, call in rows:
            with self.subTest(what):
                with self.assertRaisesRegex(TypeError, r"^(one of )?%s is .* \(\w+\), where %s "
                                            "is wanted$" % (what, wanted)):
                    call()

    def test_devices(self):
        device = "a graphtree.Device"
        self.refused(
            ("the device's name", "a str", lambda: graphtree.Device(0)),
            ("the device's name", "a str", lambda: graphtree.Device(None)),
            ("kernel_cache_folder", "a str or an os.PathLike",
             lambda: graphtree.Device("host", kernel_cache_folder=5)),
            ("the device", device, lambda: graphtree.Tree("host")),
            ("the device", device, lambda: graphtree.Stream("host")),
            ("the device", device, lambda: graphtree.Event(None)),
            ("the device", device, lambda: graphtree.Memory(self.tree, 8)),
            ("the device", device, lambda: graphtree.Pool("host")),
            ("the devices", "a list of graphtree.Device", lambda: graphtree.Runtime(self.device)),
            ("the devices", device, lambda: graphtree.Runtime(["host"])),
            ("the kernel", "a graphtree.Kernel", lambda: self.device.load("add")))

    def test_streams_and_events(self):
        x, stream = self.words(1), "a graphtree.Stream"
        with self.device.event() as event:
            self.refused(
                ("the event", "a graphtree.Event", lambda: self.stream.record(self.stream)),
                ("the event", "a graphtree.Event", lambda: self.stream.wait(None)),
                ("start", "a graphtree.Event", lambda: event.elapsed_ns(0)))
        self.refused(
            ("the kernel", "a graphtree.Kernel", lambda: self.stream.launch("add", Out(x))),
            ("the function", "a function", lambda: self.stream.call_host(None)),
            ("the stream", stream, lambda: x.tobytes(0)),
            ("the stream", stream, lambda: x.tolist("x")))

    def test_calls_on_what_is_no_stream(self):
        x, f = self.words(1), self.add_three
        for wrong in (0, "legacy", False, self.device):
            self.refused(*(("the stream", "a graphtree.Stream", call) for call in (
                lambda: f(x, stream=wrong), lambda: f.replay(x, stream=wrong),
                lambda: f.compare(x, stream=wrong), lambda: f.record(x, stream=wrong),
                lambda: f.would_replay(x, stream=wrong),
                lambda: graphtree.Tree(self.device, wrong))))
        self.assertEqual(f(x, stream=self.stream).tolist()[0], 4)

    def test_trees_and_functions(self):
        named = self.tree.function
        self.refused(
            ("the function's body", "a function", lambda: named("name")),
            ("the function's body", "a function", lambda: named(static_inputs=[0])(5)),
            ("the function's name", "a str", lambda: named(name=5)(print)),
            ("the options", "a graphtree.TreeOptions",
             lambda: graphtree.Tree(self.device, options=FunctionOptions())),
            ("budget", "a graphtree.Budget", lambda: graphtree.Tree(self.device, budget=5)),
            ("shared_bytes", "a graphtree.SharedBytes",
             lambda: graphtree.Tree(self.device, shared_bytes=1 << 30)),
            ("warn", "a function", lambda: graphtree.Tree(self.device, warn="loudly")),
            ("for_whom", "a str", lambda: self.tree.give_memory(0, None)),
            ("the tree", "a graphtree.Tree", lambda: graphtree.Workspace(self.device, "w", (0, 0))),
            ("the tensor", "a graphtree.Tensor", lambda: self.tree.made(5)),
            ("the observer", "a function", lambda: self.tree.observe(None)))

    def test_kernels(self):
        self.refused(
            ("the kernel's name", "a str", lambda: graphtree.Kernel(5, [])),
            ("host", "a function", lambda: graphtree.Kernel("k", [], host="x")),
            ("host", "a function", lambda: graphtree.Kernel("k", [], host=True)),
            ("source", "a str", lambda: graphtree.Kernel("k", [], source=5)),
            ("image", "bytes or a str", lambda: graphtree.Kernel("k", [], image=5)),
            ("entry", "a str", lambda: graphtree.Kernel("k", [], source="", entry=5)),
            ("one of the options", "a str",
             lambda: graphtree.Kernel("k", [], source="", options=[5])))

    def test_bodies(self):
        def refuses(on, x):
            self.refused(
                ("the kernel", "a graphtree.Kernel", lambda: on.launch(None)),
                ("the tensor", "a graphtree.Tensor", lambda: on.empty_like([1])),
                ("the part", "a function", lambda: on.run_eagerly("why", 5)),
                ("the accesses", "a graphtree.Access",
                 lambda: on.run_eagerly("why", print, x)),
                ("why", "a str", lambda: on.run_eagerly(None, print, In(x))),
                ("why", "a str", lambda: on.warm_up_again(5)),
                ("side", "a graphtree.Stream", lambda: on.fork(0)),
                ("the event", "a graphtree.Event", lambda: on.set_event(None)))
        self.tree.function(refuses)(self.words(1))

    def test_runtimes(self):
        with graphtree.Runtime([self.device]) as runtime:
            def make(body=print, **options):
                return runtime.program(**{"name": "one", **options})(body)

            program = make(lambda on: None)
            self.refused(
                ("the program's name", "a str", lambda: make(name=5)),
                ("the program's body", "a function", lambda: make(5)),
                ("prepare", "a function", lambda: make(prepare=5)),
                ("the slots", "a graphtree.Slot", lambda: make(slots=["ids"])),
                ("the slots", "a list of graphtree.Slot",
                 lambda: make(slots=Slot("ids", "i32", (1,)))),
                ("a slot's name", "a str", lambda: make(slots=[Slot(5, "i32", (1,))])),
                ("fill", "a function", lambda: make(slots=[Slot("x", "i32", (1,), fill=5)])),
                ("the dependencies", "a graphtree.Dependency",
                 lambda: make(dependencies=["weights"])),
                ("tag", "a str", lambda: make(tag=5)),
                ("the key", "a graphtree.Key", lambda: program.step(4)),
                ("the keys", "a list of graphtree.Key", lambda: program.add_shapes(Key(tokens=4))),
                ("the keys", "a graphtree.Key", lambda: program.add_shapes([4])),
                ("the stream", "a graphtree.Stream", lambda: program.step(Key(), 0)),
                ("the stream", "a graphtree.Stream", lambda: program.record(0)),
                ("the stream", "a graphtree.Stream", lambda: runtime.lend(8, 0)),
                ("the shapes", "a graphtree.Shape", lambda: runtime.plan([Key()])),
                ("the program", "a graphtree.Program", lambda: graphtree.Ahead(runtime)),
                ("the dependency's name", "a str", lambda: runtime.dependency(5)),
                ("tag", "a str", lambda: runtime.park(None)),
                ("the serving mode", "a graphtree.ServingMode",
                 lambda: setattr(runtime, "serving", "off")),
                ("the path", "a str or an os.PathLike", lambda: runtime.open_door(5)))
            program.close()
        self.refused(
            ("log", "a function", lambda: graphtree.Runtime([self.device], log=5)),
            ("clock_ns", "a function", lambda: graphtree.Runtime([self.device], clock_ns=5)))

    def test_layouts(self):
        self.refused(
            ("sizes", "a row of integers", lambda: self.device.empty(4, "i32")),
            ("the layout", "a graphtree.Layout",
             lambda: self.device.memory(4).tensor((4,))))

    def test_rows(self):
        def make(**options):
            return self.tree.function(lambda on, x, y: None, name="one", **options)

        row = "a list"
        with graphtree.Runtime([self.device]) as runtime:
            self.refused(
                ("static_inputs", row, lambda: make(static_inputs="xy")),
                ("mutated_inputs", row, lambda: make(mutated_inputs=5)),
                ("kept_outputs", row, lambda: make(kept_outputs=0)),
                ("recorded_sizes", row, lambda: make(recorded_sizes=5)),
                ("recorded_sizes", row, lambda: make(recorded_sizes=[5])),
                ("alignments", "a dict", lambda: make(alignments=[16])),
                ("needs", row, lambda: runtime.program(name="one", needs="nccl")(print)),
                ("rules", "a dict", lambda: runtime.program(name="one", rules=[5])(print)),
                ("a rule", "a graphtree.FieldRule", lambda: runtime.program(
                    name="one", rules={KeyField.TOKENS: 5})(print)),
                ("a rule's field", "a graphtree.KeyField", lambda: runtime.program(
                    name="one", rules={"tokens": FieldRule()})(print)),
                ("sizes", "a row of integers", lambda: runtime.program(
                    name="one", slots=[Slot("x", "i32", 4)])(print)),
                ("lanes", row, lambda: runtime.progress(lanes=0)),
                ("the programs", "a graphtree.Program", lambda: runtime.uncommitted([5])))
            for wrong in (5, -2):
                with self.assertRaisesRegex(ValueError, "there is no device %d; " % wrong):
                    runtime.program(name="one", device=wrong)(print)
                with self.assertRaisesRegex(ValueError, "there is no device %d; " % wrong):
                    runtime.lend(8, device=wrong)
        self.refused(
            ("parameters", row, lambda: graphtree.Kernel("k", "i32", host=print)),
            ("options", row, lambda: graphtree.Kernel("k", [], source="", options="-O3")),
            ("a parameter", "a str or an int", lambda: graphtree.Kernel("k", [None], host=print)),
            ("a parameter", "a str or an int", lambda: graphtree.Kernel("k", [True], host=print)))

    def test_places(self):
        x = self.words(1)
        self.refused(
            ("the target", "a graphtree.Tensor or an address", lambda: self.stream.copy(None, x)),
            ("the source", "a graphtree.Tensor or an address", lambda: self.stream.copy(x, "x")),
            ("the source", "a graphtree.Tensor or an address",
             lambda: self.stream.copy(x.address, [1], 4)),
            ("the target", "a graphtree.Tensor or an address", lambda: self.stream.fill([0], 0)),
            ("Num's data", "a number or struct of ctypes", lambda: graphtree.Num(5)),
            ("the tree", "a graphtree.Tree", lambda: graphtree.Observer(5, print)))
        with graphtree.Pool(self.device) as pool:
            block = "a graphtree.Block"
            self.refused(
                ("the block", block, lambda: pool.free(5)),
                ("the block", block, lambda: pool.use_on(5, self.stream)),
                ("the checkpoint", "what take_checkpoint returns", lambda: pool.restore(5)),
                ("the checkpoint", "what take_checkpoint returns",
                 lambda: pool.drop_checkpoint(None)))

    def test_keys(self):
        with graphtree.Runtime([self.device]) as runtime:
            program = runtime.program(name="one")(lambda on: None)
            key = "a graphtree.Key"
            self.refused(*(("the key", key, call) for call in (
                lambda: program.choose(4), lambda: program.exclude((4,)),
                lambda: program.pointers(None, 0, 1), lambda: program.step("4"),
                lambda: program.vote(4, graphtree.Modes.ALL, 1),
                lambda: program.agree(4, graphtree.Modes.ALL, 1, []))))
            program.close()

    def test_texts_with_zeros(self):
        for call in (lambda: graphtree.Device("host\0cuda"),
                     lambda: graphtree.Kernel("a\0b", []),
                     lambda: self.tree.write_snapshot("a\0b")):
            with self.assertRaisesRegex(ValueError, r"is '.*\\x00.*', where no character is 0"):
                call()

    def test_paths(self):
        with tempfile.TemporaryDirectory() as folder, graphtree.Pool(self.device) as pool:
            for number, owner in enumerate((self.tree, pool)):
                for kind in (str, pathlib.Path, os.fsencode):
                    path = os.path.join(folder, "%d%s.json" % (number, kind.__name__))
                    owner.write_snapshot(kind(path))
                    self.assertTrue(os.path.exists(path))
                self.refused(("the path", "a str or an os.PathLike",
                              lambda owner=owner: owner.write_snapshot(5)))
            runtime = graphtree.Runtime([self.device], door=pathlib.Path(folder, "first"))
            runtime.close_door()
            runtime.open_door(pathlib.Path(folder, "second"))
            runtime.close()
            graphtree.Device("host", kernel_cache_folder=pathlib.Path(folder)).close()


if __name__ == "__main__":
    unittest.main()
