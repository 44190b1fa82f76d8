// Applying a restore.
#include "allocator/books/ledger.h"
#include "device/base/check.h"

namespace graphtree {

void Ledger::Kill(uint32_t index, uint32_t time) {
  BlockRecord& record = records_[index];
  placement(record.region).Free(record.run, {record.streams, time});
  record.run = kNoId;
}

bool Ledger::Wake(uint32_t index) {
  BlockRecord& record = records_[index];
  const uint32_t offset = record.offset - region_begin(record.region);
  const Placed placed = placement(record.region).AllocateAt(offset, record.length);
  if (placed.run == kNoId) return false;
  record.run = placed.run;
  // Earlier users of these bytes become users of the block, so that its next reuse waits for them.
  record.streams |= placed.last_use.streams;
  placement(record.region).SetOwner(placed.run, index);
  return true;
}

// REQUIRES: there is one.
BlockId Ledger::FirstLiveIn(uint32_t offset, uint32_t length) const {
  RunId id = step_.Find(offset);
  while (!step_.run(id).is_live()) id = step_.run(id).next;
  GRAPHTREE_CHECK(step_.run(id).offset < offset + length) << "nothing lives in " << length;
  return IdOf(step_.run(id).owner());
}

// All or nothing: placement depends on the live set alone, so putting the killed blocks back undoes
// everything.
bool Ledger::WakeAll(RestorePlan* plan, uint32_t time) {
  for (size_t i = 0; i < plan->wakes.size(); ++i) {
    if (Wake(plan->wakes[i])) continue;
    const BlockRecord& record = records_[plan->wakes[i]];
    plan->outcome = RestoreOutcome::kOverlap;
    plan->culprit = IdOf(plan->wakes[i]);
    plan->other = FirstLiveIn(record.offset, record.length);
    while (i-- > 0) Kill(plan->wakes[i], time);
    for (uint32_t index : plan->dies) {
      GRAPHTREE_CHECK(Wake(index)) << "block " << index << " cannot be put back";
    }
    return false;
  }
  return true;
}

RestoreOutcome Ledger::Apply(RestorePlan* plan, uint32_t time) {
  GRAPHTREE_CHECK(plan->outcome == RestoreOutcome::kReady) << "a plan that was refused";
  for (uint32_t index : plan->dies) Kill(index, time);
  if (!WakeAll(plan, time)) return plan->outcome;
  // The target becomes the base; what differs from it is where the caller overruled it.
  book_.Rebase(records_, plan->target, plan->freed, plan->guests);
  return RestoreOutcome::kReady;
}

}  // namespace graphtree
