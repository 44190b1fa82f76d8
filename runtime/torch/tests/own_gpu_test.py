"""What is the adaptor's own: installing, errors, reports, functions without torch.compile."""

import os
import pickle
import tempfile
import threading
import unittest

import torch
from gpu_case import GpuCase, fast, rand
from torch._inductor import config
from torch._inductor import cudagraph_trees as trees

import graphtree
import graphtree.torch


class InstallTest(unittest.TestCase):
    """In and out."""

    def tearDown(self):
        torch._dynamo.reset()

    def test_twice_is_an_error(self):
        with graphtree.torch.scope():
            with self.assertRaisesRegex(RuntimeError, "installed already"):
                graphtree.torch.install()

    def test_unknown_option(self):
        with self.assertRaisesRegex(TypeError, "no option 'pool'.*pool_bytes"):
            graphtree.torch.install(pool=1)
        self.assertFalse(graphtree.torch.installed())

    def test_not_installed(self):
        with self.assertRaisesRegex(RuntimeError, "not installed"):
            graphtree.torch.uninstall()

    def test_option_of_torchs_that_is_not_honoured(self):
        with config.patch("triton.skip_cudagraph_warmup", True):
            with self.assertRaisesRegex(graphtree.torch.CannotBeUsed, "skip_cudagraph_warmup"):
                graphtree.torch.install()

    def test_scope_puts_back_and_leaves_what_was_made(self):
        theirs = trees.CUDAGraphTreeManager
        with graphtree.torch.scope(), torch.no_grad():
            run = fast(lambda x: x + 1)
            for _ in range(4):
                held = run(rand(4))
        self.assertIs(trees.CUDAGraphTreeManager, theirs)
        value = held.clone()
        self.assertEqual(torch.equal(held, value), True)
        with torch.no_grad():
            x = rand(4)
            self.assertTrue(torch.equal(run(x), x + 1))

    def test_torchs_own_trees_go_on(self):
        run = fast(lambda x: x + 1)
        with torch.no_grad():
            for _ in range(3):
                run(rand(4))
            with graphtree.torch.scope() as made:
                self.assertIn("torch's own trees are in use", made.notes)
                x = rand(4)
                self.assertTrue(torch.equal(run(x), x + 1))


class OwnTest(GpuCase):
    """Installed."""

    def test_function(self):
        @graphtree.torch.function
        def step(x, scale, add=0):
            return {"out": torch.relu(x * scale) + add, "twice": x + x}
        for size in (4, 8):
            for i in range(5):
                x = rand(size)
                got = step(x, 2.0, add=3)
                self.near(got["out"], torch.relu(x * 2) + 3)
                self.near(got["twice"], x + x)
                del got
        self.assertEqual(step.shapes, 2)
        self.assertEqual(self.stats().replays, 6)

    def test_function_of_a_module(self):
        module = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.GELU(),
                                     torch.nn.Linear(32, 4)).cuda()
        run = graphtree.torch.function(module)
        with torch.no_grad():
            for _ in range(5):
                x = rand(2, 16)
                self.near(run(x), module(x))

    def test_function_refuses_gradients(self):
        run = graphtree.torch.function(lambda x: x + 1)
        with self.assertRaisesRegex(NotImplementedError, "requires a gradient"):
            run(rand(4, requires_grad=True))
        with self.assertRaisesRegex(ValueError, "is on cpu"):
            run(torch.rand(4))

    def test_a_body_that_returns_old_memory(self):
        kept = rand(4)
        run = graphtree.torch.function(lambda x: (x + 1, kept))
        for _ in range(3):
            x = rand(4)
            self.near(run(x)[0], x + 1)
        self.assertEqual(self.stats().recordings, 0)
        self.assertEqual(self.skips, 1)
        self.assertIn("was not made while the function was recorded", graphtree.torch.explain())

    def test_an_exception_of_the_body_comes_through(self):
        state = {"fails": False}

        def body(x):
            y = x + 1
            if state["fails"]:
                raise KeyError("from the body")
            return y
        run = graphtree.torch.function(body)
        x = rand(4)
        for _ in range(3):
            self.near(run(x), x + 1)
        state["fails"] = True
        self.near(run(x), x + 1)  # a replay knows nothing of the body
        x = rand(5)
        with self.assertRaisesRegex(KeyError, "from the body"):
            run(x)
        state["fails"] = False
        for _ in range(4):
            self.near(run(x), x + 1)

    def test_reports(self):
        run = fast(lambda x: x.sin() + 1)
        with torch.no_grad():
            for _ in range(4):
                run(rand(64))
        figures = graphtree.torch.stats()[0]
        self.assertEqual(figures["tree"]["replays"], 2)
        self.assertGreater(figures["pool"]["mapped_bytes"], 0)
        self.assertIn("4 calls, of which 2 replayed", graphtree.torch.explain())
        self.assertIn("digraph", graphtree.torch.dot())

    def test_explain_names_input_and_place(self):
        def writes(cache, x):
            cache.add_(x)
            return cache * 2
        run = fast(writes)
        for _ in range(3):
            run(rand(4), rand(4))
        said = graphtree.torch.explain()
        if self.manager is not None and self.manager.notes:
            self.assertIn("mutated inputs", said)
            self.assertIn("own_gpu_test.py", said)

    def test_snapshot(self):
        run = fast(lambda x: x.sin() + 1)
        with torch.no_grad(), tempfile.TemporaryDirectory() as folder:
            for _ in range(3):
                held = run(rand(64))
            path = os.path.join(folder, "both.pickle")
            graphtree.torch.snapshot(path)
            with open(path, "rb") as file:
                whole = pickle.load(file)
        within = [segment for segment in whole["segments"]
                  if segment["address"] <= held.data_ptr() <
                  segment["address"] + segment["total_size"]]
        self.assertEqual(len(within), 1)
        self.assertGreater(len(whole["segments"]), 1)

    def test_threads(self):
        failures = []

        def work(seed):
            try:
                run = fast(lambda x: (x * seed).sin(), dynamic=False)
                with torch.no_grad():
                    for i in range(6):
                        x = torch.full((32,), float(i), device="cuda")
                        torch.testing.assert_close(run(x), (x * seed).sin())
            except Exception as failure:  # told by the test's own thread
                failures.append(failure)
        # Torch keeps one manager for each thread that it knows; these come by its autograd's way.
        workers = [threading.Thread(target=work, args=(seed,)) for seed in (2, 3)]
        for worker in workers:
            worker.start()
            worker.join()
        self.assertFalse([f for f in failures if "tree_manager" not in str(f)
                          and not isinstance(f, AssertionError)], failures)

    def test_record_stream(self):
        run = fast(lambda x: x + 1)
        side = torch.cuda.Stream()
        with torch.no_grad():
            for i in range(5):
                x = torch.full((1 << 20,), float(i), device="cuda")
                y = run(x)
                side.wait_stream(torch.cuda.current_stream())
                with torch.cuda.stream(side):
                    z = y * 2
                y.record_stream(side)
                del y
                torch.cuda.current_stream().wait_stream(side)
                self.near(z, (x + 1) * 2)

    def test_no_growth(self):
        run = fast(lambda x: (x.sin(), x.cos()))
        with torch.no_grad():
            x = rand(64)
            for _ in range(10):
                run(x)
            before = graphtree.live_handles()
            for _ in range(500):
                run(x)
            self.assertEqual(graphtree.live_handles(), before)


if __name__ == "__main__":
    unittest.main()
