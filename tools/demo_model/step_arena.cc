// A pointer that moves forward.
#include "tools/demo_model/step_arena.h"

#include "absl/strings/str_cat.h"
#include "device/base/check.h"
#include "device/base/status_macros.h"

namespace graphtree::demo {

StepArena::~StepArena() { GRAPHTREE_CHECK(held_ == 0) << held_ << " tensors are still held"; }

absl::StatusOr<AddressRange> StepArena::Place(uint64_t bytes) {
  const uint64_t rounded = (bytes + 255) / 256 * 256;
  if (rounded > range_.bytes - used_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("an eager step asked for ", bytes, " bytes; ", range_.bytes - used_, " of ",
                     range_.bytes, " are left"));
  }
  const AddressRange range = {range_.base + used_, bytes};
  used_ += rounded;
  return range;
}

absl::StatusOr<Storage*> StepArena::Allocate(uint64_t bytes, Stream& stream) {
  GRAPHTREE_ASSIGN_OR_RETURN(const AddressRange range, Place(bytes));
  StorageOwner* const owner = this;
  ++held_;
  if (spare_.empty()) {
    storages_.push_back(std::make_unique<Storage>(owner, range, StorageState::kForeign));
    return storages_.back().get();
  }
  Storage* storage = spare_.back();
  spare_.pop_back();
  std::destroy_at(storage);
  return std::construct_at(storage, owner, range, StorageState::kForeign);
}

void StepArena::StartOver() {
  GRAPHTREE_CHECK(held_ == 0) << held_ << " tensors of the last step are still held";
  used_ = 0;
}

void StepArena::Unreferenced(Storage* storage) {
  --held_;
  spare_.push_back(storage);
}

std::string StepArena::WhyStale(const Storage& storage) const {
  return "the eager step that made it has ended";
}

}  // namespace graphtree::demo
