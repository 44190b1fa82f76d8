// The Python type of what torch's front end calls.
#include "runtime/torch/front.h"

#include <structmember.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>

#include <cstddef>
#include <memory>
#include <utility>

#include "runtime/torch/function.h"

namespace graphtree::torch_adaptor {
namespace {

constexpr uintptr_t kAlignment = 16;  // Inductor's

struct Front {
  PyObject_HEAD
  vectorcallfunc vectorcall;
  PyObject* weak_references;
  PyObject* dict;  // torch notes there that it takes a list
  PyObject* slow;
  PyObject* fast;  // null: not known yet
  std::vector<uint32_t>* aligned;
};

bool IsAligned(PyObject* list, const std::vector<uint32_t>& indices) {
  for (const uint32_t index : indices) {
    if (static_cast<Py_ssize_t>(index) >= PyList_GET_SIZE(list)) return false;
    PyObject* const item = PyList_GET_ITEM(list, static_cast<Py_ssize_t>(index));
    if (!THPVariable_Check(item)) continue;
    const void* const address = THPVariable_Unpack(item).const_data_ptr();
    if (reinterpret_cast<uintptr_t>(address) % kAlignment != 0) return false;
  }
  return true;
}

PyObject* CallFront(PyObject* callable, PyObject* const* args, size_t count, PyObject* names) {
  HANDLE_TH_ERRORS
  auto* const front = reinterpret_cast<Front*>(callable);
  const bool is_simple = front->fast != nullptr && PyVectorcall_NARGS(count) == 1 &&
                         names == nullptr && PyList_CheckExact(args[0]);
  if (is_simple && IsAligned(args[0], *front->aligned)) {
    return FunctionCall()(front->fast, args, 1, nullptr);
  }
  return PyObject_Vectorcall(front->slow, args, count, names);
  END_HANDLE_TH_ERRORS
}

void DeallocateFront(PyObject* object) {
  auto* const front = reinterpret_cast<Front*>(object);
  if (front->weak_references != nullptr) PyObject_ClearWeakRefs(object);
  Py_CLEAR(front->dict);
  Py_CLEAR(front->slow);
  Py_CLEAR(front->fast);
  const std::unique_ptr<std::vector<uint32_t>> owner(front->aligned);
  PyTypeObject* const type = Py_TYPE(object);
  PyObject_Free(object);
  Py_DECREF(type);
}

PyMemberDef front_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Front, vectorcall), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Front, weak_references), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(Front, dict), READONLY, nullptr},
    {"slow", T_OBJECT, offsetof(Front, slow), READONLY, nullptr},
    {"fast", T_OBJECT, offsetof(Front, fast), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
PyType_Slot front_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(&DeallocateFront)},
                             {Py_tp_call, reinterpret_cast<void*>(&PyVectorcall_Call)},
                             {Py_tp_members, front_members},
                             {0, nullptr}};
PyType_Spec front_spec = {"graphtree.torch.Front", sizeof(Front), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL, front_slots};

}  // namespace

PyTypeObject* FrontType() {
  static PyObject* const type = PyType_FromSpec(&front_spec);
  return reinterpret_cast<PyTypeObject*>(type);
}

PyObject* NewFront(PyObject* slow, std::vector<uint32_t> aligned) {
  auto* const front = PyObject_New(Front, FrontType());
  if (front == nullptr) return nullptr;
  front->vectorcall = &CallFront;
  front->weak_references = front->dict = front->fast = nullptr;
  front->slow = Py_NewRef(slow);
  front->aligned = std::make_unique<std::vector<uint32_t>>(std::move(aligned)).release();
  return reinterpret_cast<PyObject*>(front);
}

bool SetFast(PyObject* front, PyObject* function) {
  if (Py_TYPE(front) != FrontType() || Py_TYPE(function) != FunctionType()) {
    PyErr_SetString(PyExc_TypeError, "graphtree: a front and a function");
    return false;
  }
  Py_XSETREF(reinterpret_cast<Front*>(front)->fast, Py_NewRef(function));
  return true;
}

}  // namespace graphtree::torch_adaptor
