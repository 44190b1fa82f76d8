// The arguments of a launch, from those of the C interface. Tensors are held until they go.
#ifndef GRAPHTREE_RUNTIME_C_ARGUMENTS_H_
#define GRAPHTREE_RUNTIME_C_ARGUMENTS_H_

#include <cstddef>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "device/kernel.h"
#include "graphs/launcher.h"
#include "graphs/tensor.h"
#include "runtime/c/entry.h"
#include "runtime/c/graphtree.h"

namespace graphtree::c {

LaunchShape ShapeOf(const gt_launch_shape& shape);

// For a body, whose launches are checked by its launcher.
class LauncherArguments {
 public:
  // False if one of them is wrong. `args` outlive this object.
  bool Read(const gt_arg* args, size_t count, Entry* entry);
  absl::Span<const Arg> args() const { return args_; }

 private:
  absl::InlinedVector<Tensor, 16> tensors_;
  absl::InlinedVector<Arg, 16> args_;
};

// For a stream, which takes ranges of bytes. A tensor that may not be used now is an error.
class StreamArguments {
 public:
  bool Read(const gt_arg* args, size_t count, Entry* entry);
  Arguments args() const { return args_; }

 private:
  absl::InlinedVector<Tensor, 16> tensors_;
  absl::InlinedVector<Argument, 16> args_;
};

}  // namespace graphtree::c

#endif  // GRAPHTREE_RUNTIME_C_ARGUMENTS_H_
