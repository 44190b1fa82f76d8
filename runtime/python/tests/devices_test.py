"""Devices, streams, events, memory, pools, and graphs of one's own."""

import os
import tempfile
import unittest

import graphtree
from graphtree import Capability, In, Out
from world import WORDS, HostTest


class DeviceTest(HostTest):
    """What a device says and does."""

    def test_what_it_is(self):
        self.assertTrue(self.device.is_host)
        self.assertEqual((self.device.name, self.device.architecture, self.device.index),
                         ("host", "host", 0))
        self.assertIn("host", repr(self.device))
        self.assertGreater(self.device.total_bytes, 0)
        self.assertGreater(self.device.free_bytes, 0)
        self.assertIn("host", graphtree.describe_devices())

    def test_what_it_can(self):
        self.assertTrue(self.device.can(Capability.CAPTURE))
        for capability in Capability:
            self.assertEqual(self.device.can(capability),
                             self.device.why_not(capability) is None)
        self.device.check_health()
        self.device.give_back_leftovers()

    def test_options(self):
        with graphtree.Device("host", scheduler=graphtree.Scheduler.IMMEDIATE, seed=7,
                              memory_bytes=1 << 24, poison=False) as device:
            self.assertEqual(device.total_bytes, 1 << 24)

    def test_streams_and_events(self):
        x, y = self.words(1), self.words(0)
        event, side = self.device.event(timing=True), self.device.stream()
        start = self.device.event(timing=True)
        self.stream.record(start)
        self.stream.launch(self.add, Out(y), In(x), 4)
        self.stream.record(event)
        side.wait(event)
        side.copy(x, y)
        side.synchronize()
        self.assertTrue(event.is_done)
        self.assertGreaterEqual(event.elapsed_ns(start), 0)
        self.assertEqual(x.tolist(), [5] * WORDS)
        for thing in (event, start, side):
            thing.close()

    def test_an_event_of_a_graph(self):
        event = self.device.event()
        self.stream.begin_capture()
        self.stream.record_external(event)
        graph = self.stream.end_capture()
        executable = graph.instantiate()
        executable.launch(self.stream)
        event.synchronize()
        self.assertTrue(event.is_done)
        for thing in (executable, graph, event):
            thing.close()

    def test_copies_and_fills(self):
        x, y = self.words(1), self.device.empty((4,), "i32", on_host=True)
        self.stream.fill(x, 0x01020304, 4, 2)
        self.assertEqual(x.tolist(self.stream)[:3], [0x01020304, 0x01020304, 1])
        with self.assertRaisesRegex(ValueError, "a copy from"):
            self.stream.copy(x, y)
        with self.assertRaisesRegex(TypeError, "needs a size"):
            self.stream.copy(x.address, y)
        with self.assertRaisesRegex(TypeError, "needs a count"):
            self.stream.fill(x.address, 0)
        self.stream.copy(y.address, x.address, 16)
        self.assertEqual(y.tolist(self.stream)[:2], [0x01020304] * 2)

    def test_the_host_is_called_in_the_streams_order(self):
        seen = []
        self.stream.call_host(lambda: seen.append(1))
        self.stream.call_host(lambda: seen.append(2))
        self.stream.synchronize()
        self.assertEqual(seen, [1, 2])
        self.stream.call_host(lambda: {}["nothing"])
        with self.assertRaises(KeyError):
            self.stream.synchronize()

    def test_whose_streams(self):
        class TorchStream:
            cuda_stream = 0

        class CupyStream:
            ptr = 0

        class Protocol:
            def __cuda_stream__(self):
                return 0, 0

        for native in (0, TorchStream(), CupyStream(), Protocol()):
            with self.device.stream(native) as stream:  # 0: the legacy stream
                stream.synchronize()
        with self.assertRaisesRegex(TypeError, "a str is no stream"):
            self.device.stream("stream")
        with self.assertRaises(graphtree.Error):
            self.device.stream(12345)
        with self.assertRaisesRegex(graphtree.Error, "CUDA"):
            self.stream.native

    def test_host_memory_is_the_hosts(self):
        import ctypes
        memory = self.device.memory(64, on_host=True)
        ctypes.memset(memory.address, 1, 64)
        self.assertEqual(memory.tensor(graphtree.Layout("u8", (64,))).tolist(), [1] * 64)
        with self.assertRaisesRegex(ValueError, "beyond the 64 bytes"):
            memory.tensor(graphtree.Layout("u8", (64,)), 1)
        tensor = memory.tensor(graphtree.Layout("u8", (64,)))
        memory.close()
        with self.assertRaisesRegex(ValueError, "closed"):
            memory.tensor(graphtree.Layout("u8", (64,)))
        with self.assertRaisesRegex(ValueError, "closed"):
            self.stream.fill(tensor, 0)


class NumberTest(HostTest):
    """Numbers in and out, of every type."""

    def test_every_type(self):
        for dtype, numbers in (("u8", [0, 255]), ("bool", [True, False]), ("i32", [-1, 5]),
                               ("i64", [-(1 << 40), 3]), ("f16", [1.5, -2.0]),
                               ("bf16", [1.5, -2.0]), ("f32", [0.25, 3.0]), ("f64", [0.1, 1e300])):
            with self.subTest(dtype):
                tensor = self.device.tensor_from(numbers, dtype)
                self.assertEqual(tensor.tolist(), numbers)

    def test_bfloat_is_rounded_to_the_nearest(self):
        numbers = [1.00390625, 1.01171875, float("inf"), -0.0]
        tensor = self.device.tensor_from(numbers + [float("nan")], "bf16")
        self.assertEqual(tensor.tolist()[:4], [1.0, 1.015625, float("inf"), -0.0])
        self.assertNotEqual(tensor.tolist()[4], tensor.tolist()[4])

    def test_nested_strided_and_empty(self):
        tensor = self.device.tensor_from([[1, 2, 3], [4, 5, 6]], "i32")
        self.assertEqual(tensor.view((3, 2), strides=(1, 3)).tolist(), [[1, 4], [2, 5], [3, 6]])
        self.assertEqual(tensor.view((), offset_bytes=8).tolist(), 3)
        self.assertEqual(self.device.tensor_from([], "f32").tolist(), [])
        with self.assertRaisesRegex(ValueError, "different lengths"):
            self.device.tensor_from([[1], [2, 3]], "i32")
        with self.assertRaisesRegex(TypeError, "need a dtype"):
            self.device.tensor_from([1])
        with self.assertRaisesRegex(ValueError, "24 bytes"):
            tensor.view((7,))

    def test_buffers(self):
        import array
        for buffer in (array.array("i", [1, 2]), memoryview(array.array("d", [0.5])),
                       memoryview(b"ab")):
            self.assertEqual(self.device.tensor_from(buffer).tolist(), list(buffer))
        with self.assertRaisesRegex(TypeError, "format"):
            self.device.tensor_from(array.array("h", [1]))


class PoolTest(HostTest):
    """Pools of one's own."""

    def test_blocks_and_checkpoints(self):
        with graphtree.Pool(self.device, canaries=True) as pool:
            block = pool.allocate(100, self.stream, alignment=512)
            self.assertEqual(block.address % 512, 0)
            pool.use_on(block, self.stream)
            checkpoint = pool.take_checkpoint()
            other = pool.allocate(100, self.stream)
            self.assertEqual(pool.stats.live_blocks, 2)
            pool.restore(checkpoint)
            self.assertEqual(pool.stats.live_blocks, 1)
            with self.assertRaises(graphtree.Error):
                pool.free(other)
            pool.drop_checkpoint(checkpoint)
            with self.assertRaisesRegex(graphtree.FailedPrecondition, "block"):
                pool.close()
            self.assertIn("segments", pool.snapshot())
            pool.set_limit(1 << 30)
            pool.park()
            pool.wake()
            pool.free(block)
            self.assertGreater(pool.trim(), 0)
            with tempfile.TemporaryDirectory() as folder:
                pool.write_snapshot(os.path.join(folder, "pool.sqlite"))


class GraphTest(HostTest):
    """Graphs of one's own."""

    def capture(self, by, out, x):
        self.stream.begin_capture()
        self.stream.launch(self.add, Out(out), In(x), by)
        return self.stream.end_capture()

    def test_captured_launched_updated_and_patched(self):
        x, y = self.words(1), self.words(0)
        graph = self.capture(5, y, x)
        self.assertEqual(len(graph), 1)
        self.assertIn("add", str(graph.ops()))
        self.assertIn("digraph", graph.graphviz())
        executable = graph.instantiate()
        executable.upload(self.stream)
        executable.launch(self.stream)
        self.assertEqual(y.tolist(self.stream), [6] * WORDS)
        other = self.capture(7, y, x)
        self.assertEqual(executable.update(other), graphtree.UpdateResult.UPDATED)
        executable.launch(self.stream)
        self.assertEqual(y.tolist(self.stream), [8] * WORDS)
        executable.patch_kernel(0, self.add, Out(y), In(x), 9)
        executable.launch(self.stream)
        self.assertEqual(y.tolist(self.stream), [10] * WORDS)
        for thing in (executable, graph, other):
            thing.close()

    def test_patched_copies_and_fills(self):
        x, y = self.words(1), self.words(0)
        self.stream.begin_capture()
        self.stream.copy(y, x)
        self.stream.fill(x, 2)
        graph = self.stream.end_capture()
        executable = graph.instantiate()
        kinds = [op.get("kind") or op.get("op") or str(op) for op in _ops(graph)]
        copy = next(i for i, kind in enumerate(kinds) if "cop" in str(kind))
        executable.patch_copy(copy, y.address, x.address, 4)
        executable.patch_fill(1 - copy, x.address, 3, 1, 1)
        executable.launch(self.stream)
        self.assertEqual(y.tolist(self.stream), [1] + [0] * (WORDS - 1))
        self.assertEqual(x.tolist(self.stream), [3] + [1] * (WORDS - 1))
        executable.close()
        graph.close()


def _ops(graph):
    found = graph.ops()
    return found if isinstance(found, list) else found.get("ops", found.get("nodes", []))


if __name__ == "__main__":
    unittest.main()
