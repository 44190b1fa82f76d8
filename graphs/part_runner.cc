// Which writes of a part are told.
#include "graphs/part_runner.h"

namespace graphtree {

PartRunner::PartRunner(Stream& stream, StepAllocator allocator, Workspaces* workspaces,
                       RandomSource* random, SaveWrite save)
    : allocator_(std::move(allocator)),
      on_(stream, allocator_, save == nullptr ? nullptr : this, random),
      save_(std::move(save)) {
  on_.SetWorkspaces(workspaces);
}

void PartRunner::Accessed(Access access, const Tensor& tensor, int) {
  if (access != Access::kWrite && access != Access::kReadWrite) return;
  const AddressRange range = tensor.raw_bytes();
  if (range.empty() || allocator_.HasMade(range)) return;
  save_(tensor);
}

}  // namespace graphtree
