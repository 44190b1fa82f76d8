// A fill that waits is a list of ranges; what ops take out of it leaves holes.
#include "device/host/engine/waiting_fills.h"

#include <algorithm>
#include <utility>

#include "device/base/check.h"

namespace graphtree::host {

void WaitingFills::Add(ByteFill fill, uint64_t issued, absl::Span<Unit* const> units) {
  GRAPHTREE_CHECK(!units.empty());
  const auto job =
      std::make_shared<Job>(Job{issued, units.size(), fill.byte, {fill.range}});
  for (Unit* unit : units) {
    unit->poisons = true;
    behind_[unit].push_back(job);
  }
  jobs_.push_back(job);
}

std::vector<ByteFill> WaitingFills::Over(const Unit& unit) {
  const auto found = behind_.find(&unit);
  GRAPHTREE_CHECK(found != behind_.end());
  std::vector<ByteFill> fills;
  for (const std::shared_ptr<Job>& job : found->second) {
    if (--job->units_left > 0) continue;
    for (const AddressRange& part : std::exchange(job->parts, {})) {
      fills.push_back({part, job->byte});
    }
  }
  behind_.erase(found);
  DropDone();
  return fills;
}

std::vector<ByteFill> WaitingFills::Starts(uint64_t number, const Work& work) {
  std::vector<ByteFill> fills;
  for (const std::shared_ptr<Job>& job : jobs_) {
    if (job->issued >= number) break;
    for (const Footprint& print : work.footprints()) TakeOut(print.range, *job, &fills);
    if (work.opaque()) job->parts.clear();
  }
  if (!fills.empty() || work.opaque()) DropDone();
  return fills;
}

void WaitingFills::TakeOut(AddressRange range, Job& job, std::vector<ByteFill>* taken) {
  const auto overlaps = [range](const AddressRange& part) { return part.Overlaps(range); };
  if (std::none_of(job.parts.begin(), job.parts.end(), overlaps)) return;
  std::vector<AddressRange> left;
  for (const AddressRange& part : job.parts) {
    const Address from = std::max(part.base, range.base);
    const Address to = std::min(part.end(), range.end());
    if (from >= to) {
      left.push_back(part);
      continue;
    }
    taken->push_back({{from, to - from}, job.byte});
    if (part.base < from) left.push_back({part.base, from - part.base});
    if (to < part.end()) left.push_back({to, part.end() - to});
  }
  job.parts = std::move(left);
}

void WaitingFills::DropDone() {
  jobs_.erase(std::remove_if(jobs_.begin(), jobs_.end(),
                             [](const std::shared_ptr<Job>& job) { return job->parts.empty(); }),
              jobs_.end());
}

}  // namespace graphtree::host
