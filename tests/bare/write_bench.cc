// Writing a step's data to where the device reads it, while the device does read it: what a copy
// costs depends on what the reading has done to the processor's caches.
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "device/memory.h"
#include "runtime/slots/copy_for_device.h"
#include "tests/bare/bare_calls.h"
#include "tests/bare/bench_device.h"
#include "tests/kernels/kernels.h"
#include "tools/benching/row.h"
#include "tools/benching/timing.h"

namespace graphtree {
namespace {

using bench::Outcome;
using bench::RegisterRow;
using bench::Skipped;

using CopyFunction = void (*)(uint8_t* to, const uint8_t* from, uint64_t bytes);

void PlainCopy(uint8_t* to, const uint8_t* from, uint64_t bytes) { std::memcpy(to, from, bytes); }

// Blocks of page-locked memory, and a kernel that reads one.
class WriteWorld {
 public:
  static constexpr uint64_t kBlocks = 16;
  static constexpr uint64_t kPieces = 8;

  absl::Status SetUp(uint64_t bytes) {
    bytes_ = bytes;
    data_.resize(bytes / kPieces, 3);
    GRAPHTREE_RETURN_IF_ERROR(on_.Open("cuda", bytes));
    GRAPHTREE_ASSIGN_OR_RETURN(blocks_, on_.device().memory().AllocateHost(kBlocks * bytes));
    std::memset(blocks_->data(), 0, blocks_->bytes());
    calls_ = BareCalls::Make(on_);
    const auto words = static_cast<uint32_t>(bytes / sizeof(uint32_t));
    read_.emplace(StridedCopyKernel(), LaunchShape{.grid = {words / 256}, .block = {256}},
                  std::vector<Argument>{Argument::Out(on_.memory()),
                                        Argument::In({AddressOf(blocks_->data()), bytes}),
                                        Argument::Value(uint32_t{1}), Argument::Value(words)});
    return calls_->Record({&*read_});
  }
  // Nanoseconds of the copies alone.
  double Write(CopyFunction copy, int64_t steps) {
    double ns = 0;
    for (int64_t i = 0; i < steps; ++i) {
      uint8_t* const block = static_cast<uint8_t*>(blocks_->data()) + next_++ % kBlocks * bytes_;
      const double start = bench::NowNs();
      for (uint64_t piece = 0; piece < kPieces; ++piece) {
        copy(block + piece * data_.size(), data_.data(), data_.size());
      }
      EndCopies();
      ns += bench::NowNs() - start;
      read_->Set(1, Argument::In({AddressOf(block), bytes_}));
      calls_->Launch(*read_);
    }
    return ns;
  }
  absl::Status Synchronize() { return calls_->Synchronize(); }

 private:
  uint64_t bytes_ = 0;
  BenchDevice on_;
  std::unique_ptr<HostBuffer> blocks_;
  std::unique_ptr<BareCalls> calls_;
  std::optional<BareKernel> read_;
  std::vector<uint8_t> data_;
  uint64_t next_ = 0;
};

Outcome Writes(uint64_t bytes, CopyFunction ours) {
  WriteWorld world;
  if (absl::Status made = world.SetUp(bytes); !made.ok()) {
    return Skipped(std::string(made.message()));
  }
  bench::TimingOptions options;
  options.most_calls = 12;
  options.batches = 301;
  options.between = [&world] { world.Synchronize().IgnoreError(); };
  const bench::Measurement pair =
      bench::CompareBatches([&](int64_t steps) { return world.Write(ours, steps); },
                            [&](int64_t steps) { return world.Write(PlainCopy, steps); }, options);
  if (absl::Status status = world.Synchronize(); !status.ok()) return status;
  return pair;
}

[[maybe_unused]] const bool registered = [] {
  for (const uint64_t bytes : {4096, 32768}) {
    RegisterRow({.name = absl::StrCat("runtime.write.cuda.", bytes),
                 .ours = absl::StrCat("8 copies, ", bytes, " B in all, as a step makes them here"),
                 .against = "8 plain copies",
                 .goal = "ratio <= 1.1"},
                [=] { return Writes(bytes, CopyForDevice); });
    RegisterRow({.name = absl::StrCat("runtime.write.cuda.", bytes, ".streamed"),
                 .ours = absl::StrCat("8 copies, ", bytes, " B in all, around the caches"),
                 .against = "8 plain copies"},
                [=] { return Writes(bytes, StreamCopy); });
  }
  return true;
}();

}  // namespace
}  // namespace graphtree
