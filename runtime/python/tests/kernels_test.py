"""Kernels: their bodies on the host, their images, their parameters, and Triton's."""

import ctypes
import signal
import subprocess
import sys
import types
import unittest

import graphtree
from graphtree import In, Num, Out
from world import WORDS, HostTest, TreeTest

_HOST_BODY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)


class BodyTest(HostTest):
    """Bodies for the host device."""

    def launch(self, parameters, body, *arguments, **options):
        kernel = graphtree.Kernel("kernel", parameters, host=body)
        try:
            self.stream.launch(kernel, *arguments, **options)
            self.stream.synchronize()
        finally:
            kernel.close()

    def test_what_a_body_sees(self):
        seen = []

        def body(call):
            seen.extend([call.grid, call.block, call.shared_bytes, len(call), call[0], call[1],
                         call[2], call[3], list(call.array(4, 2))])
        x = self.words(7)
        self.launch(["i64", "f32", 4, "*", "const *i32"], body, -5, 0.5, b"abcd", Out(x), In(x),
                    grid=(2, 3), block=4, shared_bytes=16)
        self.assertEqual(seen, [(2, 3, 1), (4, 1, 1), 16, 5, -5, 0.5, b"abcd", x.address, [7, 7]])

    def test_numpy_looks_at_arguments(self):
        try:
            import numpy
        except ImportError:
            self.skipTest("NumPy is not installed")

        def body(call):
            numpy.frombuffer(call.array(0, WORDS), numpy.int32)[:] = 5
        x = self.words(1)
        self.launch(["*i32"], body, Out(x))
        self.assertEqual(x.tolist(), [5] * WORDS)

    def test_what_a_body_raises_the_next_wait_raises(self):
        def body(call):
            raise LookupError("in the body")
        with self.assertRaisesRegex(LookupError, "in the body"):
            self.launch([], body)
        self.stream.synchronize()

    def test_memory_that_is_not_there_is_an_error(self):
        memory = self.device.memory(64)
        x = memory.tensor(graphtree.Layout("i32", (WORDS,)))
        kernel = graphtree.Kernel("late", ["*i32"], host=lambda call: call.array(0, WORDS))
        self.stream.launch(kernel, Out(x))
        # Behind the package's back, which would wait for the work.
        graphtree._library.lib.gt_release(memory.handle)
        memory._closed = True
        with self.assertRaisesRegex(graphtree.InvalidArgument, "64 bytes are not accessible"):
            self.stream.synchronize()
        kernel.close()

    def test_a_fault_ends_the_process_with_words(self):
        for scheduler in ("SEEDED", "THREADS"):
            script = """
import ctypes, graphtree
device = graphtree.Device("host", scheduler=graphtree.Scheduler.%s)
stream = device.stream()
stream.launch(graphtree.Kernel("wild", [], host=lambda call: ctypes.string_at(0x123)))
stream.synchronize()
print("it went on")
""" % scheduler
            done = subprocess.run([sys.executable, "-c", script], text=True, capture_output=True,
                                  stdin=subprocess.DEVNULL)
            self.assertEqual((done.returncode, done.stdout), (-signal.SIGABRT, ""), done.stderr)
            self.assertIn("the host body of kernel 'wild' touched 0x123, where no", done.stderr)

    def test_a_body_in_c(self):
        seen = []
        body = _HOST_BODY(lambda context, call: seen.append(context))
        self.launch([], body)
        self.launch([], ctypes.cast(body, ctypes.c_void_p).value)
        self.assertEqual(seen, [None, None])

    def test_a_pointer_that_does_not_say_to_what(self):
        x = self.words(1)
        with self.assertRaisesRegex(TypeError, "does not say what it points to"):
            self.launch(["*"], lambda call: call.array(0), Out(x))

    def test_structs_and_numbers(self):
        class Pair(ctypes.Structure):
            _fields_ = [("a", ctypes.c_int32), ("b", ctypes.c_int32)]

        seen = []
        self.launch([8, 8, "word4", "word8", "word8"], lambda call: seen.extend(
            int.from_bytes(call[i], "little") for i in range(5)),
            Pair(1, 2), Num(Pair(3, 4)), -1, 5, None)
        self.assertEqual(seen, [1 | 2 << 32, 3 | 4 << 32, 0xFFFFFFFF, 5, 0])
        with self.assertRaises(graphtree.Error):
            self.launch(["i32"], lambda call: None, Pair())

    def test_ranges(self):
        x, seen = self.words(3), []
        self.launch(["*i32"], lambda call: seen.extend(call.array(0, 2)),
                    graphtree.Range(x.address, 64))
        self.assertEqual(seen, [3, 3])

    def test_without_a_body_for_the_device(self):
        kernel = graphtree.Kernel("only CUDA's", [], source='extern "C" __global__ void f() {}',
                                  entry="f", options=["--std=c++17"])
        with self.assertRaisesRegex(graphtree.Error, "only CUDA's"):
            self.stream.launch(kernel)
        kernel.close()


class OptionTest(unittest.TestCase):
    """What kernels may be made of."""

    def test_bad_parameters(self):
        for spec in ("i33", "", "f32 f32", "const"):
            with self.assertRaisesRegex(ValueError, "a parameter is"):
                graphtree.Kernel("k", [spec])

    def test_one_body_of_cuda(self):
        with self.assertRaisesRegex(TypeError, "one of image, source and symbol"):
            graphtree.Kernel("k", [], image=b"x", source="y")

    def test_images(self):
        for image in (b"\x7fELF", ".version 8.0"):
            graphtree.Kernel("k", ["*"], image=image).close()
        graphtree.Kernel("k", ["*"], symbol=0x1000).close()

    def test_shapes(self):
        from graphtree.parameters import make_shape
        self.assertEqual(list(make_shape(5, (1, 2), 0, True).block), [1, 2, 1])
        with self.assertRaisesRegex(ValueError, "one to three sizes"):
            make_shape((), 1, 0, False)


_PTX = """
.visible .entry add_kernel(
  .param .u64 .ptr .global .align 1 add_kernel_param_0,
  .param .u64 .ptr .global .align 1 add_kernel_param_1,
  .param .u32 add_kernel_param_2,
  .param .u64 .ptr .global .align 1 add_kernel_param_3,
  .param .u64 .ptr .global .align 1 add_kernel_param_4
)
.reqntid 128
{
}
""".replace("\t", "  ")


def _compiled(**changed):
    metadata = dict(name="add_kernel", num_warps=4, num_ctas=1, shared=256,
                    global_scratch_size=0, profile_scratch_size=0)
    metadata.update(changed)
    return types.SimpleNamespace(asm={"ptx": _PTX, "cubin": b"\x7fELF"},
                                 metadata=types.SimpleNamespace(**metadata))


class TritonTest(TreeTest):
    """Triton's compiled kernels."""

    def test_launched_with_what_its_metadata_says(self):
        seen = []

        def body(call):
            seen.append((call.block, call.shared_bytes, len(call), call[3]))
            out, x = (ctypes.c_int32 * WORDS).from_address(call[0]), call[1]
            for i, word in enumerate((ctypes.c_int32 * WORDS).from_address(x)):
                out[i] = word + int.from_bytes(call[2], "little")
        kernel = graphtree.triton.kernel_of(_compiled(), host=body)

        @self.tree.function
        def add(on, x):
            out = on.empty_like(x)
            on.launch(kernel, Out(out), In(x), 5, grid=1)
            return out

        x = self.words(1)
        for _ in range(3):
            self.tree.begin_step()
            self.assertEqual(add(x).tolist(), [6] * WORDS)
        self.assertEqual(set(seen), {((128, 1, 1), 256, 5, 0)})
        self.tree.close()
        kernel.close()

    def test_what_is_not_launched(self):
        for changed, words in (({"num_ctas": 2}, "clusters of 2"),
                               ({"global_scratch_size": 64}, "global_scratch_size"),
                               ({"launch_cooperative_grid": True}, "cooperatively")):
            with self.assertRaisesRegex(NotImplementedError, words):
                graphtree.triton.kernel_of(_compiled(**changed))

    def test_older_versions_and_other_ptx(self):
        from graphtree.triton import parameters_in_ptx
        old = ".visible .entry k(\n.param .u64 k_0,\n.param .f32 k_1,\n" \
              ".param .align 4 .b8 k_2[12]\n)"
        self.assertEqual(parameters_in_ptx(old, "k"), ["word8", "word4", 12])
        self.assertEqual(parameters_in_ptx(".entry k()", "k"), [])
        with self.assertRaisesRegex(ValueError, "no .entry other"):
            parameters_in_ptx(old, "other")


if __name__ == "__main__":
    unittest.main()
