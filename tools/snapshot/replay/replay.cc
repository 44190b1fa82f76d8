// Feeds a policy event by event and keeps the peaks.
#include "tools/snapshot/replay/replay.h"

#include <algorithm>
#include <map>
#include <utility>

#include "tools/snapshot/analysis/address_map.h"

namespace graphtree::snapshot {
namespace {

class Replayer {
 public:
  Replayer(const Snapshot& snapshot, const Side& side, const DeviceHistory& history,
           Policy& policy)
      : snapshot_(snapshot),
        map_(side, history.segments),
        history_(history),
        policy_(policy),
        inside_(history.allocations.size(), false) {}

  ReplayResult Run(const ReplayOptions& options);

 private:
  void AllocateAtStart();
  void Step(uint32_t event);
  void Allocate(uint32_t allocation, uint32_t event);
  void Free(uint32_t allocation);
  PolicyRequest RequestFor(uint32_t allocation);
  uint32_t NumberOf(std::map<std::string, uint32_t>& numbers, const std::string& name) {
    return numbers.try_emplace(name, static_cast<uint32_t>(numbers.size())).first->second;
  }
  uint32_t PoolNumber(PoolId pool);

  const Snapshot& snapshot_;
  const AddressMap map_;
  const DeviceHistory& history_;
  Policy& policy_;
  std::vector<bool> inside_;  // by allocation: the policy has it
  std::map<std::string, uint32_t> streams_;
  std::map<std::pair<uint64_t, uint64_t>, uint32_t> pools_ = {{{0, 0}, 0}};
  uint64_t requested_ = 0;
  uint64_t segment_address_ = 0;  // of a segment_alloc that no alloc has followed yet
  bool trimming_ = false;  // the last event gave a segment back
  ReplayResult result_;
};

uint32_t Replayer::PoolNumber(PoolId pool) {
  const auto key = snapshot_.Pool(pool);
  return pools_.try_emplace(key, static_cast<uint32_t>(pools_.size())).first->second;
}

PolicyRequest Replayer::RequestFor(uint32_t index) {
  const Allocation& life = history_.allocations[index];
  PolicyRequest request;
  request.segment_address = std::exchange(segment_address_, 0);
  request.key = index;
  request.size = life.size;
  request.pool = PoolNumber(life.pool);
  Value stream(Value::kInteger, 0);
  if (life.alloc != kNever) {
    stream = snapshot_.details[history_.Entry(snapshot_, life.alloc).details].stream;
  } else if (const Segment* segment = map_.Find(life.address); segment != nullptr) {
    stream = segment->stream;
  }
  request.stream = NumberOf(streams_, IntegerText(snapshot_.values, stream));
  return request;
}

void Replayer::Allocate(uint32_t index, uint32_t event) {
  if (history_.allocations[index].placeholder) return;
  if (policy_.Allocate(RequestFor(index))) {
    inside_[index] = true;
    requested_ += history_.allocations[index].size;
  } else {
    if (result_.failed++ == 0) result_.first_failure = event;
  }
  result_.peak_requested = std::max(result_.peak_requested, requested_);
  result_.peak_reserved = std::max(result_.peak_reserved, policy_.reserved());
}

void Replayer::Free(uint32_t index) {
  if (!inside_[index]) return;
  inside_[index] = false;
  requested_ -= history_.allocations[index].size;
  policy_.Free(index);
}

void Replayer::AllocateAtStart() {
  std::vector<uint32_t> unborn;
  for (uint32_t i = 0; i < history_.allocations.size(); ++i) {
    if (history_.allocations[i].born == kNever) unborn.push_back(i);
  }
  std::sort(unborn.begin(), unborn.end(), [&](uint32_t a, uint32_t b) {
    return history_.allocations[a].address < history_.allocations[b].address;
  });
  for (uint32_t index : unborn) Allocate(index, kNever);
}

void Replayer::Step(uint32_t event) {
  const TraceEntry& entry = history_.Entry(snapshot_, event);
  const bool gives_back = entry.action == words::kSegmentFree ||
                          entry.action == words::kSegmentUnmap;
  if (gives_back && !trimming_) policy_.Trim();
  trimming_ = gives_back;
  if (entry.action == words::kSegmentAlloc) segment_address_ = entry.addr;
  if (entry.action == words::kOom) {
    PolicyRequest request;
    request.key = static_cast<uint32_t>(history_.allocations.size());
    request.size = entry.size;
    request.pool = PoolNumber(entry.pool);
    request.stream = NumberOf(
        streams_, IntegerText(snapshot_.values, snapshot_.details[entry.details].stream));
    result_.fits_failed_request = policy_.Allocate(request);
    result_.peak_reserved = std::max(result_.peak_reserved, policy_.reserved());
    if (*result_.fits_failed_request) policy_.Free(request.key);
    return;
  }
  for (const Moved& moved : history_.MovedAt(event)) {
    const bool came = history_.allocations[moved.allocation].born == event;
    came ? Allocate(moved.allocation, event) : Free(moved.allocation);
  }
  const uint32_t index = history_.allocation[event];
  if (index == kNever || entry.action == words::kAnnotate) return;
  const Allocation& life = history_.allocations[index];
  if (life.ends != kNever && event == life.born) Free(life.ends);
  if (event == life.born) Allocate(index, event);
  if (event == life.gone) Free(index);
}

ReplayResult Replayer::Run(const ReplayOptions& options) {
  AllocateAtStart();
  for (uint32_t event = 0; event < history_.rows.size(); ++event) {
    Step(event);
    if (event == options.until) break;
  }
  result_.policy = policy_.name();
  result_.reserved_at_end = policy_.reserved();
  result_.held_at_end = policy_.held();
  result_.largest_hole_at_end = policy_.LargestHole();
  result_.driver_calls = policy_.driver_calls();
  return std::move(result_);
}

}  // namespace

double ReplayResult::fragmentation() const {
  if (peak_reserved == 0) return 0;
  return 1 - static_cast<double>(peak_requested) / static_cast<double>(peak_reserved);
}

ReplayResult Replay(const Snapshot& snapshot, const Side& side, const DeviceHistory& history,
                    Policy& policy, const ReplayOptions& options) {
  return Replayer(snapshot, side, history, policy).Run(options);
}

ReplayResult AsRecorded(const Snapshot& snapshot, const Side& side,
                        const DeviceHistory& history) {
  ReplayResult result;
  result.policy = "as recorded";
  result.peak_requested = history.allocated_peak.bytes;
  result.peak_reserved = history.reserved_peak.bytes;
  for (uint32_t event = 0; event < history.rows.size(); ++event) {
    const StringId action = history.Entry(snapshot, event).action;
    result.driver_calls += action == words::kSegmentAlloc || action == words::kSegmentFree ||
                           action == words::kSegmentMap || action == words::kSegmentUnmap;
    if (action == words::kOom) {
      ++result.failed;
      if (result.first_failure == kNever) result.first_failure = event;
      result.fits_failed_request = false;
    }
  }
  const AddressMap map(side, history.segments);
  for (const Segment* segment : map.segments()) {
    result.reserved_at_end += segment->total_size;
    for (const Block& block : snapshot.BlocksOf(*segment)) {
      if (block.allocated()) {
        result.held_at_end += block.size;
      } else if (!block.pending()) {
        result.largest_hole_at_end = std::max(result.largest_hole_at_end, block.size);
      }
    }
  }
  return result;
}

}  // namespace graphtree::snapshot
