// Copies there, and back.
#include "graphs/aligned_inputs.h"

#include "device/base/status_macros.h"
#include "graphs/ingest/ingest.h"

namespace graphtree {
namespace {

absl::Status CopyOn(Stream& stream, const IngestCopy& copy) {
  for (const IngestPlan& plan : IngestPlan::For({&copy, 1}, {})) {
    const Argument table = plan.Table();
    GRAPHTREE_RETURN_IF_ERROR(
        stream.Launch(plan.kernel(), plan.shape(), absl::MakeSpan(&table, 1)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status AlignedInputs::Replace(const Function& function, BodyAllocator& allocator,
                                    Stream& stream, Values* inputs) {
  for (uint32_t i = 0; i < function.alignments.size() && i < inputs->size(); ++i) {
    Value& input = (*inputs)[i];
    if (!input.is_tensor() || input.word() % function.alignments[i] == 0) continue;
    if (input.layout()->elements() == 0) continue;
    GRAPHTREE_ASSIGN_OR_RETURN(Storage * storage,
                               allocator.Allocate(input.layout()->extent_bytes(), stream));
    const Tensor clone = Tensor::Over(storage, input.layout(), storage->range().base);
    GRAPHTREE_RETURN_IF_ERROR(CopyOn(stream, {clone.word(), input.word(), input.layout()}));
    clones_.push_back({i, input, clone});
    input = clone;
  }
  return absl::OkStatus();
}

absl::Status AlignedInputs::GiveBack(const std::vector<bool>& written, Stream& stream,
                                     Values* outputs) {
  for (const Clone& clone : clones_) {
    const Layout* layout = clone.clone.layout();
    if (written[clone.input]) {
      GRAPHTREE_RETURN_IF_ERROR(
          CopyOn(stream, {clone.original.word(), clone.clone.word(), layout}));
    }
    for (Value& output : *outputs) {
      if (output.storage() != clone.clone.storage()) continue;
      output = Tensor::Over(clone.original.storage(), output.layout(),
                            clone.original.word() + (output.word() - clone.clone.word()));
    }
  }
  clones_.clear();
  return absl::OkStatus();
}

}  // namespace graphtree
