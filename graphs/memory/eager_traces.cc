// Saves bytes before each write, and restores them.
#include "graphs/memory/eager_traces.h"

#include "device/base/status_macros.h"

namespace graphtree {

AccessObserver* EagerTraces::SaveWrites(absl::Span<const Value> inputs,
                                        const std::vector<bool>& mutated, AccessObserver* next) {
  saves_ = true;
  log_ = std::make_unique<WriteLog>(
      next, [this](const Tensor& tensor) { Save(stream_, tensor); });
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].is_tensor()) continue;
    spoilt_.Show(RangeOf(inputs[i]));
    if (mutated[i]) Save(stream_, Tensor::From(inputs[i]));
  }
  return log_.get();
}

void EagerTraces::SaveOfPart(Stream& stream, const Tensor& tensor) {
  if (log_ != nullptr) Save(stream, tensor);
}

// Leaves out memory that the body made, also outside of its region: it may be gone before the copy.
void EagerTraces::Save(Stream& stream, const Tensor& tensor) {
  if (allocator_.HasMade(tensor.raw_bytes())) return;
  undo_.TrySaveWrites(stream, tensor, &spoilt_);
}

void EagerTraces::SaveBeforeCopyBack(AddressRange range) {
  saves_ = true;
  undo_.TrySaveOn(stream_, range);
}

absl::Status EagerTraces::UndoEffects() {
  random_.GiveBack();
  if (!saves_) return absl::OkStatus();
  GRAPHTREE_RETURN_IF_ERROR(order_->ContinueOn(stream_));
  return undo_.Restore();
}

}  // namespace graphtree
