"""Tensors for others: how long they hold what they show, and who may drop them, where and when."""

import gc
import threading
import unittest

import graphtree
from producer import Consumer, Producer
from world import WORDS, TreeTest

try:
    import numpy
except ImportError:
    numpy = None


class OutTest(TreeTest):
    """What goes out."""

    def make(self):
        return self.add_three(self.words(4))

    def test_holds_its_storage(self):
        for version in (None, (0, 8), (1, 1)):
            y = self.make()
            self.assertEqual(y.__dlpack_device__(), (1, 0))
            taken = Consumer(y.__dlpack__(max_version=version))
            self.assertEqual(taken.name.endswith(b"versioned"), version == (1, 1))
            del y
            self.assertEqual(self.tree.stats.live_blocks, 1)
            self.assertEqual(taken.words(), [7] * WORDS)
            taken.drop()
            self.assertEqual(self.tree.stats.live_blocks, 0)

    def test_nobody_takes_it(self):
        capsule = self.make().__dlpack__()
        self.assertEqual(self.tree.stats.live_blocks, 1)
        del capsule
        self.assertEqual(self.tree.stats.live_blocks, 0)

    def test_nobody_takes_it_as_something_is_raised(self):
        def drops(tensor, version):
            # The capsule ends as the division's error goes up, and has to leave that alone.
            return [tensor.__dlpack__(max_version=version), 1 // 0]

        for version in (None, (1, 0)):
            with self.assertRaises(ZeroDivisionError):
                drops(self.make(), version)
            self.assertEqual(self.tree.stats.live_blocks, 0)

    def test_dropped_on_other_threads(self):
        taken = [Consumer(self.make().__dlpack__()) for _ in range(8)]
        threads = [threading.Thread(target=one.drop) for one in taken]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(self.tree.stats.live_blocks, 0)

    def test_dropping_a_tensor_is_dropping_a_handle(self):
        other = graphtree.Tree(self.device)

        @other.function
        def shows_whether_it_is_alive(on, x):
            return self.plus(on, x, 1)

        x = self.words(0)
        for keeps in (False, False, False, True, True, True):
            self.tree.begin_step()
            y = self.add_three(x)
            kept = [y] if keeps else []
            thread = threading.Thread(target=kept.append, args=(y,))
            thread.start()
            thread.join()
            del y
            if not keeps:
                kept.clear()
            self.assertEqual(self.tree.stats.live_blocks, 1 if keeps else 0)
            kept.clear()
        other.close()

    def test_memory_of_ones_own_is_held_likewise(self):
        x = self.device.tensor_from([5] * WORDS, "i32", on_host=True)
        taken = Consumer(x.__dlpack__())
        del x
        gc.collect()
        self.assertEqual(taken.words(), [5] * WORDS)
        with self.assertRaises(graphtree.FailedPrecondition):
            self.tree.close()
            self.device.close()
        taken.drop()

    def test_what_is_somebodys_goes_out_as_theirs(self):
        producer = Producer()
        tensor = self.device.as_tensor(producer)
        self.assertEqual(Consumer(tensor.__dlpack__()).words(), list(range(WORDS)))
        with self.assertRaisesRegex(BufferError, "a view of a Producer"):
            tensor.view((2,)).__dlpack__()

    def test_a_consumer_on_a_gpu_waits_on_its_own_stream(self):
        y = self.make()
        self.device.is_host = False  # what a GPU's tensors go through; the work is the host's
        try:
            for consumer in (None, 1, 0, -1):
                taken = Consumer(y.__dlpack__(stream=consumer))
                self.assertEqual((taken.managed.tensor.device_type, y.__dlpack_device__()),
                                 (2, (2, 0)))
                taken.drop()
            self.assertEqual(y.made_on, self.stream)
            with self.assertRaisesRegex(AttributeError, "on a GPU"):
                getattr(y, "__array_interface__")
            with self.assertRaisesRegex(graphtree.InvalidArgument, "CUDA"):
                getattr(y, "__cuda_array_interface__")  # it names the stream, which is the host's
            x = self.words(1)
            described = x.__cuda_array_interface__
            self.assertEqual((described["shape"], described["typestr"], described["data"]),
                             ((WORDS,), "<i4", (x.address, False)))
            with self.assertRaisesRegex(ValueError, "host's memory is no tensor of device"):
                self.device.as_tensor(Producer())
        finally:
            self.device.is_host = True
        self.assertEqual(y.tolist(), [7] * WORDS)

    def test_what_is_refused(self):
        y = self.make()
        for wrong in ({"copy": True}, {"dl_device": (2, 0)}):
            with self.assertRaises(BufferError):
                y.__dlpack__(**wrong)
        self.tree.begin_step()
        with self.assertRaises(graphtree.FailedPrecondition):
            y.__dlpack__()
        with self.assertRaises(graphtree.FailedPrecondition):
            getattr(y, "__array_interface__")
        with self.assertRaisesRegex(AttributeError, "host's memory"):
            getattr(y, "__cuda_array_interface__")
        y.close()
        y.close()
        with self.assertRaisesRegex(ValueError, "closed"):
            y.__dlpack__()

    def test_no_tensor_is_made_by_hand(self):
        with self.assertRaisesRegex(TypeError, "tensors are made by"):
            graphtree.Tensor()

    def test_halves_have_no_array_interface(self):
        tensor = self.device.tensor_from([1.0], "bf16")
        with self.assertRaisesRegex(AttributeError, "bf16; DLPack does"):
            getattr(tensor, "__array_interface__")


@unittest.skipIf(numpy is None, "NumPy is not installed (tools/setup --tests)")
class NumpyTest(TreeTest):
    """NumPy takes it."""

    def test_its_own_words_where_it_has_no_such_type(self):
        for _ in range(10):
            with self.assertRaisesRegex((BufferError, RuntimeError), "[Uu]nsupported"):
                numpy.from_dlpack(self.device.tensor_from([1.5], "bf16"))

    def test_an_array_holds_the_storage(self):
        array = numpy.from_dlpack(self.add_three(self.words(1)))
        self.assertEqual(array.tolist(), [4] * WORDS)
        self.assertEqual(self.tree.stats.live_blocks, 1)
        thread = threading.Thread(target=lambda given: given.pop(), args=([array],))
        del array
        thread.start()
        thread.join()
        del thread
        gc.collect()
        self.assertEqual(self.tree.stats.live_blocks, 0)


if __name__ == "__main__":
    unittest.main()
