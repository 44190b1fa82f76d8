// Streams and steps of one tree.
#include "runtime/torch/tree_state.h"

#include "runtime/torch/library.h"

namespace graphtree::torch_adaptor {

TreeState::~TreeState() {
  for (const auto& [native, stream] : streams) Ignore(Gt().gt_release(stream));
}

gt_stream TreeState::Adopt(cudaStream_t stream) {
  gt_stream& adopted = streams[stream];
  if (adopted == nullptr) Check(Gt().gt_stream_adopt(device, stream, &adopted));
  return adopted;
}

void TreeState::EndStep(const std::string& by) {
  holds->EndStep(by);
  path.clear();
  state = PathState::kNone;
  ++counts.steps;
  Check(Gt().gt_tree_begin_step(tree));
}

}  // namespace graphtree::torch_adaptor
