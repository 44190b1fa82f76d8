// The inputs of a body's run, as the body asks for them by number. A wrong question is an error
// that says what the call has brought there instead.
//
// Threads: the one that runs the body.
#ifndef GRAPHTREE_GRAPHS_BODY_BODY_INPUTS_H_
#define GRAPHTREE_GRAPHS_BODY_BODY_INPUTS_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphs/tensor.h"

namespace graphtree {

class BodyInputs {
 public:
  // None, as nobody has given any.
  BodyInputs() = default;
  // `inputs` outlives this object. The body may empty them meanwhile, and take them out.
  explicit BodyInputs(const Values& inputs) : inputs_(&inputs), brought_(inputs.size()) {}
  // None: a part takes its tensors from its arguments.
  static BodyInputs OfPart() {
    BodyInputs inputs;
    inputs.is_part_ = true;
    return inputs;
  }

  absl::StatusOr<Tensor> TensorAt(size_t index) const;
  absl::StatusOr<int64_t> IntegerAt(size_t index) const;

 private:
  absl::StatusOr<const Value*> Find(size_t index, absl::string_view wanted) const;

  const Values* inputs_ = nullptr;
  size_t brought_ = 0;
  bool is_part_ = false;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_BODY_BODY_INPUTS_H_
