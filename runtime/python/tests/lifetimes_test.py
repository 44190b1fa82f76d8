"""What calls, launches and copies use is there until they are through; what a call returns holds
what it lies in."""

import ctypes
import gc
import threading
import time
import unittest

import graphtree
from graphtree import _foreign
from producer import Consumer, Producer
from world import WORDS, TreeTest

try:
    import numpy
except ImportError:
    numpy = None


class ReturnedTest(TreeTest):
    """A body returns its input, which is the caller's memory."""

    def setUp(self):
        super().setUp()
        self.same = self.tree.function(lambda on, x, *more: x)

    def close_more(self):
        del self.same
        super().close_more()

    def test_what_is_somebodys_stays_for_what_was_returned(self):
        for _ in range(4):
            self.tree.begin_step()
            producer = Producer()
            y = self.same(producer)
            self.stream.synchronize()
            gc.collect()
            self.assertEqual(producer.deleted, [])
            self.assertEqual(y.tolist(), list(range(WORDS)))
            self.assertFalse(y.is_made_by_a_tree)
            del y
            gc.collect()
            self.assertEqual(len(producer.deleted), 1)

    def test_memory_of_ones_own_stays_too(self):
        for by in range(4):
            self.tree.begin_step()
            x = self.words(by)
            memory, y = x._origin, self.same(x)
            del x
            gc.collect()
            self.assertFalse(memory.closed)
            self.assertEqual((y.tolist(), y.home), ([by] * WORDS, (1, 0)))
            taken = Consumer(y.__dlpack__())
            del y
            gc.collect()
            self.assertEqual(taken.words(), [by] * WORDS)
            taken.drop()
            memory.close()

    def test_a_view_that_was_returned(self):
        tail = self.tree.function(lambda on, x: x.view((4,), offset_bytes=8))
        for _ in range(4):
            producer = Producer()
            y = tail(producer)
            self.stream.synchronize()
            self.assertEqual((producer.deleted, y.tolist()), ([], [2, 3, 4, 5]))

    def test_among_several_and_in_every_kind_of_call(self):
        both = self.tree.function(lambda on, x, z: (z, 5, x))
        for call in (both, both, both.replay, lambda x, z: both.compare(x, z)[0]):
            self.tree.begin_step()
            x, z = Producer(), Producer()
            out = call(x, z)
            self.stream.synchronize()
            self.assertEqual((x.deleted, z.deleted, out[1]), ([], [], 5))
            first = out[0]
            del out
            gc.collect()
            self.assertEqual((len(x.deleted), z.deleted), (1, []))
            self.assertEqual(first.tolist(), list(range(WORDS)))

    def test_it_is_read_after_the_work_that_was_put_on_its_stream(self):
        @self.tree.function
        def in_place(on, x):
            on.launch(self.add, graphtree.Out(x), graphtree.In(x), 1, block=WORDS)
            return x

        x = self.words(0)
        for step in range(1, 5):
            self.tree.begin_step()
            self.assertEqual(in_place(x).tolist(), [step] * WORDS)
            self.assertEqual(in_place(x).made_on, self.stream)
            x = self.words(step)

    def test_again_an_input_and_in_a_body(self):
        with graphtree.Tree(self.device, self.stream) as tree:
            @tree.function
            def outer(on, x):
                return self.plus(on, self.same(self.same(x)), 3)

            for _ in range(4):
                tree.begin_step()
                self.assertEqual(outer(self.same(Producer())).tolist()[1], 4)
            del outer

    def test_memory_that_the_body_knows_stays_with_the_body(self):
        known = self.words(7)
        memory = known._origin
        knows = self.tree.function(lambda on, known=known: known)
        del known
        y = knows()
        knows.close()
        self.assertEqual(y.tolist(), [7] * WORDS)
        self.assertFalse(memory.closed)
        del y, knows

    def test_closed_memory_is_bad_in_what_was_returned(self):
        x = self.words(1)
        y = self.same(x)
        x._origin.close()
        with self.assertRaises(graphtree.BadHandle):
            y.tolist()
        with self.assertRaises(graphtree.BadHandle):
            self.same(y)


class DroppedTest(TreeTest):
    """A tensor of somebody's goes right after its call."""

    @staticmethod
    def freed():
        """What is overwritten as it goes, as freed memory is."""
        producer = Producer()

        def free(managed):
            ctypes.memset(producer.words, 0xFF, ctypes.sizeof(producer.words))
            producer.deleted.append(managed)

        producer.deleter = _foreign.DELETER(free)
        producer.managed.deleter = ctypes.cast(producer.deleter, ctypes.c_void_p).value
        return producer

    def test_its_memory_stays_until_the_work_is_done(self):
        for step in range(4):
            self.tree.begin_step()
            producer = self.freed()
            y = self.add_three(self.device.as_tensor(producer))
            gc.collect()
            self.assertEqual(y.tolist(), list(range(3, WORDS + 3)), "call %d" % step)
            self.assertEqual(len(producer.deleted), 1)

    def test_where_nothing_is_under_way_it_goes_at_once(self):
        producer = Producer()
        x = self.device.as_tensor(producer)
        y = x.view((4,))
        self.add_three(x).tolist()
        del x
        gc.collect()
        self.assertEqual(producer.deleted, [])
        del y
        gc.collect()
        self.assertEqual(len(producer.deleted), 1)

    def test_while_a_capture_is_open_nobody_asks(self):
        self.stream.begin_capture()
        producer = Producer()
        self.device.as_tensor(producer)
        self.stream.end_capture().close()
        gc.collect()
        self.assertEqual(len(producer.deleted), 1)

    def test_after_the_device_it_goes_at_once(self):
        producer, device = Producer(), graphtree.Device("host")
        x = device.as_tensor(producer)
        device.close()
        del x
        gc.collect()
        self.assertEqual(len(producer.deleted), 1)


class StreamTest(TreeTest):
    """Work that is put on a stream by hand, with what is somebody's."""

    def setUp(self):
        super().setUp()
        self.out = self.words(0)

    def close_more(self):
        del self.out
        super().close_more()

    def launch(self, producer):
        self.stream.launch(self.add, graphtree.Out(self.out),
                           graphtree.In(self.device.as_tensor(producer)), 3, block=(WORDS,))

    def test_it_stays_until_a_launch_is_done(self):
        producer = Producer()
        self.launch(producer)
        gc.collect()
        self.assertEqual(producer.deleted, [])
        self.stream.synchronize()
        self.assertEqual(len(producer.deleted), 1)
        self.assertEqual(self.out.tolist(), list(range(3, WORDS + 3)))

    def test_it_stays_until_copies_and_fills_are_done(self):
        for work in (lambda theirs: self.stream.copy(self.out, theirs),
                     lambda theirs: self.stream.copy(theirs, self.out),
                     lambda theirs: self.stream.fill(theirs, 1)):
            producer = Producer()
            work(self.device.as_tensor(producer))
            gc.collect()
            self.assertEqual(producer.deleted, [])
            self.stream.synchronize()
            self.assertEqual(len(producer.deleted), 1)

    def test_a_part_of_it_and_what_a_call_returned_of_it(self):
        same = self.tree.function(lambda on, x: x)
        for take in (lambda theirs: theirs.view((WORDS,)), same):
            producer = Producer()
            y = take(self.device.as_tensor(producer))
            self.stream.synchronize()
            self.stream.copy(self.out, y)
            del y
            gc.collect()
            self.assertEqual(producer.deleted, [])
            self.stream.synchronize()
            self.assertEqual(len(producer.deleted), 1)
        del same

    def test_many_are_let_go_in_between(self):
        producers = [Producer() for _ in range(64)]
        for producer in producers:
            self.launch(producer)
        self.assertTrue(producers[0].deleted)
        self.assertFalse(producers[-1].deleted)

    def test_what_was_refused_is_not_held(self):
        producer = Producer()
        with self.assertRaises(graphtree.Error):
            self.stream.launch(self.add, graphtree.Out(self.out),
                               graphtree.In(self.device.as_tensor(producer)), 3, block=(0,))
        gc.collect()
        self.assertEqual(len(producer.deleted), 1)

    def test_a_capture_holds_it_as_long_as_it_can_be_launched(self):
        producers = [Producer() for _ in range(40)]
        self.stream.begin_capture()
        for producer in producers:
            self.launch(producer)
        graph = self.stream.end_capture()
        self.stream.synchronize()
        executable = graph.instantiate()
        graph.close()
        del graph
        gc.collect()
        self.assertFalse(any(producer.deleted for producer in producers))
        executable.launch(self.stream)
        executable.close()
        del executable
        gc.collect()
        self.assertFalse(any(producer.deleted for producer in producers))
        self.stream.synchronize()
        self.assertTrue(all(producer.deleted for producer in producers))
        self.assertEqual(self.out.tolist(), list(range(3, WORDS + 3)))

    def test_another_graph_and_other_arguments_are_held_likewise(self):
        producers = [Producer() for _ in range(3)]
        graphs = []
        for producer in producers[:2]:
            self.stream.begin_capture()
            self.launch(producer)
            graphs.append(self.stream.end_capture())
        executable = graphs[0].instantiate()
        executable.update(graphs[1])
        graphs.clear()
        executable.patch_kernel(0, self.add, graphtree.Out(self.out),
                                graphtree.In(self.device.as_tensor(producers[2])), 3, block=WORDS)
        gc.collect()
        self.assertFalse(producers[1].deleted or producers[2].deleted)
        executable.launch(self.stream)
        del executable
        gc.collect()
        self.assertEqual(producers[2].deleted, [])
        self.stream.synchronize()
        self.assertTrue(all(producer.deleted for producer in producers))


class ClosedDuringCallTest(TreeTest):
    """What a call runs on is closed before the call is over."""

    def test_the_stream_of_a_call(self):
        streams = []

        @self.tree.function
        def closes(on, x):
            if streams:
                streams.pop().close()
            return self.plus(on, x, 3)

        producer = Producer()
        stream = self.device.stream()
        streams.append(stream)
        y = closes(producer, stream=stream)
        self.assertEqual(self.tree.stats.live_blocks, 1)
        gc.collect()
        self.assertEqual(producer.deleted, [], "nobody knows when that stream's work is done")
        self.assertEqual(self.add_three(y).tolist(), list(range(6, WORDS + 6)))
        del y
        self.assertEqual(self.tree.stats.live_blocks, 0)
        closes.close()

    def test_outputs_are_dropped_where_the_inputs_cannot_be_held(self):
        @self.tree.function
        def pair(on, x):
            return self.plus(on, x, 1), self.plus(on, x, 2)

        def fails(tensors):
            raise MemoryError("no room")

        self.stream.hold = fails
        try:
            for call in (pair, pair, pair, pair.replay, pair.compare):
                self.tree.begin_step()
                with self.assertRaisesRegex(MemoryError, "no room"):
                    call(Producer())
                self.assertEqual(self.tree.stats.live_blocks, 0)
        finally:
            del self.stream.hold
        self.stream.synchronize()

    def test_a_tree_on_another_thread(self):
        for _ in range(10):
            tree, calls, failures = graphtree.Tree(self.device), [], []
            add = tree.function(lambda on, x: self.plus(on, x, 3))

            def work(tree=tree, add=add, calls=calls, failures=failures):
                try:
                    while True:
                        tree.begin_step()
                        add(Producer())
                        calls.append(1)
                except graphtree.Error as error:
                    failures.append(error)

            thread = threading.Thread(target=work)
            thread.start()
            while len(calls) < 4:
                time.sleep(0.0005)
            tree.close()
            thread.join()
            self.assertIsInstance(failures[0], graphtree.BadHandle)
            self.assertIn(failures[0].call, ("gt_call", "gt_tree_begin_step"))


if __name__ == "__main__":
    unittest.main()
