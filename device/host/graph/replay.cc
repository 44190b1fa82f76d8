// Patching beside launches in flight, and counting down a launch's ops.
#include "device/host/graph/replay.h"

#include <algorithm>
#include <utility>

#include "device/base/check.h"

namespace graphtree::host {

Replay::Replay(std::shared_ptr<const std::vector<Op>> ops, const std::vector<Work>& works)
    : ops_(std::move(ops)), plan_(*ops_), entries_(works.size()) {
  for (size_t i = 0; i < works.size(); ++i) {
    auto work = std::make_unique<Work>();
    work->CopyFrom(works[i]);
    entries_[i].work = std::move(work);
  }
  for (const Op& op : *ops_) {
    if (op.kind != OpKind::kEventRecord) continue;
    const uint32_t* const before = plan_.place(op.id).before;
    event_ops_.push_back({op.id, false, 0,
                          std::make_shared<const std::vector<uint32_t>>(
                              before, before + plan_.chain_count())});
  }
}

std::unique_ptr<Replay::Entry> Replay::TakeUnneeded(Entry& newest) const {
  Entry* entry = &newest;
  if (!in_flight_.empty()) {
    while (entry->older != nullptr && entry->since > in_flight_.front()) entry = entry->older.get();
  }
  return std::move(entry->older);
}

std::unique_ptr<Replay::Entry> Replay::Replace(uint32_t op, Work work) {
  Entry& entry = entries_[op];
  auto older = std::make_unique<Entry>(std::move(entry));
  entry = Entry{std::make_unique<const Work>(std::move(work)), ++patches_, std::move(older)};
  extents_stale_ = true;
  return TakeUnneeded(entry);
}

void Replay::Patch(uint32_t op, Work work) { Replace(op, std::move(work)); }

std::vector<std::shared_ptr<const void>> Replay::PatchAll(const std::vector<Work>& works) {
  GRAPHTREE_CHECK(works.size() == entries_.size());
  std::vector<std::shared_ptr<const void>> unneeded;
  for (uint32_t i = 0; i < works.size(); ++i) {
    Work copy;
    copy.CopyFrom(works[i]);
    unneeded.push_back(std::shared_ptr<const Entry>(Replace(i, std::move(copy))));
  }
  return unneeded;
}

uint64_t Replay::Issued() {
  in_flight_.push_back(patches_);
  return patches_;
}

void Replay::Start(std::vector<uint32_t>& ready) {
  waits_left_ = plan_.waits_for();
  left_ = plan_.op_count();
  for (uint32_t op = 0; op < left_; ++op) {
    if (waits_left_[op] == 0) ready.push_back(op);
  }
}

void Replay::Finish(uint32_t op, std::vector<uint32_t>& ready) {
  --left_;
  for (uint32_t follower : plan_.followers(op)) {
    if (--waits_left_[follower] == 0) ready.push_back(follower);
  }
}

void Replay::CollectExtents() {
  extents_.clear();
  extents_opaque_ = false;
  for (const Entry& newest : entries_) {
    for (const Entry* entry = &newest; entry != nullptr; entry = entry->older.get()) {
      extents_opaque_ = extents_opaque_ || entry->work->MayTouchUnnamed();
      for (const Footprint& print : entry->work->footprints()) extents_.push_back(print.range);
    }
  }
  std::sort(extents_.begin(), extents_.end(),
            [](const AddressRange& a, const AddressRange& b) { return a.base < b.base; });
  size_t kept = 0;
  for (const AddressRange& next : extents_) {
    if (kept > 0 && next.base <= extents_[kept - 1].end()) {
      AddressRange& last = extents_[kept - 1];
      last.bytes = std::max(last.end(), next.end()) - last.base;
    } else {
      extents_[kept++] = next;
    }
  }
  extents_.resize(kept);
  extents_stale_ = false;
}

bool Replay::Touches(AddressRange range) {
  if (extents_stale_) CollectExtents();
  if (extents_opaque_) return true;
  const auto behind =
      std::lower_bound(extents_.begin(), extents_.end(), range.end(),
                       [](const AddressRange& a, Address end) { return a.base < end; });
  return behind != extents_.begin() && std::prev(behind)->Overlaps(range);
}

}  // namespace graphtree::host
