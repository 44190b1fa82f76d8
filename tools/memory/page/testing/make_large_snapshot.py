"""Writes a snapshot pickle with as many trace entries as asked for.

The trace is that of a training loop: weights that stay, activations of each layer that pile up in
the forward pass and go in the backward pass, short-lived workspaces, a cache that grows slowly, and
a stack for every line of code. The same seed gives the same file.

  python3 make_large_snapshot.py OUT.pickle --entries 1000000 [--seed 1]
"""

import argparse
import bisect
import pickle
import random

MIB = 1 << 20
SEGMENT = 64 * MIB


class Allocator:
    """First fit over segments; good enough to give every allocation a place of its own."""

    def __init__(self, random_source, stacks):
        self.random = random_source
        self.stacks = stacks
        self.trace = []
        self.time_us = 1_790_000_000_000_000
        self.holes = []  # (address, size), sorted
        self.segments = []
        self.live = {}

    def note(self, action, address, size, stack):
        self.time_us += self.random.choice((1, 1, 2, 3, 5, 8, 40))
        self.trace.append({
            "action": action, "addr": address, "size": size, "stream": 0, "time_us": self.time_us,
            "compile_context": "N/A", "user_metadata": "", "frames": self.stacks[stack],
        })

    def place(self, size):
        for index, (address, room) in enumerate(self.holes):
            if room >= size:
                if room == size:
                    self.holes.pop(index)
                else:
                    self.holes[index] = (address + size, room - size)
                return address
        return None

    def allocate(self, size, stack):
        rounded = (size + 511) // 512 * 512
        address = self.place(rounded)
        if address is None:
            length = max(SEGMENT, (rounded + 2 * MIB - 1) // (2 * MIB) * (2 * MIB))
            base = 0x7F0000000000 + len(self.segments) * (1 << 32)
            self.segments.append((base, length))
            self.note("segment_alloc", base, length, stack)
            self.give_back(base, length)
            address = self.place(rounded)
        self.note("alloc", address, size, stack)
        self.live[address] = (size, rounded, stack)
        return address

    def give_back(self, address, size):
        index = bisect.bisect(self.holes, (address, 0))
        if index < len(self.holes) and self.holes[index][0] == address + size:
            size += self.holes.pop(index)[1]
        if index > 0 and sum(self.holes[index - 1]) == address:
            address, before = self.holes.pop(index - 1)
            size += before
            index -= 1
        self.holes.insert(index, (address, size))

    def free(self, address, stack):
        size, rounded, _ = self.live.pop(address)
        self.note("free_requested", address, size, stack)
        self.note("free_completed", address, size, stack)
        self.give_back(address, rounded)


def make_stacks(count):
    frames = [{"name": f"function_{i}", "filename": f"model/part_{i % 40}.py", "line": 10 + i}
              for i in range(count * 2)]
    outer = [{"name": name, "filename": "train.py", "line": line}
             for name, line in (("step", 88), ("epoch", 120), ("<module>", 200))]
    return [[frames[i], frames[(i * 7) % len(frames)], frames[(i * 13) % 50]] + outer
            for i in range(count)]


def train(allocator, entries, layers):
    source = allocator.random
    size_of = [source.choice((1, 2, 4, 4, 8, 16)) * MIB // 4 for _ in range(layers)]
    for layer in range(layers):
        allocator.allocate(size_of[layer] * 2, layer)
    step = 0
    while len(allocator.trace) < entries:
        saved = []
        for layer in range(layers):
            workspace = allocator.allocate(source.randrange(512, 64 * 1024), layers + layer)
            size = size_of[layer] + source.randrange(4) * 512
            saved.append(allocator.allocate(size, 2 * layers + layer))
            allocator.free(workspace, layers + layer)
        for layer in reversed(range(layers)):
            gradient = allocator.allocate(size_of[layer], 3 * layers + layer)
            allocator.free(saved.pop(), 4 * layers + layer)
            allocator.free(gradient, 4 * layers + layer)
        if step % 50 == 0:
            allocator.allocate(source.randrange(256, 4096), 5 * layers)
        step += 1


def segments_of(allocator):
    out = []
    starts = sorted(allocator.live)
    for base, length in sorted(allocator.segments):
        blocks, at = [], base
        inside = starts[bisect.bisect_left(starts, base):bisect.bisect_left(starts, base + length)]
        for address in inside + [base + length]:
            if address > at:
                blocks.append({"address": at, "size": address - at, "requested_size": 0,
                               "state": "inactive", "frames": []})
            if address < base + length:
                size, rounded, stack = allocator.live[address]
                blocks.append({"address": address, "size": rounded, "requested_size": size,
                               "state": "active_allocated", "frames": allocator.stacks[stack]})
                at = address + rounded
        held = sum(b["size"] for b in blocks if b["state"] == "active_allocated")
        out.append({
            "device": 0, "address": base, "total_size": length, "allocated_size": held,
            "active_size": held, "requested_size": sum(b["requested_size"] for b in blocks),
            "stream": 0, "segment_type": "large", "segment_pool_id": (0, 0), "is_expandable": False,
            "frames": [], "blocks": blocks,
        })
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out")
    parser.add_argument("--entries", type=int, default=1_000_000)
    parser.add_argument("--layers", type=int, default=96)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    allocator = Allocator(random.Random(arguments.seed), make_stacks(6 * arguments.layers))
    train(allocator, arguments.entries, arguments.layers)
    snapshot = {
        "segments": segments_of(allocator), "device_traces": [allocator.trace],
        "allocator_settings": {"expandable_segments": False}, "external_annotations": [],
    }
    with open(arguments.out, "wb") as out:
        pickle.dump(snapshot, out, protocol=4)


if __name__ == "__main__":
    main()
