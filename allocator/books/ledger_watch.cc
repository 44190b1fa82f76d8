// Undoing what happened since a watch began, and moving unused blocks.
#include <algorithm>

#include "allocator/books/ledger.h"
#include "device/base/check.h"

namespace graphtree {

void Ledger::NoteDeed(uint32_t index, Deed::Kind kind) {
  ++records_[index].references;
  deeds_.push_back({index, kind});
}

void Ledger::EndWatch() {
  GRAPHTREE_CHECK(watches_ > 0) << "nobody watches";
  if (--watches_ > 0) return;
  for (const Deed& deed : deeds_) records_.Unreference(deed.block);
  deeds_.clear();
}

// Backwards, one by one: every state on the way was one that the books had, so each step fits.
void Ledger::UndoWatch(uint32_t mark, uint32_t time, std::vector<uint32_t>* dies,
                       std::vector<uint32_t>* wakes) {
  dies->clear();
  wakes->clear();
  for (size_t i = mark; i < deeds_.size(); ++i) {
    BlockRecord& record = records_[deeds_[i].block];
    if (record.touched || record.region != Region::kLasting) continue;
    record.touched = true;
    (record.is_live() ? dies : wakes)->push_back(deeds_[i].block);
  }
  while (deeds_.size() > mark) {
    const Deed deed = deeds_.back();
    deeds_.pop_back();
    switch (deed.kind) {
      case Deed::kAllocated: Kill(deed.block, time); break;
      case Deed::kFreed:
        GRAPHTREE_CHECK(Wake(deed.block)) << "block " << deed.block << " cannot be put back";
        break;
    }
    records_[deed.block].touched = false;
    records_.Unreference(deed.block);
  }
  // Blocks that are as they were before belong to neither list.
  const auto is_live = [this](uint32_t index) { return records_[index].is_live(); };
  dies->erase(std::remove_if(dies->begin(), dies->end(), is_live), dies->end());
  const auto is_dead = [this](uint32_t index) { return !records_[index].is_live(); };
  wakes->erase(std::remove_if(wakes->begin(), wakes->end(), is_dead), wakes->end());
  EndWatch();
}

bool Ledger::Move(BlockId id, const Placement::FirstPlace& first_place, bool with_tail,
                  LastUse* last_use) {
  BlockRecord& record = records_[id.index];
  Placement& placement = this->placement(record.region);
  // Nobody has used the block: the bytes are left with the users that they had before.
  const uint32_t streams = record.streams;
  record.streams = last_use->streams;
  Kill(id.index, last_use->time);
  const Placed placed = placement.AllocateWhere(record.length, first_place, with_tail);
  if (placed.run == kNoId) {
    GRAPHTREE_CHECK(Wake(id.index)) << "block " << id.index << " cannot be put back";
    record.streams = streams;
    return false;
  }
  record.streams = streams;
  placement.SetOwner(placed.run, id.index);
  record.run = placed.run;
  record.offset = region_begin(record.region) + placement.run(placed.run).offset;
  *last_use = placed.last_use;
  return true;
}

}  // namespace graphtree
