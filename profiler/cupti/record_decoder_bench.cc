// How fast records are read: a buffer of CUPTI's size, of kernels, copies and fills.
#include <cstdint>
#include <cstring>
#include <vector>

#include "absl/strings/string_view.h"
#include "profiler/activity/activity.h"
#include "profiler/cupti/host_cupti.h"
#include "profiler/cupti/record_decoder.h"
#include "profiler/cupti/record_layout.h"
#include "tools/benching/row.h"

namespace graphtree::cupti {
namespace {

using bench::Measurement;
using bench::Outcome;

class Summing : public activity::ActivityListener {
 public:
  void Op(const activity::Activity& op) override {
    sum += static_cast<uint64_t>(op.end_ns - op.start_ns) + op.name.size();
  }
  void Dropped(uint64_t records) override { sum += records; }
  void Note(absl::string_view remark) override { sum += remark.size(); }

  uint64_t sum = 0;
};

template <typename Record>
void Append(Record record, size_t bytes, std::vector<uint8_t>& buffer) {
  record.start = 1;
  record.end = 1000;
  const size_t at = buffer.size();
  buffer.resize(at + bytes);
  std::memcpy(buffer.data() + at, &record, sizeof(record));
}

GRAPHTREE_ROW(Decode, {.name = "profiler.cupti.decode",
                       .ours = "one record read, in a buffer of 20,000",
                       .goal = "value <= 200 ns"}) {
  constexpr int kRecords = 20'000;
  std::vector<uint8_t> buffer;
  for (int i = 0; i < kRecords; ++i) {
    if (i % 10 == 8) {
      Append(CopyRecord(), kCopyBytes, buffer);
    } else if (i % 10 == 9) {
      Append(FillRecord(), kFillBytes, buffer);
    } else {
      KernelRecord kernel;
      kernel.name = "_ZN9somewhere6kernelIfLi128EEEvPKfPfi";
      Append(kernel, kKernelBytes, buffer);
    }
  }
  HostCupti walker({});
  Summing listener;
  DecodeCounts counts;
  Measurement whole = bench::Measure(
      [&] { DecodeBuffer(walker, buffer.data(), buffer.size(), listener, counts); },
      {.most_calls = 64});
  bench::DoNotOptimize(listener.sum);
  whole.ours /= kRecords;
  whole.spread /= kRecords;
  return whole;
}

}  // namespace
}  // namespace graphtree::cupti
