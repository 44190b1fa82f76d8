#!/usr/bin/env python3
"""What PyTorch's graph trees and caching allocator cost on this machine: the peer's side of the
figures, in the same rows as the project's benches, so that one run measures both.

    peers.py [NAME...] [--json FILE] [--list] [--smoke]

It needs PyTorch with CUDA and a GPU; without them every row says so. Host time is that of the call
alone: the device is waited for between batches, and batches are too short to fill its queue.
"""

import sys
import time

from rows import Figure, Row, Skip, figure_of, main

ELEMENTS = 256
LAYERS = 48      # of a matrix product and an activation: 96 kernels
SHAPES = 32


def torch_on_gpu():
    try:
        import torch
    except ImportError as error:
        raise Skip(f"needs PyTorch: {error}") from error
    if not torch.cuda.is_available():
        raise Skip("needs a GPU that PyTorch can use")
    return torch


def host_us(torch, call, smoke):
    """Host time of one call, in microseconds."""
    batches, calls = (3, 2) if smoke else (101, 20)
    samples = []
    for _ in range(batches):
        torch.cuda.synchronize()
        start = time.perf_counter_ns()
        for _ in range(calls):
            call()
        samples.append((time.perf_counter_ns() - start) / calls / 1e3)
    torch.cuda.synchronize()
    return figure_of(samples)


def into_tree(function, inputs, static):
    """The function behind PyTorch's graph trees, without the guards of its compiler."""
    from torch._inductor.cudagraph_trees import cudagraphify_impl
    indices = tuple(range(len(inputs))) if static else ()
    return cudagraphify_impl(function, list(inputs), indices, device_index=0, is_backward=False,
                             is_inference=True)


def add_one(arguments):
    first = arguments[0]
    arguments.clear()
    return [first + 1]


def replay(inputs, static):
    """A replay with this many inputs; copied ones come from two places in turn."""
    def body(smoke):
        torch = torch_on_gpu()
        with torch.no_grad():
            sets = [[torch.rand(ELEMENTS, device="cuda") for _ in range(inputs)]
                    for _ in range(1 if static else 2)]
            function = into_tree(add_one, sets[0], static)
            turn = [0]

            def call():
                turn[0] += 1
                output = function(list(sets[turn[0] % len(sets)]))
                del output

            for _ in range(6):
                call()
            return host_us(torch, call, smoke)
    return body


def path_of_four(smoke):
    """Four functions, each consuming what the last one made."""
    torch = torch_on_gpu()

    def double():
        def function(arguments):
            first = arguments[0]
            arguments.clear()
            return [first * 2]
        return function

    with torch.no_grad():
        start = torch.rand(ELEMENTS, device="cuda")
        functions = [into_tree(double(), [start], False) for _ in range(4)]

        def call():
            current = start
            for function in functions:
                current = function([current])[0]

        for _ in range(8):
            call()
        return host_us(torch, call, smoke)


def layers_function(torch):
    weights = [torch.rand(ELEMENTS, ELEMENTS, device="cuda") * 0.01 for _ in range(LAYERS)]

    def function(arguments):
        current = arguments[0]
        arguments.clear()
        for weight in weights:
            current = torch.relu(current @ weight)
        return [current]

    return function


def cold_start(smoke):
    """Warm-up and recording of 32 batch sizes, as a server does when it starts."""
    torch = torch_on_gpu()
    function = layers_function(torch)
    with torch.no_grad():
        function([torch.rand(1, ELEMENTS, device="cuda")])  # loads what the kernels need
        torch.cuda.synchronize()
        start = time.perf_counter()
        for rows in range(1, (2 if smoke else SHAPES) + 1):
            batch = torch.rand(rows, ELEMENTS, device="cuda")
            recorded = into_tree(function, [batch], False)
            for _ in range(2):
                output = recorded([batch])
                del output
        torch.cuda.synchronize()
        return Figure((time.perf_counter() - start) * 1e3)


def compiled_call(mode):
    """What a user of torch.compile pays for a call of 48 layers, its guards included."""
    def body(smoke):
        torch = torch_on_gpu()
        torch._dynamo.reset()
        weights = [torch.rand(ELEMENTS, ELEMENTS, device="cuda") * 0.01 for _ in range(LAYERS)]
        batch = torch.rand(4, ELEMENTS, device="cuda")

        def layers(current):
            for weight in weights:
                current = torch.relu(current @ weight)
            return current

        function = layers if mode == "eager" else torch.compile(layers, mode=mode)
        with torch.no_grad():
            def call():
                torch.compiler.cudagraph_mark_step_begin()
                function(batch)

            for _ in range(6):
                call()
            return host_us(torch, call, smoke)
    return body


def pool_with_blocks(torch, blocks):
    """A private pool with this many blocks, every second one alive."""
    pool = torch.cuda.graph_pool_handle()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool, stream=torch.cuda.Stream()):
        made = [torch.empty(512 * (1 + i % 7), device="cuda") for i in range(blocks)]
        made[0].fill_(1)
    alive = made[::2]
    return graph, pool, alive


def checkpoint(blocks, restore):
    """Saving a pool's state, or going back to it, with this many blocks in the pool."""
    def body(smoke):
        torch = torch_on_gpu()
        graph, pool, alive = pool_with_blocks(torch, blocks)
        samples = []
        for _ in range(2 if smoke else 15):
            start = time.perf_counter_ns()
            state = torch._C._cuda_getCheckpointState(0, pool)
            middle = time.perf_counter_ns()
            torch._C._cuda_setCheckpointPoolState(0, state, [], [])
            end = time.perf_counter_ns()
            samples.append(((end - middle) if restore else (middle - start)) / 1e3)
        del graph, alive
        return figure_of(samples)
    return body


def allocate_and_free(size):
    """An empty tensor made and dropped, through Python."""
    def body(smoke):
        torch = torch_on_gpu()

        def call():
            torch.empty(size, dtype=torch.uint8, device="cuda")

        call()
        return host_us(torch, call, smoke)
    return body


def all_rows():
    rows = [
        Row("peer.torch.replay.static.1", "replay, 1 static input", "us", replay(1, True)),
        Row("peer.torch.replay.static.256", "replay, 256 static inputs", "us", replay(256, True)),
        Row("peer.torch.replay.copied.8", "replay, 8 copied inputs that moved", "us",
            replay(8, False)),
        Row("peer.torch.replay.copied.32", "replay, 32 copied inputs that moved", "us",
            replay(32, False)),
        Row("peer.torch.replay.path.4", "a path of four functions", "us", path_of_four),
        Row("peer.torch.cold_start", f"{SHAPES} shapes of {2 * LAYERS} kernels", "ms", cold_start),
        Row("peer.torch.call.eager", "48 layers called eagerly", "us", compiled_call("eager")),
        Row("peer.torch.call.reduce_overhead", "48 layers, torch.compile reduce-overhead", "us",
            compiled_call("reduce-overhead")),
    ]
    for blocks in (100, 1000, 5000):
        rows.append(Row(f"peer.torch.checkpoint.take.{blocks}",
                        f"a pool of {blocks} blocks saved", "us", checkpoint(blocks, False)))
        rows.append(Row(f"peer.torch.checkpoint.restore.{blocks}",
                        f"a pool of {blocks} blocks restored", "us", checkpoint(blocks, True)))
    for size, text in ((512, "512 B"), (1 << 20, "1 MiB"), (32 << 20, "32 MiB")):
        rows.append(Row(f"peer.torch.allocator.{size}",
                        f"torch.empty of {text}, made and dropped", "us", allocate_and_free(size)))
    return rows


if __name__ == "__main__":
    sys.exit(main(all_rows(), sys.argv[1:]))
