"""Handles: closed, closed twice, used afterwards, dropped in any order, of another kind; errors."""

import copy
import gc
import pickle
import subprocess
import sys
import unittest

import graphtree
from world import HostTest


class ClosingTest(HostTest):
    """Closing and dropping."""

    def test_closing_twice_is_fine_and_using_is_not(self):
        for make, use in (
                (self.device.stream, lambda it: it.synchronize()),
                (self.device.event, lambda it: it.synchronize()),
                (lambda: graphtree.Tree(self.device), lambda it: it.begin_step()),
                (lambda: graphtree.Runtime([self.device]), lambda it: it.explain()),
                (lambda: graphtree.Pool(self.device), lambda it: it.take_checkpoint()),
                (lambda: graphtree.Generator(1), lambda it: it.position),
                (lambda: graphtree.Kernel("k", [], host=print), self.device.load),
                (lambda: graphtree.Device("host"), lambda it: it.check_health())):
            made = make()
            with self.subTest(type(made).__name__):
                self.assertFalse(made.closed)
                made.close()
                made.close()
                self.assertTrue(made.closed)
                with self.assertRaises(graphtree.BadHandle) as caught:
                    use(made)
                self.assertIn("released", caught.exception.text)
                del caught

    def test_with_closes(self):
        with self.device.stream() as stream:
            self.assertTrue(stream.is_done)
        self.assertTrue(stream.closed)

    def test_what_went_wrong_inside_is_what_is_raised(self):
        with self.assertRaises(KeyError):
            with graphtree.Device("host") as device:
                left = device.stream()
                raise KeyError
        self.assertFalse(device.closed)
        left.close()
        device.close()

    def test_a_device_that_is_used_stays_open(self):
        device = graphtree.Device("host")
        memory = device.memory(100)
        with self.assertRaisesRegex(graphtree.FailedPrecondition, "1 of its") as caught:
            device.close()
        self.assertEqual(caught.exception.call, "gt_release")
        self.assertFalse(device.closed)
        memory.close()
        device.close()

    def test_a_device_that_is_dropped_goes_with_what_is_left_of_it(self):
        device = graphtree.Device("host")
        stream = device.stream()
        stream.device = None
        device.streams.clear()
        before = graphtree.live_handles()
        del device
        gc.collect()
        self.assertEqual(graphtree.live_handles(), before)
        del stream
        self.assertEqual(graphtree.live_handles(), before - 2)

    def test_dropped_in_a_cycle(self):
        class Server:
            def __init__(self):
                self.device = graphtree.Device("host")
                self.tree = graphtree.Tree(self.device)
                self.run = self.tree.function(name="run")(lambda on: self.answer())
                self.me = self

            def answer(self):
                return 5

        server = Server()
        self.assertEqual(server.run(), 5)
        before = graphtree.live_handles()
        server.run.close()  # the library holds the body, which holds the server
        del server
        gc.collect()
        self.assertLess(graphtree.live_handles(), before - 2)

    def test_memory_is_dropped_while_work_uses_it(self):
        for _ in range(20):
            x = self.words(1)
            self.stream.launch(self.add, graphtree.Out(x), graphtree.In(x), 1)
            del x
        self.stream.synchronize()

    def test_memory_that_a_body_drops(self):
        tree = graphtree.Tree(self.device)

        @tree.function
        def body(on, x):
            for _ in range(5):
                other = self.words(2)
                on.launch(self.add, graphtree.Out(x), graphtree.In(other), 1)

        x = self.words(1)
        body(x)
        self.assertEqual(x.tolist(tree.stream), [3] * 16)
        del x
        self.assertEqual(self.device._dropped, [])
        tree.close()

    def test_memory_that_is_dropped_while_a_capture_is_open(self):
        x, kept = self.words(1), self.words(2)
        self.stream.begin_capture()
        self.stream.copy(kept, kept.view(kept.shape))
        del x
        self.stream.end_capture().close()
        self.assertEqual(len(self.device._dropped), 1)
        self.words(3)
        self.assertEqual(self.device._dropped, [])


class CopyingTest(HostTest):
    """A handle has one owner."""

    def owners(self):
        """One of each kind that can be had without a body, by its class."""
        tree, runtime = graphtree.Tree(self.device), graphtree.Runtime([self.device])
        self.addCleanup(gc.collect)
        self.stream.begin_capture()
        graph = self.stream.end_capture()
        yield from (
            self.device, self.stream, self.add, tree, runtime, graph, graph.instantiate(),
            self.device.event(), self.device.memory(64), graphtree.Pool(self.device),
            graphtree.Budget(), graphtree.SharedBytes(1), graphtree.Generator(1),
            graphtree.Opaque("thing"), tree.function(lambda on: None, name="nothing"),
            tree.observe(lambda event: None),
            graphtree.Workspace(tree, "scratch", graphtree.Range(0, 0)),
            runtime.program(name="nothing")(lambda on: None), runtime.dependency("weights"),
            runtime.plan(), runtime.add_memory("tag", "name", 64))

    def test_owners_are_neither_copied_nor_pickled(self):
        for owner in self.owners():
            for made in (copy.copy, copy.deepcopy, pickle.dumps):
                with self.subTest(type(owner).__name__, by=made.__name__):
                    with self.assertRaisesRegex(
                            TypeError, "a graphtree.%s .* of this process: it can be neither "
                            "copied nor pickled" % type(owner).__name__):
                        made(owner)

    def test_what_a_class_of_ones_own_says_holds(self):
        class Remade(graphtree.Generator):
            def __reduce__(self):
                return Remade, (self.position[0],)

        again = copy.copy(Remade(7))
        self.assertEqual(again.position, (7, 0))

    def test_a_tensor_of_a_memory_is_copied_as_a_handle(self):
        x = self.words(5)
        other = copy.copy(x)
        self.assertEqual(other.address, x.address)
        x.close()
        self.assertEqual(other.tolist(self.stream), [5] * 16)
        self.assertTrue(copy.copy(x).closed)

    def test_a_tensor_of_a_tree_is_copied_as_a_handle(self):
        tree = graphtree.Tree(self.device)
        made = tree.function(lambda on, x: on.empty_like(x), name="make")(self.words(1))
        other = copy.copy(made)
        self.assertEqual(other.address, made.address)
        made.close()
        other.check()
        self.assertEqual(tree.stats.live_blocks, 1)
        del other
        self.assertEqual(tree.stats.live_blocks, 0)
        tree.close()

    def test_the_bytes_of_a_tensor_are_not_copied_unasked(self):
        x = self.words(5)
        for made in (copy.deepcopy, pickle.dumps):
            for thing in (x, x.give(), [x]):
                with self.assertRaisesRegex(TypeError, r"copy_handle\(\).*tolist\(\)"):
                    made(thing)
        theirs = self.device.as_tensor(Theirs(x))
        with self.assertRaises(TypeError):
            copy.copy(theirs._origin)


class Theirs:
    """Somebody's array where a tensor lies."""

    def __init__(self, tensor):
        self.__array_interface__ = tensor.__array_interface__


class ErrorTest(HostTest):
    """Errors as exceptions."""

    def test_one_class_for_each_code(self):
        classes = [kind for kind in vars(graphtree).values() if isinstance(kind, type) and
                   issubclass(kind, graphtree.Error) and kind is not graphtree.Error]
        self.assertEqual(len({kind.code for kind in classes}), 16)

    def test_fields(self):
        with self.assertRaises(graphtree.NotFound) as caught:
            graphtree.Device("tpu")
        error = caught.exception
        self.assertEqual((error.call, error.function, error.input, error.op, error.cuda_code),
                         ("gt_device_open", "", None, None, 101))
        self.assertIn("tpu", error.text)

    def test_they_are_pythons_own_kinds_too(self):
        with self.assertRaises(MemoryError):
            self.device.memory(1 << 50)
        with self.assertRaises(ValueError):
            graphtree.Layout("i32", (-1,))

    def test_a_fault_on_the_device_names_the_op(self):
        wild = graphtree.Kernel("wild", ["*i32"], host=lambda call: None)
        device = graphtree.Device("host")
        stream = device.stream()
        with self.assertRaises(graphtree.Error):
            stream.copy(8, 16, 64)
            stream.synchronize()
        wild.close()
        stream.close()
        device.close()


class ImportTest(unittest.TestCase):
    """Libraries that do not fit."""

    def _import(self, library):
        return subprocess.run([sys.executable, "-c", "import graphtree"], text=True,
                              capture_output=True, env=dict(_environment(),
                                                            GRAPHTREE_LIBRARY=library))

    def test_no_library(self):
        done = self._import("/nowhere/libgraphtree.so.1")
        self.assertEqual(done.returncode, 1)
        self.assertIn("ImportError: graphtree cannot load its library, /nowhere", done.stderr)

    def test_another_library(self):
        done = self._import("libc.so.6")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, "ImportError: libc.so.6 has no gt_release")


def _environment():
    import os
    return os.environ


if __name__ == "__main__":
    unittest.main()
