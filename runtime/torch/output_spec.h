// What a body's outputs are, as torch's tensors: found when the body runs, used in each replay.
//
//   kOwn      memory that the body made        a new storage over what the call hands out
//   kSame     looks into an earlier output     that one's storage
//   kInput    looks into an input              the storage of the input that this call brings
//   kStatic   a constant, or without bytes     the tensor itself, held
//   kObject   None, a number                   the object itself, held
//   kPassed   memory of torch's, of this call  the tensor itself; never recorded
//
// The specs of a function are numbered, and the body hands its number out behind its outputs: so a
// replay says which one holds, whichever recording it was.
//
// Threads: Python's lock.
#ifndef GRAPHTREE_RUNTIME_TORCH_OUTPUT_SPEC_H_
#define GRAPHTREE_RUNTIME_TORCH_OUTPUT_SPEC_H_

#include <Python.h>

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "runtime/c/graphtree.h"

namespace graphtree::torch_adaptor {

enum class OutputKind : uint8_t { kOwn, kSame, kInput, kStatic, kObject, kPassed };

struct OutputSpec {
  OutputKind kind = OutputKind::kObject;
  uint32_t source = 0;          // kSame: the earlier output; kInput: the input
  std::vector<int64_t> sizes, strides;
  int64_t offset = 0;           // in bytes, from the storage's start; kInput: from the input's
  uint64_t storage_bytes = 0;   // kOwn
  caffe2::TypeMeta dtype;
  bool is_conjugated = false;
  bool is_negated = false;
  at::Tensor tensor;            // kStatic, kPassed
  PyObject* object = nullptr;   // kObject; owned
};

// What is known of one way that a body returned.
class ReturnSpec {
 public:
  ReturnSpec() = default;
  ReturnSpec(ReturnSpec&& other) noexcept;
  ReturnSpec(const ReturnSpec&) = delete;
  ReturnSpec& operator=(const ReturnSpec&) = delete;
  ~ReturnSpec();

  bool IsSameAs(const ReturnSpec& other) const;

  std::vector<OutputSpec> outputs;
};

// Fills in what a tensor looks like.
void DescribeTensor(const at::Tensor& tensor, OutputSpec* spec);
// A tensor that looks like that, over the storage; `offset` bytes behind the storage's start.
at::Tensor TensorOver(const OutputSpec& spec, c10::Storage storage, int64_t offset);

}  // namespace graphtree::torch_adaptor

#endif  // GRAPHTREE_RUNTIME_TORCH_OUTPUT_SPEC_H_
