// Reads a call's inputs: tensors as addresses, a tree's own with a handle for this call.
//
// What a tree made may be held by others, too. So the call is given another handle, and the
// caller's tensor goes when its last holder drops it: if that is the list of the inputs, it dies in
// the body, and the body's next allocation may have its bytes.
#include <torch/csrc/autograd/python_variable.h>

#include "runtime/torch/function.h"
#include "runtime/torch/hold.h"
#include "runtime/torch/layouts.h"
#include "runtime/torch/library.h"

namespace graphtree::torch_adaptor {
namespace {

gt_layout LayoutFor(const c10::TensorImpl& tensor, KnownInput* known) {
  const bool is_known = known->layout != nullptr && known->dtype == tensor.dtype() &&
                        tensor.sizes() == known->sizes && tensor.strides() == known->strides;
  if (!is_known) {
    known->layout = LayoutOf(tensor);
    known->sizes = tensor.sizes().vec();
    known->strides = tensor.strides().vec();
    known->dtype = tensor.dtype();
  }
  return known->layout;
}

void ReadTensor(Function::Parts* parts, const at::Tensor& tensor, size_t index, Call* call) {
  const c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  const bool is_here = impl.device_type() == c10::DeviceType::CUDA &&
                       impl.device().index() == parts->tree->index;
  if (!is_here || impl.numel() == 0 || !impl.has_storage()) return;
  // Raises for an output whose step has ended, with the words that it was left with.
  const void* const address = tensor.const_data_ptr();
  gt_value value = gt_tensor(WordOf(address), LayoutFor(impl, &parts->known[index]));
  call->addresses[index] = const_cast<void*>(address);
  call->given[index] = GivenAs::kCallers;
  const Hold* const hold = Hold::Of(impl.unsafe_storage().unsafeGetStorageImpl());
  if (hold != nullptr) {
    value.storage = hold->storage();
    Check(Gt().gt_value_copy(&value, &call->values[index]));
    call->given[index] = GivenAs::kTrees;
  } else {
    call->values[index] = value;
  }
}

void ReadInput(Function::Parts* parts, PyObject* object, size_t index, Call* call) {
  call->objects[index] = Py_NewRef(object);
  call->given[index] = GivenAs::kObject;
  call->values[index] = gt_nothing();
  call->addresses[index] = nullptr;
  if (THPVariable_Check(object)) {
    ReadTensor(parts, THPVariable_Unpack(object), index, call);
  } else if (PyLong_Check(object)) {
    int is_too_large = 0;
    const int64_t integer = PyLong_AsLongLongAndOverflow(object, &is_too_large);
    call->given[index] = GivenAs::kInteger;
    call->values[index] = gt_integer(integer);
  }
}

}  // namespace

const at::Tensor& Call::TensorAt(size_t index) const {
  if (index < carried.size() && carried[index].defined()) return carried[index];
  return THPVariable_Unpack(objects[index]);
}

void Call::DropObjects() {
  for (PyObject*& object : objects) Py_CLEAR(object);
}

void Call::DropValues() {
  for (size_t i = 0; i < values.size(); ++i) {
    const bool is_own = given[i] == GivenAs::kTrees && values[i].kind == GT_TENSOR;
    if (is_own && values[i].storage != nullptr) {
      Ignore(Gt().gt_release(values[i].storage));
    }
    values[i] = gt_nothing();
  }
}

void Call::Reset() {
  DropObjects();
  DropValues();
  for (gt_value& output : outputs) {
    if (output.storage != nullptr) Ignore(Gt().gt_release(output.storage));
    output = gt_nothing();
  }
  carried.clear();
  passed.clear();
  storages.clear();
  for (PyObject*& part : raised) Py_CLEAR(part);
  Ignore(error);
  error = nullptr;
  body_ran = was_captured = must_run_plain = may_warn = false;
  route = GT_ROUTE_NONE;
  reason = GT_NO_REASON;
}

bool ReadInputs(Function* function, PyObject* list, Call* call) {
  Function::Parts* const parts = function->parts;
  if (!PyList_CheckExact(list)) {
    PyErr_Format(PyExc_TypeError, "graphtree: '%s' takes a list of its inputs, and was given %R",
                 parts->name.c_str(), reinterpret_cast<PyObject*>(Py_TYPE(list)));
    return false;
  }
  const size_t count = static_cast<size_t>(PyList_GET_SIZE(list));
  if (count != parts->known.size()) {
    PyErr_Format(PyExc_TypeError, "graphtree: '%s' takes %zu inputs, and was given %zu",
                 parts->name.c_str(), parts->known.size(), count);
    return false;
  }
  call->objects.assign(count, nullptr);
  call->given.assign(count, GivenAs::kObject);
  call->values.assign(count, gt_nothing());
  call->addresses.assign(count, nullptr);
  for (size_t i = 0; i < count; ++i) {
    ReadInput(parts, PyList_GET_ITEM(list, static_cast<Py_ssize_t>(i)), i, call);
  }
  return PyList_SetSlice(list, 0, PyList_GET_SIZE(list), nullptr) == 0;
}

}  // namespace graphtree::torch_adaptor
