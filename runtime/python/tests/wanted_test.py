"""What is of a wrong type is an error that says what was expected, and what was given."""

import os
import pathlib
import tempfile
import unittest

import graphtree
from graphtree import FunctionOptions, In, Key, Layout, Out, Slot
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
