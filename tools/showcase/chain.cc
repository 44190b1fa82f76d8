// The chain, its memory, and the two ways of running it.
#include "tools/showcase/chain.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "device/base/status_macros.h"
#include "device/graph.h"
#include "device/memory.h"
#include "device/stream.h"
#include "tests/kernels/kernels.h"
#include "tests/kernels/launches.h"

namespace graphtree {
namespace {

using Clock = std::chrono::steady_clock;

double NanosecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

// One mapped range of device memory, given back when it goes.
class MappedRange {
 public:
  static absl::StatusOr<std::unique_ptr<MappedRange>> Make(Memory& memory, uint64_t bytes) {
    const uint64_t granularity = memory.granularity();
    const uint64_t rounded = (bytes + granularity - 1) / granularity * granularity;
    GRAPHTREE_ASSIGN_OR_RETURN(std::unique_ptr<PhysicalMemory> physical, memory.Create(rounded));
    GRAPHTREE_ASSIGN_OR_RETURN(const AddressRange range, memory.Reserve(rounded, {}));
    std::unique_ptr<MappedRange> mapped(new MappedRange(memory, range, std::move(physical)));
    GRAPHTREE_RETURN_IF_ERROR(memory.Map(range.base, *mapped->physical_));
    mapped->mapped_ = true;
    GRAPHTREE_RETURN_IF_ERROR(memory.SetAccess(range, MemoryAccess::kReadWrite));
    return mapped;
  }
  ~MappedRange() {
    // Nothing better can be done here; the device's Close names what is left.
    if (mapped_) memory_.Unmap(range_).IgnoreError();
    memory_.Release(range_).IgnoreError();
  }
  AddressRange range() const { return range_; }

 private:
  MappedRange(Memory& memory, AddressRange range, std::unique_ptr<PhysicalMemory> physical)
      : memory_(memory), range_(range), physical_(std::move(physical)) {}

  Memory& memory_;
  const AddressRange range_;
  const std::unique_ptr<PhysicalMemory> physical_;
  bool mapped_ = false;
};

// Three ranges and what the chain does to them: every kernel reads what an earlier one wrote.
struct Chain {
  AddressRange all;
  AddressRange part[3];
  uint32_t ops;

  Chain(AddressRange memory, const ChainOptions& options) : ops(options.ops) {
    const uint64_t bytes = uint64_t{options.words} * sizeof(uint32_t);
    all = {memory.base, 3 * bytes};
    for (int i = 0; i < 3; ++i) part[i] = {memory.base + i * bytes, bytes};
  }

  absl::Status IssueOn(Stream& stream) const {
    for (uint32_t i = 0; i < ops; ++i) {
      if (i < 3) {
        GRAPHTREE_RETURN_IF_ERROR(FillPattern(stream, part[i], 1 + i));
      } else if (i % 2 == 0) {
        GRAPHTREE_RETURN_IF_ERROR(Increment(stream, part[i % 3], i));
      } else {
        GRAPHTREE_RETURN_IF_ERROR(Add(stream, part[i % 3], part[(i + 1) % 3], part[(i + 2) % 3]));
      }
    }
    return absl::OkStatus();
  }
};

absl::StatusOr<ChainTimes> Measure(Stream& stream, uint32_t rounds,
                                   const std::function<absl::Status()>& issue) {
  std::vector<double> issued, done;
  for (uint32_t round = 0; round < rounds; ++round) {
    const Clock::time_point start = Clock::now();
    GRAPHTREE_RETURN_IF_ERROR(issue());
    issued.push_back(NanosecondsSince(start));
    GRAPHTREE_RETURN_IF_ERROR(stream.Synchronize());
    done.push_back(NanosecondsSince(start));
  }
  return ChainTimes{Median(std::move(issued)), Median(std::move(done))};
}

absl::StatusOr<std::vector<uint32_t>> ReadBack(Stream& stream, AddressRange range,
                                               const HostBuffer& host) {
  GRAPHTREE_RETURN_IF_ERROR(stream.Copy(host.range().base, range.base, range.bytes));
  GRAPHTREE_RETURN_IF_ERROR(stream.Synchronize());
  std::vector<uint32_t> words(range.bytes / sizeof(uint32_t));
  std::memcpy(words.data(), host.data(), range.bytes);
  return words;
}

void Compare(const std::vector<uint32_t>& eager, const std::vector<uint32_t>& replay,
             ChainResult& result) {
  const auto* one = reinterpret_cast<const uint8_t*>(eager.data());
  const auto* two = reinterpret_cast<const uint8_t*>(replay.data());
  result.bytes_compared = eager.size() * sizeof(uint32_t);
  for (uint64_t i = 0; i < result.bytes_compared; ++i) result.bytes_different += one[i] != two[i];
  for (size_t i = 0; i < replay.size(); ++i) {
    result.checksum += MixedWord(replay[i], static_cast<uint32_t>(i));
  }
}

absl::StatusOr<std::unique_ptr<Executable>> Record(Stream& stream, const Chain& chain) {
  GRAPHTREE_RETURN_IF_ERROR(stream.BeginCapture(CaptureMode::kThreadLocal));
  const absl::Status issued = chain.IssueOn(stream);
  absl::StatusOr<std::unique_ptr<Graph>> graph = stream.EndCapture();
  GRAPHTREE_RETURN_IF_ERROR(issued);
  GRAPHTREE_RETURN_IF_ERROR(graph.status());
  return (*graph)->Instantiate();
}

}  // namespace

absl::StatusOr<ChainResult> RunChain(Device& device, const ChainOptions& options) {
  GRAPHTREE_ASSIGN_OR_RETURN(const auto mapped,
                             MappedRange::Make(device.memory(), 12 * uint64_t{options.words}));
  const Chain chain(mapped->range(), options);
  GRAPHTREE_ASSIGN_OR_RETURN(const auto host, device.memory().AllocateHost(chain.all.bytes));
  GRAPHTREE_ASSIGN_OR_RETURN(const auto stream, device.NewStream());
  const auto eager = [&] { return chain.IssueOn(*stream); };

  ChainResult result;
  result.ops = options.ops;
  GRAPHTREE_RETURN_IF_ERROR(eager());  // loads the kernels
  GRAPHTREE_ASSIGN_OR_RETURN(result.eager, Measure(*stream, options.rounds, eager));
  GRAPHTREE_ASSIGN_OR_RETURN(const auto eager_words, ReadBack(*stream, chain.all, *host));

  GRAPHTREE_ASSIGN_OR_RETURN(const auto executable, Record(*stream, chain));
  const auto replay = [&] { return executable->Launch(*stream); };
  GRAPHTREE_RETURN_IF_ERROR(stream->Fill(chain.all.base, 0, 1, chain.all.bytes));
  GRAPHTREE_ASSIGN_OR_RETURN(result.replay, Measure(*stream, options.rounds, replay));
  GRAPHTREE_ASSIGN_OR_RETURN(const auto replay_words, ReadBack(*stream, chain.all, *host));
  Compare(eager_words, replay_words, result);
  return result;
}

}  // namespace graphtree
