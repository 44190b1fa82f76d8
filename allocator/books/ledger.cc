// Allocating and freeing.
#include "allocator/books/ledger.h"

#include <algorithm>
#include <bit>

#include "device/base/check.h"

namespace graphtree {
namespace {

constexpr uint64_t kMaxQuanta = 0xffffffffu;

}  // namespace

Ledger::Ledger(uint32_t step_limit, uint32_t lasting_begin, uint32_t lasting_limit, uint32_t salt,
               uint64_t origin)
    : records_(salt),
      step_(step_limit, origin),
      lasting_(lasting_limit, origin + lasting_begin),
      lasting_begin_(lasting_begin) {
  GRAPHTREE_CHECK(step_limit <= lasting_begin) << step_limit << " and " << lasting_begin;
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
  // The guard in front is as long as the alignment, so that the block after it stays aligned.
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
  record.touched = false;
  record.wanted = false;
  record.doomed = false;
  record.unguarded = false;
  record.unused = 0;
  record.unused = static_cast<uint16_t>(record.requested_bytes() - request.bytes);
  if (request.region == Region::kLasting) {
    if (watches_ > 0) NoteDeed(index, Deed::kAllocated);
  } else if (book_.is_listing()) {
    book_.ListAllocated(records_, index);
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

HandleState Ledger::Free(BlockId id, uint32_t time) {
  const HandleState outcome = Check(id);
  if (outcome == HandleState::kLive) FreeLive(id, time);
  return outcome;
}

void Ledger::FreeLive(BlockId id, uint32_t time) {
  BlockRecord& record = records_[id.index];
  placement(record.region).Free(record.run, {record.streams, time});
  record.run = kNoId;
  if (record.region == Region::kLasting) {
    if (watches_ > 0) NoteDeed(id.index, Deed::kFreed);
  } else if (book_.is_listing()) {
    book_.ListFreed(records_, id.index);
  }
  if (record.references == 0) records_.Recycle(id.index);
}

BlockId Ledger::Find(uint32_t offset) const {
  const Region region = offset < lasting_begin_ ? Region::kStep : Region::kLasting;
  const Placement& placement = this->placement(region);
  const RunId run = placement.Find(offset - region_begin(region));
  if (run == kNoId || !placement.run(run).is_live()) return {};
  return IdOf(placement.run(run).owner());
}

size_t Ledger::bookkeeping_bytes() const {
  return records_.bytes() + step_.bookkeeping_bytes() + lasting_.bookkeeping_bytes() +
         book_.bytes() + deeds_.capacity() * sizeof(Deed);
}

void Ledger::CheckConsistency() const {
  step_.CheckConsistency();
  lasting_.CheckConsistency();
  uint32_t live = 0;
  for (Region region : {Region::kStep, Region::kLasting}) {
    const Placement& placement = this->placement(region);
    for (RunId id = placement.first(); id != kNoId; id = placement.run(id).next) {
      const Run& run = placement.run(id);
      if (!run.is_live()) continue;
      const BlockRecord& record = records_[run.owner()];
      GRAPHTREE_CHECK(record.run == id && record.length == run.length) << "run " << id;
      GRAPHTREE_CHECK(record.offset == region_begin(region) + run.offset) << "run " << id;
      ++live;
    }
  }
  uint32_t entries = 0;
  for (Change change : book_.changes()) {
    const BlockRecord& record = records_[change.block()];
    GRAPHTREE_CHECK(record.is_live() != change.is_free() && record.references > 0)
        << "block " << change.block();
    ++entries;
  }
  GRAPHTREE_CHECK(book_.is_listing() || entries == 0) << entries << " changes and no checkpoint";
  GRAPHTREE_CHECK(live <= records_.taken()) << live << " live blocks";
  GRAPHTREE_CHECK(book_.tree().count() > 0 || live == records_.taken())
      << records_.taken() << " records for " << live << " live blocks and no checkpoint";
}

}  // namespace graphtree
