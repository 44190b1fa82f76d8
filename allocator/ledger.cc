// Allocating and freeing, and the list of changes since the last checkpoint.
#include "allocator/ledger.h"

#include <algorithm>
#include <bit>

#include "device/base/check.h"

namespace graphtree {
namespace {

constexpr uint64_t kMaxQuanta = 0xffffffffu;

}  // namespace

Ledger::Ledger(uint32_t step_limit, uint32_t kept_begin, uint32_t kept_limit, uint32_t salt,
               uint64_t origin)
    : step_(step_limit, origin),
      kept_(kept_limit, origin + kept_begin),
      kept_begin_(kept_begin),
      salt_(salt) {
  GRAPHTREE_CHECK(step_limit <= kept_begin) << step_limit << " and " << kept_begin;
}

[[gnu::always_inline]] inline bool Ledger::Prepare(const BlockRequest& request, uint64_t* length,
                                                   uint64_t* alignment, AllocateOutcome* outcome) {
  *outcome = AllocateOutcome::kTooLarge;
  if (request.bytes > kMaxQuanta * kQuantum) return false;
  *length = std::max<uint64_t>(1, (request.bytes + kQuantum - 1) / kQuantum);
  *outcome = AllocateOutcome::kBadAlignment;
  if (request.alignment != 0 && !IsPowerOfTwo(request.alignment)) return false;
  *alignment = std::max<uint64_t>(1, request.alignment / kQuantum);
  *outcome = AllocateOutcome::kTooLarge;
  if (*alignment > kMaxQuanta) return false;
  // The guard in front is as long as the alignment, so that the block behind it keeps it.
  if (request.guarded) *length += *alignment + 1;
  return *length <= kMaxQuanta;
}

[[gnu::always_inline]] inline Allocation Ledger::Enter(const BlockRequest& request,
                                                       uint64_t alignment, const Placed& placed) {
  Placement& placement = this->placement(request.region);
  const Run& run = placement.run(placed.run);
  const uint32_t index = records_.Take();
  placement.SetOwner(placed.run, index);
  BlockRecord& record = records_[index];
  record.offset = region_begin(request.region) + run.offset;
  record.length = run.length;
  record.run = placed.run;
  record.references = 0;
  record.change_slot = kNoId;
  record.streams = request.streams;
  record.tag = request.tag;
  record.note = request.note;
  record.guard = request.guarded ? static_cast<uint8_t>(std::bit_width(alignment)) : 0;
  record.region = request.region;
  record.in_use = true;
  record.keep = false;
  record.touched = false;
  record.wanted = false;
  record.doomed = false;
  record.unguarded = false;
  record.unused = 0;
  record.unused = static_cast<uint16_t>(record.requested_bytes() - request.bytes);
  if (request.region == Region::kKept) {
    if (watches_ > 0) NoteDeed(index, Deed::kAllocated);
  } else if (base_ != kNoId) {
    ListAllocated(index);
  }
  return {AllocateOutcome::kAllocated, IdOf(index), placed.last_use};
}

Allocation Ledger::Allocate(const BlockRequest& request) {
  uint64_t length = 0, alignment = 0;
  AllocateOutcome outcome;
  if (!Prepare(request, &length, &alignment, &outcome)) return {outcome, {}, {}};
  const Placed placed = placement(request.region)
                            .Allocate(static_cast<uint32_t>(length),
                                      static_cast<uint32_t>(alignment));
  if (placed.run == kNoId) return {AllocateOutcome::kOutOfSpace, {}, {}};
  return Enter(request, alignment, placed);
}

Allocation Ledger::AllocateAt(uint64_t offset, const BlockRequest& request) {
  uint64_t length = 0, alignment = 0;
  AllocateOutcome outcome;
  if (!Prepare(request, &length, &alignment, &outcome)) return {outcome, {}, {}};
  if (offset % kQuantum != 0) return {AllocateOutcome::kBadAlignment, {}, {}};
  const uint64_t begin = region_begin(request.region);
  const uint64_t at = offset / kQuantum;
  if (at < begin || at - begin > kMaxQuanta) return {AllocateOutcome::kOutOfSpace, {}, {}};
  const Placed placed =
      placement(request.region)
          .AllocateAt(static_cast<uint32_t>(at - begin), static_cast<uint32_t>(length));
  if (placed.outcome == PlaceOutcome::kOccupied) return {AllocateOutcome::kOccupied, {}, {}};
  if (placed.run == kNoId) return {AllocateOutcome::kOutOfSpace, {}, {}};
  return Enter(request, alignment, placed);
}

void Ledger::ListAllocated(uint32_t index) {
  records_[index].change_slot = static_cast<uint32_t>(changes_.size());
  ++records_[index].references;
  changes_.push_back(Change::Allocated(index));
}

// A slot from before the last checkpoint is told by the list: it has no such entry there.
bool Ledger::IsListedAsAllocated(uint32_t index) const {
  const uint32_t slot = records_[index].change_slot;
  return slot < changes_.size() && changes_[slot] == Change::Allocated(index);
}

// What was allocated since the last checkpoint leaves the list; what is older is listed as freed.
void Ledger::ListFreed(uint32_t index) {
  BlockRecord& record = records_[index];
  if (!IsListedAsAllocated(index)) {
    ++record.references;
    changes_.push_back(Change::Freed(index));
    return;
  }
  const Change moved = changes_.back();
  changes_[record.change_slot] = moved;
  if (!moved.is_free()) records_[moved.block()].change_slot = record.change_slot;
  changes_.pop_back();
  record.change_slot = kNoId;
  --record.references;
}

void Ledger::Unreference(uint32_t index) {
  BlockRecord& record = records_[index];
  GRAPHTREE_DCHECK(record.references > 0) << "block " << index;
  if (--record.references == 0 && !record.is_live()) Recycle(index);
}

void Ledger::Recycle(uint32_t index) {
  ++records_[index].generation;
  records_[index].in_use = false;
  records_.Give(index);
}

FreeOutcome Ledger::Free(BlockId id, uint32_t time) {
  const FreeOutcome outcome = Check(id);
  if (outcome == FreeOutcome::kFreed) FreeLive(id, time);
  return outcome;
}

void Ledger::FreeLive(BlockId id, uint32_t time) {
  BlockRecord& record = records_[id.index];
  placement(record.region).Free(record.run, {record.streams, time});
  record.run = kNoId;
  if (record.keep) SetKeep(id, false);
  if (record.region == Region::kKept) {
    if (watches_ > 0) NoteDeed(id.index, Deed::kFreed);
  } else if (base_ != kNoId) {
    ListFreed(id.index);
  }
  if (record.references == 0) Recycle(id.index);
}

BlockId Ledger::Find(uint32_t offset) const {
  const Region region = offset < kept_begin_ ? Region::kStep : Region::kKept;
  const Placement& placement = this->placement(region);
  const RunId run = placement.Find(offset - region_begin(region));
  if (run == kNoId || !placement.run(run).is_live()) return {};
  return IdOf(placement.run(run).owner());
}

size_t Ledger::bookkeeping_bytes() const {
  return records_.bytes() + step_.bookkeeping_bytes() + kept_.bookkeeping_bytes() + tree_.bytes() +
         changes_.capacity() * sizeof(Change) + footprint_.capacity() * sizeof(uint32_t) +
         deeds_.capacity() * sizeof(Deed);
}

}  // namespace graphtree
