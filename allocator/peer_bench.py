#!/usr/bin/env python3
"""Our pool beside PyTorch's caching allocator: the same calls, in one run, on one GPU.

    allocator/peer_bench.py POOL_GPU_BENCH

POOL_GPU_BENCH is the built bench (bazel-bin/allocator/pool_gpu_bench). Needs a
GPU and a CUDA build of PyTorch with a compiler. PyTorch's allocator is called
from C++, as ours is, so Python costs neither side anything.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

PROBE = r"""
#include <c10/cuda/CUDACachingAllocator.h>
#include <torch/extension.h>
#include <chrono>
#include <random>
#include <vector>

namespace {
using Clock = std::chrono::steady_clock;
double NanosecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

double WarmPair(int64_t bytes, int64_t calls) {
  auto* allocator = c10::cuda::CUDACachingAllocator::get();
  allocator->raw_delete(allocator->raw_alloc(bytes));
  const auto start = Clock::now();
  for (int64_t i = 0; i < calls; ++i) allocator->raw_delete(allocator->raw_alloc(bytes));
  return NanosecondsSince(start) / static_cast<double>(calls);
}

// Sizes are 512 bytes times a power of two up to 2^13, as in the bench that this stands beside.
double MixedPair(int64_t live, int64_t calls) {
  auto* allocator = c10::cuda::CUDACachingAllocator::get();
  std::mt19937_64 random(1);
  std::vector<void*> blocks;
  for (int64_t i = 0; i < live; ++i) {
    blocks.push_back(allocator->raw_alloc(size_t{512} << random() % 14));
  }
  std::vector<size_t> victims(4096), sizes(4096);
  for (size_t& victim : victims) victim = random() % blocks.size();
  for (size_t& size : sizes) size = size_t{512} << random() % 14;
  const auto start = Clock::now();
  for (int64_t i = 0; i < calls; ++i) {
    void*& block = blocks[victims[i & 4095]];
    allocator->raw_delete(block);
    block = allocator->raw_alloc(sizes[i & 4095]);
  }
  const double ns = NanosecondsSince(start) / static_cast<double>(calls);
  for (void* block : blocks) allocator->raw_delete(block);
  return ns;
}
}  // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) {
  module.def("warm_pair", &WarmPair);
  module.def("mixed_pair", &MixedPair);
}
"""


def measure_peer():
    """Nanoseconds by the name of our row."""
    import torch
    from torch.utils import cpp_extension

    torch.zeros(1, device="cuda")
    folder = pathlib.Path(tempfile.mkdtemp())
    source = folder / "probe.cpp"
    source.write_text(PROBE)
    probe = cpp_extension.load(
        "allocator_probe",
        [str(source)],
        build_directory=str(folder),
        with_cuda=True,
        extra_cflags=["-O2"],
    )
    rows = {}
    for size in (512, 1 << 20, 32 << 20):
        warm = min(probe.warm_pair(size, 20000) for _ in range(5))
        rows[f"allocator.pool.gpu.warm_pair.{size}"] = warm
    mixed = min(probe.mixed_pair(10000, 50000) for _ in range(5))
    rows["allocator.pool.gpu.mixed_pair.10000_live"] = mixed
    return torch.__version__, rows


def measure_ours(bench):
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        subprocess.run([bench, "--json", out.name, "_pair"], stdout=subprocess.DEVNULL, check=False)
        report = json.load(open(out.name, encoding="utf-8"))
    return {row["name"]: row.get("ours") for row in report["rows"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bench", help="the built pool_gpu_bench")
    arguments = parser.parse_args()
    try:
        version, peer = measure_peer()
    except Exception as error:  # no torch, no GPU, no compiler: all of them end the comparison
        print(f"PyTorch's allocator cannot be measured here: {error}", file=sys.stderr)
        return 1
    ours = measure_ours(arguments.bench)
    print(f"{'row':<44} {'ours':>10} {'PyTorch ' + version:>22} {'ratio':>7}")
    for name, theirs in peer.items():
        if ours.get(name) is None:
            print(f"{name:<44} {'-':>10} {theirs:>19.1f} ns")
            continue
        print(f"{name:<44} {ours[name]:>7.1f} ns {theirs:>19.1f} ns {ours[name] / theirs:>7.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
