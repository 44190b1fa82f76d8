// Compares specs, and makes tensors by them.
#include "runtime/torch/output_spec.h"

#include <utility>

#include <c10/core/TensorImpl.h>

namespace graphtree::torch_adaptor {
namespace {

bool IsSame(const OutputSpec& a, const OutputSpec& b) {
  if (a.kind != b.kind) return false;
  if (a.kind == OutputKind::kPassed) return true;  // each call's own
  if (a.kind == OutputKind::kObject) {
    if (a.object == b.object) return true;
    const int same = PyObject_RichCompareBool(a.object, b.object, Py_EQ);
    if (same < 0) PyErr_Clear();
    return same == 1;
  }
  if (a.kind == OutputKind::kStatic && a.tensor.unsafeGetTensorImpl() !=
                                           b.tensor.unsafeGetTensorImpl()) {
    const bool is_one_storage = a.tensor.storage().unsafeGetStorageImpl() ==
                                b.tensor.storage().unsafeGetStorageImpl();
    if (!is_one_storage && a.tensor.numel() != 0) return false;
  }
  return a.source == b.source && a.sizes == b.sizes && a.strides == b.strides &&
         a.offset == b.offset && a.storage_bytes == b.storage_bytes && a.dtype == b.dtype &&
         a.is_conjugated == b.is_conjugated && a.is_negated == b.is_negated;
}

}  // namespace

ReturnSpec::ReturnSpec(ReturnSpec&& other) noexcept : outputs(std::move(other.outputs)) {
  other.outputs.clear();
}

ReturnSpec::~ReturnSpec() {
  for (OutputSpec& output : outputs) Py_XDECREF(output.object);
}

bool ReturnSpec::IsSameAs(const ReturnSpec& other) const {
  if (outputs.size() != other.outputs.size()) return false;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!IsSame(outputs[i], other.outputs[i])) return false;
  }
  return true;
}

void DescribeTensor(const at::Tensor& tensor, OutputSpec* spec) {
  spec->sizes = tensor.sizes().vec();
  spec->strides = tensor.strides().vec();
  spec->offset = tensor.storage_offset() * static_cast<int64_t>(tensor.itemsize());
  spec->dtype = tensor.dtype();
  spec->is_conjugated = tensor.is_conj();
  spec->is_negated = tensor.is_neg();
}

at::Tensor TensorOver(const OutputSpec& spec, c10::Storage storage, int64_t offset) {
  auto made = c10::make_intrusive<c10::TensorImpl>(
      std::move(storage), c10::DispatchKeySet(c10::DispatchKey::CUDA), spec.dtype);
  made->set_sizes_and_strides(spec.sizes, spec.strides);
  made->set_storage_offset(offset / static_cast<int64_t>(spec.dtype.itemsize()));
  if (spec.is_conjugated) made->_set_conj(true);
  if (spec.is_negated) made->_set_neg(true);
  return at::Tensor(std::move(made));
}

}  // namespace graphtree::torch_adaptor
