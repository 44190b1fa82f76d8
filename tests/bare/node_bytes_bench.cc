// What a node of the tree holds on the host, beside what the same graph takes by bare calls.
//
// Counted are the bytes that operator new has given out and not got back, as the allocator rounds
// them; CUDA's own are counted on both sides, as far as it takes them there. A program of its own,
// because it replaces operator new.
#include <malloc.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <string>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "tests/bare/shapes_world.h"
#include "tools/benching/row.h"

namespace {

std::atomic<int64_t> held_bytes{0};

void* Counted(std::size_t bytes, std::size_t alignment) {
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
  if (memory == nullptr) std::abort();
  held_bytes.fetch_add(static_cast<int64_t>(malloc_usable_size(memory)),
                       std::memory_order_relaxed);
  return memory;
}

void Released(void* memory) {
  if (memory == nullptr) return;
  held_bytes.fetch_sub(static_cast<int64_t>(malloc_usable_size(memory)),
                       std::memory_order_relaxed);
  std::free(memory);
}

}  // namespace

void* operator new(std::size_t bytes) { return Counted(bytes, alignof(std::max_align_t)); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return Counted(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { Released(memory); }
void operator delete(void* memory, std::size_t) noexcept { Released(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { Released(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { Released(memory); }

namespace graphtree {
namespace {

using bench::Measurement;
using bench::Outcome;
using bench::RegisterRow;
using bench::Skipped;

constexpr uint32_t kFirst = 16;  // shapes that fill what is made once
constexpr uint32_t kMore = 64;   // shapes that are counted

// Bytes that each of kMore more shapes holds.
absl::StatusOr<double> BytesOfEach(const std::function<absl::Status(uint32_t)>& make,
                                   ShapesWorld& world) {
  for (uint32_t shape = 0; shape < kFirst; ++shape) GRAPHTREE_RETURN_IF_ERROR(make(shape));
  GRAPHTREE_RETURN_IF_ERROR(world.Drain());
  const int64_t before = held_bytes.load();
  for (uint32_t shape = kFirst; shape < kFirst + kMore; ++shape) {
    GRAPHTREE_RETURN_IF_ERROR(make(shape));
  }
  GRAPHTREE_RETURN_IF_ERROR(world.Drain());
  return static_cast<double>(held_bytes.load() - before) / kMore;
}

Outcome NodeBytes(const char* device) {
  absl::StatusOr<std::unique_ptr<ShapesWorld>> world =
      ShapesWorld::Make(device, kFirst + kMore, 100);
  if (!world.ok()) return Skipped(std::string(world.status().message()));
  ShapesWorld& w = **world;
  Measurement bytes;
  GRAPHTREE_RETURN_IF_ERROR(w.OpenTree({}));
  // Warmed up, recorded, replayed.
  const auto record = [&](uint32_t shape) {
    for (int call = 0; call < 3; ++call) GRAPHTREE_RETURN_IF_ERROR(w.Call(shape));
    return absl::OkStatus();
  };
  GRAPHTREE_ASSIGN_OR_RETURN(bytes.ours, BytesOfEach(record, w));
  if (w.stats().nodes != kFirst + kMore) {
    return absl::InternalError(absl::StrCat(w.stats().nodes, " nodes"));
  }
  w.Forget();
  GRAPHTREE_ASSIGN_OR_RETURN(
      bytes.baseline, BytesOfEach([&](uint32_t shape) { return w.MeetBare(shape); }, w));
  return bytes;
}

bool RegisterAll() {
  for (const char* device : {"host", "cuda"}) {
    RegisterRow({.name = absl::StrCat("tree.", device, ".node_bytes.100"),
                 .ours = "host memory of a node of 100 kernels",
                 .against = "of the same graph and executable by bare calls",
                 .unit = "B",
                 .goal = "difference <= 16 KiB"},
                [device] { return NodeBytes(device); });
  }
  return true;
}

[[maybe_unused]] const bool registered = RegisterAll();

}  // namespace
}  // namespace graphtree
