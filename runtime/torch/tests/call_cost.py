"""What a call costs on the host, beside torch's own trees and the floor, in one process.

    python3 runtime/torch/tests/call_cost.py

The floor is what dynamo and AOT's wrappers cost with a callable that launches nothing and returns
outputs that were made before. Of three turns the best one's median; the device is waited for
before each round.
"""

import sys
import time

import torch
from torch._inductor import cudagraph_trees as trees

import graphtree.torch


class Layers(torch.nn.Module):
    """Many inputs and a few outputs, of little work."""

    def __init__(self, layers, outputs):
        super().__init__()
        self.parts = torch.nn.ModuleList(torch.nn.Linear(16, 16) for _ in range(layers))
        self.outputs = outputs

    def forward(self, *xs):
        out = list(xs)
        for i, part in enumerate(self.parts):
            out[i % self.outputs] = part(out[i % self.outputs])
        return tuple(out)


def median(call, calls=20, rounds=200):
    """Microseconds."""
    times = []
    for _ in range(rounds):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(calls):
            call()
        times.append((time.perf_counter() - start) / calls * 1e6)
    return sorted(times)[len(times) // 2]


def floor_impl(model, inputs, *_args, **_named):
    """In the place of torch's: the model runs once, and its outputs are returned for ever."""
    state = {"inputs": len(inputs)}

    def run(given):
        if "outputs" not in state:
            state["outputs"] = model(given)
        given.clear()
        return list(state["outputs"])
    return run


def measure(model, xs):
    """Microseconds of one call."""
    run = torch.compile(model, mode="reduce-overhead")
    with torch.no_grad():
        for _ in range(8):
            run(*xs)
        return median(lambda: run(*xs))


def measure_all(model, xs):
    """(torch's trees, the floor, ours)."""
    torch._dynamo.reset()
    theirs = measure(model, xs)
    torch._dynamo.reset()
    theirs_impl = trees.cudagraphify_impl
    trees.cudagraphify_impl = floor_impl
    floor = measure(model, xs)
    trees.cudagraphify_impl = theirs_impl
    torch._dynamo.reset()
    with graphtree.torch.scope():
        ours = measure(model, xs)
        torch._dynamo.reset()
    return theirs, floor, ours


def main():
    """Prints a table."""
    print("torch %s, %s" % (torch.__version__, torch.cuda.get_device_name()))
    print("| inputs | floor | torch's trees | Graphtree | theirs over | ours over | ratio |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for layers, outputs in ((1, 1), (16, 2), (60, 8)):
        model = Layers(layers, outputs).cuda().eval()
        xs = [torch.randn(4, 16, device="cuda") for _ in range(outputs)]
        rounds = [measure_all(model, xs) for _ in range(3)]
        theirs, floor, ours = (min(times) for times in zip(*rounds))
        print("| %d | %.1f | %.1f | %.1f | %.1f | %.1f | %.1f |" % (
            2 * layers + outputs, floor, theirs, ours, theirs - floor, ours - floor,
            (theirs - floor) / (ours - floor)))
        sys.stdout.flush()


if __name__ == "__main__":
    main()
