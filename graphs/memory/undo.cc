// Copies bytes to saved memory, and back.
#include "graphs/memory/undo.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"

namespace graphtree {

// Splits the range where a block ends of which a checking device was told: smaller blocks may lie
// there by now, and a copy may not go beyond a block's end. Bytes between blocks are nobody's.
absl::Status Undo::CopyAway(Stream& stream, AddressRange range, Address target) {
  Memory& device = memory_->pool().arena().device().memory();
  for (const AddressRange part : device.UsableParts(range)) {
    GRAPHTREE_RETURN_IF_ERROR(
        stream.Copy(target + (part.base - range.base), part.base, part.bytes));
  }
  return absl::OkStatus();
}

absl::Status Undo::SaveOn(Stream& stream, AddressRange range) {
  absl::StatusOr<Storage*> storage = memory_->Allocate(Region::kLasting, tag_, range.bytes, stream);
  if (!storage.ok()) {
    return absl::Status(storage.status().code(),
                        absl::StrCat("saving ", range.bytes, " bytes that the call overwrites, in "
                                     "case it fails afterwards: ", storage.status().message()));
  }
  // The handle has no layout, as it only holds the storage.
  Value copy = Tensor::Over(*storage, nullptr, (*storage)->range().base);
  GRAPHTREE_RETURN_IF_ERROR(CopyAway(stream, range, copy.word()));
  if (&stream != &stream_) {
    GRAPHTREE_RETURN_IF_ERROR(memory_->pool().UseOn(Unpack((*storage)->block), stream_));
  }
  Memory& device = memory_->pool().arena().device().memory();
  const bool may_go = !memory_->IsOwn(range) && device.CheckLive(range).ok();
  saved_.push_back({range, std::move(copy), may_go});
  return absl::OkStatus();
}

void Undo::TrySaveWrites(Stream& stream, const Tensor& tensor, SpoiltRanges* spoilt) {
  memory_->HoldOfOthers(tensor, &held_);
  for (const AddressRange range :
       spoilt->Written(tensor.raw_bytes(), tensor.storage() != nullptr)) {
    TrySaveOn(stream, range);
  }
}

// A copy back beside work that may still write there would end in anybody's bytes.
absl::Status Undo::Restore() {
  absl::Status first;
  if (!saved_.empty() && !memory_->stray_forks().why().ok()) {
    saved_.clear();
    first = absl::FailedPreconditionError("work on a stream that was forked may still write there");
  }
  for (const Saved& saved : saved_) {
    // The block of these bytes may be dead in the books by now.
    Memory& device = memory_->pool().arena().device().memory();
    if (!device.CheckLive(saved.range).ok()) {
      device.NoteRevived(saved.range, memory_->pool().journal().Text(tag_));
      // Its owner has let it go, as a library does with a workspace that it makes larger.
      if (saved.may_go && !device.CheckLive(saved.range).ok()) continue;
    }
    first.Update(stream_.Copy(saved.range.base, saved.copy.word(), saved.range.bytes));
  }
  saved_.clear();
  memory_->TellOwners(held_, stream_);
  held_.clear();
  first.Update(std::exchange(unsaved_, absl::OkStatus()));
  return first;
}

}  // namespace graphtree
