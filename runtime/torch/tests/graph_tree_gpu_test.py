"""Rows of PyTorch's table of graph-tree tests, by their names there, against the adaptor."""

import unittest
import warnings

import torch
from gpu_case import GpuCase, fast, rand
from torch._inductor import config


class BasicsTest(GpuCase):
    """Values, random numbers, mutation."""

    def test_run_simple(self):
        run = fast(lambda x: x * x * x, dynamic=False)
        for size in (5, 10):
            for _ in range(3):
                x = rand(size)
                with torch.no_grad():
                    self.same(run(x), x * x * x)
        self.assertEqual(self.descendants(), [0, 0])
        self.assertEqual(self.stats().replays, 2)

    def test_rng_trees(self):
        run = fast(lambda: torch.rand(20, device="cuda"))
        torch.manual_seed(0)
        first = [run().clone() for _ in range(4)]
        torch.manual_seed(0)
        again = [run().clone() for _ in range(4)]
        for one, other in zip(first, again):
            self.same(one, other)
        self.assertFalse(torch.equal(first[2], first[3]))

    def test_generator_ends_where_eager_leaves_it(self):
        def draw(x):
            return torch.nn.functional.dropout(x, 0.5, True) + torch.rand_like(x)
        x = torch.ones(1000, device="cuda")
        with torch.no_grad(), config.patch(fallback_random=True):
            run = fast(draw)
            torch.manual_seed(11)
            got = [run(x).clone() for _ in range(5)]
            end = torch.cuda.get_rng_state()
            torch.manual_seed(11)
            for number in got:
                self.same(number, draw(x))
        self.same(end, torch.cuda.get_rng_state())
        self.assertEqual(self.stats().replays, 3)

    def test_mutation_on_inp(self):
        def add_two(x):
            x.add_(2)
            return x
        run = fast(add_two)
        for _ in range(3):
            x = rand(4)
            want = x + 2
            self.same(run(x), want)
            self.same(x, want)
        self.assertEqual(self.skips, 1)
        if self.manager is not None:
            self.assertEqual(list(self.manager.get_roots()), [])

    def test_mutation_on_inp_buffer(self):
        class Counter(torch.nn.Module):
            """Writes to its buffer."""

            def __init__(self):
                super().__init__()
                self.register_buffer("seen", torch.zeros(8, device="cuda"))

            def forward(self, x):
                self.seen.add_(x)
                return self.seen * 2
        module = Counter()
        run, total = fast(module), torch.zeros(8, device="cuda")
        with torch.no_grad():
            for _ in range(5):
                x = rand(8)
                total = total + x
                self.near(run(x), total * 2)
        self.near(module.seen, total)
        self.assertEqual(self.skips, 0)
        self.assertGreater(self.stats().replays, 0)

    def test_mutation_cudagraph_managed_tensors(self):
        first = fast(lambda x: x + 1)

        def in_place(x):
            x.add_(2)
            return x
        second = fast(in_place)
        with torch.no_grad(), config.patch("triton.cudagraph_support_input_mutation", True):
            for _ in range(4):
                torch.compiler.cudagraph_mark_step_begin()
                x = rand(4)
                self.near(second(first(x)), x + 3)
            self.assertEqual(self.skips, 0)
            torch.compiler.cudagraph_mark_step_begin()
            x = rand(4)
            self.near(second(first(x).clone()), x + 3)
            self.assertEqual(self.skips, 1)

    def test_mutation_cudagraph_managed_tensor_warn_only_once(self):
        def in_place(x):
            x.add_(2)
            return x
        run = fast(in_place)
        with torch.no_grad(), config.patch("triton.cudagraph_support_input_mutation", True):
            for _ in range(3):
                torch.compiler.cudagraph_mark_step_begin()
                run(rand(4))
        self.assertEqual(self.skips, 1)

    def test_index_put(self):
        def put(x, mask, value):
            x = x.clone()
            x[mask] = value
            return x
        run = fast(put)
        for _ in range(3):
            x, mask = rand(16), rand(16) > 0.5
            value = torch.zeros((), device="cuda")
            self.same(run(x, mask, value), put(x, mask, value))

    def test_function_compiled_multiple_times(self):
        inner = fast(lambda x: x + 1, dynamic=False)
        tail = fast(lambda x, y: (x * y).sum(), dynamic=False)
        with torch.no_grad():
            for _ in range(4):
                torch.compiler.cudagraph_mark_step_begin()
                x = rand(8)
                y = inner(x)
                z = inner(y)
                self.near(tail(y, z), ((x + 1) * (x + 2)).sum())
        self.assertGreater(self.stats().replays, 0)

    def test_execution_into_recording(self):
        def branches(x):
            y = x + x
            torch._dynamo.graph_break()
            if y.sum() > 0:
                return y + 1
            return y - 1
        run = fast(branches)
        with torch.no_grad():
            for sign in (1, 1, 1, -1, -1, -1, 1, -1):
                x = torch.full((4,), float(sign), device="cuda")
                self.near(run(x), branches(x))

    def test_forward_backward_not_called(self):
        run = fast(lambda x: (x * x).cos())
        for _ in range(3):
            x = rand(8, requires_grad=True)
            run(x)
            y = run(x)
            y.sum().backward()
        self.assertFalse(self.manager.running_forwards_with_pending_backwards)


class AliasTest(GpuCase):
    """Storages: whose they are, and how long they live."""

    def test_constant_output(self):
        class Model(torch.nn.Module):
            """Returns its parameter, a view of it, and a value."""

            def __init__(self):
                super().__init__()
                self.weight = torch.nn.Parameter(rand(4))

            def forward(self, x):
                return self.weight, self.weight[0], x + self.weight
        model = Model()
        run = fast(model)
        with torch.no_grad():
            for _ in range(4):
                x = rand(4)
                for got, want in zip(run(x), model(x)):
                    self.same(got, want)

    def test_expanded_inputs(self):
        x = rand(1, 512).expand(4, 512)
        run = fast(lambda x: x + 1)
        with torch.no_grad():
            for _ in range(4):
                self.same(run(x), x + 1)
        self.assertGreater(self.stats().recordings, 0)

    def test_aliased_storage_single_weakref(self):
        @fast
        def run(x):
            y = x + 1
            return y, y[0:2], y.view(-1)
        with torch.no_grad():
            for _ in range(4):
                x = rand(4, 4)
                out = run(x)
                storages = {t.untyped_storage()._cdata for t in out}
                self.assertEqual(len(storages), 1)
                self.same(out[1], (x + 1)[0:2])

    def test_aliased_static_parameter(self):
        weight = torch.nn.Parameter(rand(8, 8))
        run = fast(lambda x, w: (w.t(), w[0], x @ w))
        with torch.no_grad():
            for _ in range(4):
                out = run(rand(8, 8), weight)
                for alias in out[:2]:
                    self.assertEqual(alias.untyped_storage()._cdata,
                                     weight.untyped_storage()._cdata)

    def test_output_alias(self):
        run = fast(lambda x: (x, x[1], x + 1))
        with torch.no_grad():
            for _ in range(4):
                x = rand(4, 4)
                out = run(x)
                self.assertEqual(out[0].untyped_storage()._cdata,
                                 out[1].untyped_storage()._cdata)
                self.same(out[1], x[1])

    def test_empty_storage(self):
        run = fast(lambda x: (x + x, torch.empty([0, 3], device="cuda"), (x + 1)[:0]))
        with torch.no_grad():
            for _ in range(4):
                x = rand(4)
                out = run(x)
                self.same(out[0], x + x)
                self.assertEqual([t.numel() for t in out[1:]], [0, 0])

    def test_empty_cpu_tensor(self):
        run = fast(lambda x: (x @ x, torch.tensor([])))
        with torch.no_grad():
            for _ in range(4):
                x = rand(8, 8)
                got, empty = run(x)
                self.near(got, x @ x)
                self.assertEqual(empty.numel(), 0)

    def test_live_outputs_multiple_graphs(self):
        first, second = fast(lambda x: x + 1, dynamic=False), fast(lambda x: x * 2, dynamic=False)
        with torch.no_grad():
            for _ in range(3):
                torch.compiler.cudagraph_mark_step_begin()
                kept = first(rand(4))
            value = kept.clone()
            self.assertEqual(self.manager.debug_checkpointing_counter, 0)
            got = second(rand(4))
            self.same(kept, value)
            self.assertEqual(self.manager.look()["held_outputs"], 2)
            del got
            self.assertEqual(self.manager.look()["held_outputs"], 1)
            self.assertGreater(self.manager.debug_checkpointing_counter, 0)

    def test_error_on_dealloc_use(self):
        run = fast(lambda x: x * x * x)
        with torch.no_grad():
            out = run(rand(10))
            again = run(rand(10))
            with self.assertRaisesRegex(RuntimeError, "overwritten by a subsequent"):
                out + out
            run(rand(10))
            with self.assertRaisesRegex(RuntimeError, "overwritten by a subsequent"):
                again + again

    def test_error_on_dealloc_use2(self):
        run = fast(lambda x: x * x * x)
        with torch.no_grad():
            out = run(rand(10)).detach()
            run(rand(10))
            with self.assertRaisesRegex(RuntimeError, r"x \* x \* x"):
                out + out

    def test_remove_hooks_on_cached_tensors(self):
        run = fast(lambda x: x * 2)
        x = rand(4, requires_grad=True)
        for _ in range(5):
            out = run(x)
            self.assertIsNone(out._backward_hooks)
            out.register_hook(lambda grad: grad)
            out.sum().backward()
            x.grad = None

    def test_cleanup(self):
        def inside():
            run = fast(lambda x: x + x)
            with torch.no_grad():
                return [run(rand(4)) for _ in range(3)]
        held = inside()
        torch._dynamo.reset()
        self.assertIsNone(self.manager)
        self.assertEqual(held[-1].shape, (4,))

    def test_feedback(self):
        run = fast(lambda x: 0.99 * x + 0.01)
        with torch.no_grad():
            x, want = rand(8), None
            want = x.clone()
            for _ in range(6):
                x, want = run(x), 0.99 * want + 0.01
                self.near(x, want)


class StepTest(GpuCase):
    """Forward, backward, generations, sizes, streams."""

    def test_forward_backward(self):
        def model(x):
            y = x @ x
            return y.cos() * y
        run, x = fast(model), rand(16, 16, requires_grad=True)
        for _ in range(5):
            run(x).sum().backward()
            got, x.grad = x.grad.clone(), None
            model(x).sum().backward()
            self.near(got, x.grad)
            x.grad = None
        self.assertEqual(self.descendants(), [1])
        self.assertGreater(self.stats().replays, 0)

    def test_accumulate_grad(self):
        run = fast(lambda x: x.sin() * 2)
        for _ in range(4):
            x = rand(8, requires_grad=True)
            loss = run(x).sum()
            loss.backward(retain_graph=True)
            once = x.grad.clone()
            loss.backward()
            self.near(x.grad, 2 * once)
            x.grad = None

    def test_separate_recordings(self):
        run = fast(lambda x: x + 1, dynamic=False)
        with torch.no_grad():
            for size in (4, 8):
                for _ in range(3):
                    run(rand(size))
        self.assertEqual(self.descendants(), [0, 0])

    def test_dynamic_warmup(self):
        run = fast(lambda x: x * x.shape[0], dynamic=True)
        with torch.no_grad():
            for size in (4, 6, 8):
                for _ in range(4):
                    x = rand(size)
                    self.near(run(x), x * size)
        self.assertGreaterEqual(self.stats().recordings, 3)

    def test_dynamic_backward(self):
        def model(x):
            return (x.sin() * x.shape[0]).cos()
        run = fast(model, dynamic=True)
        for size in (4, 8):
            for _ in range(4):
                x = rand(size, requires_grad=True)
                run(x).sum().backward()
                got, x.grad = x.grad.clone(), None
                model(x).sum().backward()
                self.near(got, x.grad)
                x.grad = None

    def test_forward_generation(self):
        one, two = fast(lambda x: x.sin()), fast(lambda x: x.cos())
        for _ in range(4):
            x = rand(8, requires_grad=True)
            y = two(one(x))
            self.assertTrue(self.manager.running_forwards_with_pending_backwards)
            y.sum().backward()
            self.assertFalse(self.manager.running_forwards_with_pending_backwards)
        self.assertGreaterEqual(self.stats().recordings, 1)

    def test_warn_on_pending_backward(self):
        run = fast(lambda x: x.sin() * x, dynamic=False)
        held = []
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            for _ in range(4):
                held.append(run(rand(4, requires_grad=True)))
        self.assertTrue(any("pending, uninvoked backwards" in str(w.message) for w in seen))
        self.assertEqual(self.stats().recordings, 0)

    def test_mark_step(self):
        run = fast(lambda x: x.sin() * x, dynamic=False)
        for _ in range(4):
            torch.compiler.cudagraph_mark_step_begin()
            run(rand(4, requires_grad=True))
        self.assertGreaterEqual(self.stats().recordings, 1)

    def test_incompatible_cudagraph_ops_item(self):
        @torch._dynamo.config.patch("capture_scalar_outputs", True)
        def item(x):
            return x.item() + 1
        run = fast(item)
        for value in (2.0, 5.0, 5.0):
            self.assertEqual(run(torch.tensor(value, device="cuda")), value + 1)

    def test_side_stream_memory_allocation(self):
        side = torch.cuda.Stream()

        def model(x):
            with torch.cuda.stream(side):
                y = torch.ones(10, device="cuda")
            torch.cuda.current_stream().wait_stream(side)
            return y + x
        run = fast(model)
        with torch.no_grad():
            for _ in range(4):
                torch.compiler.cudagraph_mark_step_begin()
                x = rand(10)
                self.near(run(x), x + 1)

    def test_warmup_stream_sync(self):
        x = rand(1024, 1024)

        def chain(x):
            for _ in range(20):
                x = (x @ x).tanh()
            return x
        want, run, stream = chain(x) + 1, fast(chain), torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.no_grad(), torch.cuda.stream(stream):
            for _ in range(4):
                got = run(x) + 1
        torch.cuda.current_stream().wait_stream(stream)
        self.near(got, want)

    def test_conv_benchmark(self):
        conv = torch.nn.Conv2d(8, 8, 3, padding=1).cuda()
        run, x = fast(conv), rand(2, 8, 16, 16)
        before = torch.backends.cudnn.benchmark
        torch.backends.cudnn.benchmark = True
        try:
            with torch.no_grad():
                for _ in range(4):
                    self.near(run(x), conv(x))
        finally:
            torch.backends.cudnn.benchmark = before

    def test_multi_dispatch_builtin_module(self):
        linear = torch.nn.Linear(8, 8).cuda()
        run = fast(linear)
        weights = [linear.weight, torch.nn.Parameter(rand(8, 8))]
        for weight in (0, 1, 0):
            linear.weight = weights[weight]
            for _ in range(4):
                x = rand(4, 8)
                run(x).sum().backward()
                got = linear.weight.grad.clone()
                linear.zero_grad()
                linear(x).sum().backward()
                self.near(got, linear.weight.grad)
                linear.zero_grad()
        self.assertEqual(self.skips, 0)

    def test_no_rerecord_with_mark_static_address(self):
        y = rand(8)
        torch._dynamo.mark_static_address(y)
        run = fast(lambda x, y: (x * y).sin())
        x = rand(8, requires_grad=True)
        for _ in range(5):
            run(x, y).sum().backward()
            x.grad = None
        self.assertEqual(self.stats().recordings, 2)


if __name__ == "__main__":
    unittest.main()
