// Saving before each write, and going back.
#include "graphs/eager_traces.h"

namespace graphtree {

AccessObserver* EagerTraces::SaveWrites(absl::Span<const Value> inputs,
                                        const std::vector<bool>& mutated, AccessObserver* next) {
  log_ = std::make_unique<WriteLog>(next,
                                    [this](const Tensor& tensor) { Save(tensor.raw_bytes()); });
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].is_tensor()) continue;
    spoilt_.Show(RangeOf(inputs[i]));
    if (mutated[i]) Save(RangeOf(inputs[i]));
  }
  return log_.get();
}

void EagerTraces::Save(AddressRange range) {
  for (const AddressRange part : spoilt_.Written(range)) unsaved_.Update(undo_.Save(part));
}

absl::Status EagerTraces::TakeBack() {
  random_.GiveBack();
  if (log_ == nullptr) return absl::OkStatus();
  absl::Status undone = order_->ContinueOn(stream_);
  if (undone.ok()) undone = undo_.Restore();
  undone.Update(unsaved_);
  return undone;
}

}  // namespace graphtree
