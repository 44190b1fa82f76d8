// Fragmentation on recorded histories: ours against that of the allocator that recorded them.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "allocator/pool.h"
#include "allocator/pool_types.h"
#include "device/host/host_device.h"
#include "tools/benching/row.h"
#include "tools/snapshot/read/read.h"
#include "tools/snapshot/replay/trace_replay.h"

namespace graphtree::bench {
namespace {

// In thousandths of what is reserved at the peak, of pieces of memory as they are mapped.
Outcome Fragmentation(const std::string& path) {
  auto snapshot = snapshot::ReadSnapshot(path);
  if (!snapshot.ok()) return Skipped(snapshot.status().ToString());
  auto device = OpenHostDevice({.memory_bytes = uint64_t{8} << 30, .poison = false});
  if (!device.ok()) return device.status();
  auto stream = (*device)->NewStream();
  if (!stream.ok()) return stream.status();
  for (const snapshot::Trace& trace : (*snapshot)->gpu.traces) {
    if (trace.entry_count == 0) continue;
    auto pool = Pool::Create(**device, {.tell_device = false});
    if (!pool.ok()) return pool.status();
    auto replayed = ReplayTrace(**snapshot, trace, **pool, **stream);
    if (!replayed.ok()) return replayed.status();
    return Measurement{.ours = replayed->ours() * 1000, .baseline = replayed->theirs() * 1000};
  }
  return Skipped("no trace in " + path);
}

[[maybe_unused]] const bool kRows = [] {
  for (const char* name :
       {"cpp_writer_2_11", "expandable_two_streams", "leak_step39", "leak_step9", "oom_fragmented",
        "reduce_overhead_batches_1_2_4_8", "torch_2_15_mixed", "train_step7"}) {
    RegisterRow({.name = absl::StrCat("allocator.fragmentation.", name),
                 .ours = "1 - live / mapped at the peak, in thousandths",
                 .against = "PyTorch's in the file",
                 .unit = "",
                 .goal = "difference < 0"},
                [name] {
                  return Fragmentation(
                      absl::StrCat("tools/snapshot/testdata/", name, ".pickle"));
                });
  }
  return true;
}();

}  // namespace
}  // namespace graphtree::bench
