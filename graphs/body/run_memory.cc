// Asks the allocator, and notes what was made.
#include "graphs/body/run_memory.h"

#include "device/base/status_macros.h"

namespace graphtree {

Tensor Unmade(const Layout* layout) {
  if (layout->possible()) return Tensor::Foreign(0, layout);
  const std::vector<int64_t> none(layout->sizes().size(), 0);
  return Tensor::Foreign(0, Layout::Of(layout->type(), none));
}

absl::StatusOr<Storage*> RunMemory::Allocate(uint64_t bytes) {
  asked_bytes_ += bytes;
  return allocator_.AllocateWithRoom(bytes, made_.RoomFor(bytes), stream_);
}

absl::StatusOr<Tensor> RunMemory::Make(const Layout* layout) {
  GRAPHTREE_ASSIGN_OR_RETURN(Storage* const storage, Allocate(layout->extent_bytes()));
  pads_.room_bytes += made_.Add(*storage, layout->extent_bytes());
  return Tensor::Over(storage, layout, storage->range().base);
}

absl::StatusOr<Tensor> RunMemory::MakeCopy(const Tensor& tensor, const PadPlan& plan) {
  GRAPHTREE_ASSIGN_OR_RETURN(Storage* const storage, Allocate(plan.copy_bytes));
  Tensor copy = Tensor::Over(storage, plan.layout, storage->range().base);
  pads_.room_bytes += made_.AddCopy(*storage, tensor, plan);
  return copy;
}

absl::StatusOr<Tensor> RunMemory::MakeScratch(uint64_t bytes, const Layout* layout) {
  GRAPHTREE_ASSIGN_OR_RETURN(Storage* const storage, allocator_.Scratch(bytes, stream_));
  scratch_.push_back(Tensor::Over(storage, layout, storage->range().base));
  return scratch_.back();
}

void RunMemory::EndScratch() {
  for (const Tensor& scratch : scratch_) allocator_.EndScratch(scratch.storage());
  scratch_.clear();
}

bool RunMemory::IsBodysScratch(const Storage& storage) const {
  if (!is_part_ || storage.output != kScratch) return false;
  for (const RunMemory* part = this; part != nullptr; part = part->outer_) {
    for (const Tensor& own : part->scratch_) {
      if (own.storage() == &storage) return false;
    }
  }
  return storage.state() == StorageState::kView;
}

}  // namespace graphtree
