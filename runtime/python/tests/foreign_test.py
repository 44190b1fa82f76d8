"""Tensors of others as inputs: by DLPack and by the two array interfaces; and what is refused."""

import ctypes
import gc
import unittest

import graphtree
from graphtree import _foreign
from producer import Producer
from world import WORDS, TreeTest

try:
    import numpy
except ImportError:
    numpy = None


class DlpackTest(TreeTest):
    """By DLPack."""

    def test_where_it_lies_without_a_copy(self):
        for versioned in (False, True):
            producer = Producer(versioned=versioned)
            tensor = self.device.as_tensor(producer)
            self.assertEqual(tensor.address, ctypes.addressof(producer.words))
            self.assertEqual((tensor.shape, tensor.dtype), ((WORDS,), graphtree.DType.I32))
            self.assertEqual(tensor.tolist(self.stream), list(range(WORDS)))
            self.assertEqual(producer.deleted, [])
            del tensor
            gc.collect()
            self.assertEqual(producer.deleted, [ctypes.addressof(producer.managed)])

    def test_as_an_input(self):
        producers = [Producer() for _ in range(40)]
        for producer in producers:
            self.tree.begin_step()
            self.assertEqual(self.add_three(producer).tolist()[1], 4)
        self.stream.synchronize()
        self.assertTrue(all(producer.deleted for producer in producers))

    def test_what_is_dropped_after_its_call_stays_for_its_work(self):
        producer = Producer()
        self.add_three(producer)
        self.assertEqual(producer.deleted, [])
        self.stream.synchronize()
        self.assertEqual(len(producer.deleted), 1)

    def test_a_stream_that_is_dropped_waits_for_what_it_uses(self):
        producer, stream = Producer(), self.device.stream()
        done = []
        stream.call_host(lambda: done.append(1))
        tree = graphtree.Tree(self.device)

        @tree.function
        def add(on, x):
            return self.plus(on, x, 1)

        add(producer, stream=stream)
        del stream
        gc.collect()
        self.assertEqual((done, len(producer.deleted)), ([1], 1))
        add.close()
        tree.close()

    def test_strides(self):
        dense = self.device.as_tensor(Producer(sizes=(1, 4), strides=(77, 1)))
        self.assertTrue(dense.layout.is_dense)
        gaps = self.device.as_tensor(Producer(sizes=(4,), strides=(2,)))
        self.assertEqual(gaps.tolist(self.stream), [0, 2, 4, 6])

    def test_what_it_may_not_be(self):
        for producer, kind, words in (
                (Producer(home=(2, 0)), ValueError, "in the memory of GPU 0 is no tensor of device "
                 "'host'"),
                (Producer(home=(99, 3)), ValueError, "device type 99"),
                (Producer(dtype=(1, 16)), TypeError, "type 1 with 16 bits"),
                (Producer(versioned=True, major=9), BufferError, "version 9")):
            with self.assertRaisesRegex(kind, words):
                self.device.as_tensor(producer)
            gc.collect()
            self.assertEqual(len(producer.deleted), len(producer.asked) - (kind is BufferError),
                             "what was taken and is refused is let go")

    def test_the_producers_own_exception_comes_through(self):
        class Broken:
            def __dlpack__(self, *, stream=None):
                raise RuntimeError("requires grad")

        with self.assertRaisesRegex(RuntimeError, "requires grad"):
            self.add_three(Broken())


class InterfaceTest(TreeTest):
    """By array interfaces."""

    def test_of_the_host(self):
        words = (ctypes.c_int32 * WORDS)(*range(WORDS))

        class Array:
            __array_interface__ = {"typestr": "<i4", "shape": (WORDS,), "version": 3,
                                   "data": (ctypes.addressof(words), False), "strides": None}

        self.assertEqual(self.add_three(Array()).tolist(), list(range(3, WORDS + 3)))

    def test_of_cuda(self):
        class Array:
            __cuda_array_interface__ = {"typestr": "<f4", "shape": (2, 2), "version": 3,
                                        "data": (0x1000, False), "strides": (8, 4)}

        address, layout, keeps = _foreign.look(Array())
        self.assertEqual((address, layout, keeps.home),
                         (0x1000, graphtree.Layout("f32", (2, 2)), (2, 0)))
        with self.assertRaisesRegex(ValueError, "memory of GPU 0"):
            self.device.as_tensor(Array())

    def test_what_it_may_not_be(self):
        for changed, kind, words in (({"typestr": ">i4"}, TypeError, "type '>i4'"),
                                     ({"typestr": "<c8"}, TypeError, "type '<c8'"),
                                     ({"strides": (3,)}, ValueError, "no multiples of 4"),
                                     ({"data": b""}, TypeError, "where it lies")):
            class Array:
                __array_interface__ = dict({"typestr": "<i4", "shape": (4,), "version": 3,
                                            "data": (0x1000, False)}, **changed)

            with self.assertRaisesRegex(kind, words):
                self.device.as_tensor(Array())


@unittest.skipIf(numpy is None, "NumPy is not installed (tools/setup --tests)")
class NumpyTest(TreeTest):
    """NumPy's arrays."""

    def test_as_inputs(self):
        for step in range(4):
            self.tree.begin_step()
            y = self.add_three(numpy.full(WORDS, step, dtype=numpy.int32))
            self.assertEqual(y.tolist(), [step + 3] * WORDS)

    def test_what_must_not_be_written_is_an_input_too(self):
        x = numpy.zeros(WORDS, dtype=numpy.int32)
        x.flags.writeable = False
        self.assertEqual(self.add_three(x).tolist(), [3] * WORDS)

    def test_its_numbers_are_numbers(self):
        @self.tree.function
        def add(on, x, by):
            self.assertIs(type(by), int)
            return self.plus(on, x, numpy.int32(by))

        self.assertEqual(add(self.words(1), numpy.int64(4)).tolist(), [5] * WORDS)

    def test_copies_in_and_looks_out(self):
        x = numpy.arange(6, dtype=numpy.float32).reshape(2, 3)
        tensor = self.device.tensor_from(x)
        numpy.testing.assert_array_equal(numpy.asarray(tensor), x)
        numpy.testing.assert_array_equal(numpy.from_dlpack(tensor), x)
        with self.assertRaisesRegex(ValueError, "gaps"):
            self.device.tensor_from(x.T)
        with self.assertRaisesRegex(TypeError, "convert"):
            self.device.tensor_from(x, "f64")

    def test_outputs(self):
        y = self.add_three(numpy.zeros(WORDS, dtype=numpy.int32))
        look = numpy.asarray(y)
        self.assertEqual(look.tolist(), [3] * WORDS)
        self.assertEqual(look.__array_interface__["data"][0], y.address)
        del y
        self.assertEqual(self.tree.stats.live_blocks, 1, "the array keeps the tensor")
        del look
        self.assertEqual(self.tree.stats.live_blocks, 0)


if __name__ == "__main__":
    unittest.main()
