"""Tensors of memory that must not be written: they are read as any, and nothing writes them."""

import ctypes
import gc
import unittest

import graphtree
from graphtree import In, InOut, Out
from producer import Producer
from world import WORDS, TreeTest

try:
    import numpy
except ImportError:
    numpy = None


class Array:
    """Words that say whether they may be written."""

    def __init__(self, is_read_only=True):
        self.words = (ctypes.c_int32 * WORDS)(*range(WORDS))
        self.__array_interface__ = {
            "typestr": "<i4", "shape": (WORDS,), "version": 3, "strides": None,
            "data": (ctypes.addressof(self.words), is_read_only)}


class ReadOnlyTest(TreeTest):
    """By hand, in bodies, and in replays."""

    def refused(self):
        return self.assertRaisesRegex(ValueError, "must not be written")

    def test_who_says_so(self):
        self.assertTrue(self.device.as_tensor(Array()).is_read_only)
        self.assertTrue(self.device.as_tensor(Producer(versioned=True, flags=1)).is_read_only)
        for written in (Array(False), Producer(versioned=True), Producer(versioned=True, flags=2),
                        Producer()):
            self.assertFalse(self.device.as_tensor(written).is_read_only)
        self.assertFalse(self.words(0).is_read_only)
        self.assertFalse(self.add_three(Array()).is_read_only)

    def test_what_looks_into_it_is_no_more_writable(self):
        same = self.tree.function(lambda on, x: x)
        x = self.device.as_tensor(Array())
        for y in (x, x.view((4,)), x.copy_handle(), same(x), same(Array())):
            self.assertTrue(y.is_read_only)
            self.assertTrue(y.__array_interface__["data"][1])
        self.assertFalse(self.words(1).__array_interface__["data"][1])
        same.close()

    def test_by_hand(self):
        array = Array()
        x, out = self.device.as_tensor(array), self.words(7)
        for write in (lambda: self.stream.fill(x, 1), lambda: self.stream.copy(x, out),
                      lambda: self.stream.copy(x.view((WORDS,)), out),
                      lambda: self.stream.launch(self.add, Out(x), In(out), 1, block=(WORDS,)),
                      lambda: self.stream.launch(self.add, InOut(x), In(out), 1, block=(WORDS,))):
            with self.refused():
                write()
        self.stream.launch(self.add, Out(out), In(x), 1, block=(WORDS,))
        self.stream.synchronize()
        self.assertEqual(out.tolist(), list(range(1, WORDS + 1)))
        self.stream.copy(out, x)
        self.stream.synchronize()
        self.assertEqual((out.tolist(), list(array.words)), (list(range(WORDS)),) * 2)

    def test_it_is_read_as_any(self):
        for make in (Array, lambda: self.device.as_tensor(Array()),
                     lambda: self.device.as_tensor(Array()).give()):
            for _ in range(4):
                self.tree.begin_step()
                given = make()
                self.assertEqual(self.add_three(given).tolist(), list(range(3, WORDS + 3)))
        self.assertEqual(self.bodies, 2)
        self.tree.begin_step()
        self.assertTrue(self.add_three.would_replay(Array()))

    def writers(self):
        kernel = self.add

        def launches(on, x):
            on.launch(kernel, InOut(x), In(x), 1, block=WORDS)

        def fills(on, x):
            on.fill(x.view((4,)))

        def copies(on, x):
            on.copy(x, on.empty_like(x))

        def works(on, x):
            on.writes(x)

        def has_a_part(on, x):
            on.run_eagerly("as it must", lambda part, y: part.fill(y), InOut(x))

        return launches, fills, copies, works, has_a_part

    def test_bodies_do_not_write_it(self):
        for body in self.writers():
            for given in (Array(), self.device.as_tensor(Array())):
                write = self.tree.function(body)
                with self.refused():
                    write(given)
                self.stream.synchronize()
                write.close()

    def test_replays_do_not_write_it(self):
        array = Array()
        for body in self.writers():
            write = self.tree.function(body)
            for _ in range(3):
                self.tree.begin_step()
                write(self.words(1))
            for given in (array, self.device.as_tensor(array),
                          self.device.as_tensor(array).give()):
                for call in (write, write.replay, write.record):
                    self.tree.begin_step()
                    with self.refused():
                        call(given)
            self.stream.synchronize()
            self.tree.begin_step()
            write(self.words(1))
            write.close()
        self.assertEqual(list(array.words), list(range(WORDS)))

    def test_another_input_is_written_nevertheless(self):
        @self.tree.function
        def add(on, x, out):
            on.launch(self.add, Out(out), In(x), 1, block=WORDS)

        out = self.words(0)
        for _ in range(4):
            self.tree.begin_step()
            add(Array(), out)
            self.stream.synchronize()
            self.assertEqual(out.tolist(), list(range(1, WORDS + 1)))
        with self.refused():
            add(out, Array())
        add.close()

    def test_a_call_that_failed_leaves_no_word_of_it(self):
        (launches, *_), x = self.writers(), self.words(1)
        write = self.tree.function(launches)
        with self.refused():
            write(self.device.as_tensor(Array()))
        write(x)
        self.assertEqual(x.tolist(self.stream), [2] * WORDS)
        write.close()


@unittest.skipIf(numpy is None, "NumPy is not installed (tools/setup --tests)")
class NumpyTest(TreeTest):
    """NumPy's arrays, and bytes behind them."""

    def test_bytes_stay(self):
        content = bytes(range(64))
        x = self.device.as_tensor(numpy.frombuffer(content, dtype=numpy.int32))
        with self.assertRaisesRegex(ValueError, "ndarray.*must not be written"):
            self.stream.fill(x, 65)
        self.assertFalse(numpy.asarray(x).flags.writeable)
        self.assertEqual(content, bytes(range(64)))
        self.assertTrue(numpy.asarray(self.words(1)).flags.writeable)
        del x
        gc.collect()


if __name__ == "__main__":
    unittest.main()
