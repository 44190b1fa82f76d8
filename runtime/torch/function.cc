// The Python type of a function, and torch's generations.
#include "runtime/torch/function.h"

#include <structmember.h>

#include <cstddef>
#include <new>

#include "runtime/torch/library.h"

namespace graphtree::torch_adaptor {
namespace {

PyObject* hooks[3] = {nullptr, nullptr, nullptr};
PyObject* mark_step_name = nullptr;
PyObject* generation_name = nullptr;

int64_t ReadInteger(PyObject* from, PyObject* name) {
  PyObject* const number = PyObject_GetAttr(from, name);
  if (number == nullptr) {
    PyErr_Clear();
    return 0;
  }
  const int64_t integer = PyLong_AsLongLong(number);
  Py_DECREF(number);
  return integer;
}

void Deallocate(PyObject* object) {
  auto* const function = reinterpret_cast<Function*>(object);
  if (function->weak_references != nullptr) PyObject_ClearWeakRefs(object);
  Function::Parts* const parts = function->parts;
  if (parts != nullptr) {
    // A call that runs is awaited, and its body may need Python's lock.
    Py_BEGIN_ALLOW_THREADS
    if (parts->function != nullptr) Ignore(Gt().gt_release(parts->function));
    Py_END_ALLOW_THREADS
    const std::unique_ptr<Function::Parts> owner(parts);
  }
  Py_XDECREF(function->model);
  Py_XDECREF(function->after_body);
  PyTypeObject* const type = Py_TYPE(object);
  PyObject_Free(object);
  Py_DECREF(type);
}

PyObject* Name(PyObject* object, void*) {
  return PyUnicode_FromString(reinterpret_cast<Function*>(object)->parts->name.c_str());
}
PyObject* Number(PyObject* object, void*) {
  return PyLong_FromUnsignedLongLong(reinterpret_cast<Function*>(object)->parts->number);
}
PyObject* Calls(PyObject* object, void*) {
  return PyLong_FromUnsignedLongLong(reinterpret_cast<Function*>(object)->parts->calls);
}
// Of the library, for the Python package.
PyObject* Handle(PyObject* object, void*) {
  return PyLong_FromVoidPtr(reinterpret_cast<Function*>(object)->parts->function);
}
PyObject* Draws(PyObject* object, void*) {
  return PyBool_FromLong(reinterpret_cast<Function*>(object)->parts->draws);
}

PyGetSetDef getters[] = {{"name", Name, nullptr, "of the model", nullptr},
                         {"number", Number, nullptr, "in its tree", nullptr},
                         {"calls", Calls, nullptr, "so far", nullptr},
                         {"handle", Handle, nullptr, "the library's", nullptr},
                         {"draws", Draws, nullptr, "random numbers", nullptr},
                         {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Function, vectorcall), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Function, weak_references), READONLY, nullptr},
    {"model", T_OBJECT, offsetof(Function, model), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(&Deallocate)},
                       {Py_tp_call, reinterpret_cast<void*>(&PyVectorcall_Call)},
                       {Py_tp_getset, getters},
                       {Py_tp_members, members},
                       {0, nullptr}};
PyType_Spec spec = {"graphtree.torch.Function", sizeof(Function), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL, slots};

}  // namespace

std::string StackTraces::Where(size_t output) const {
  if (output < traces_.size() && !traces_[output].empty()) return traces_[output];
  return "[Could not find stack trace], output " + std::to_string(output) + " of '" + name_ + "'";
}

PyTypeObject* FunctionType() {
  static PyObject* const type = PyType_FromSpec(&spec);
  return reinterpret_cast<PyTypeObject*>(type);
}

bool SetHooks(PyObject* mark_step_box, PyObject* generation_tracker, PyObject* clear_workspaces) {
  PyObject* const given[] = {mark_step_box, generation_tracker, clear_workspaces};
  for (int i = 0; i < 3; ++i) Py_XSETREF(hooks[i], Py_NewRef(given[i]));
  if (mark_step_name == nullptr) mark_step_name = PyUnicode_InternFromString("mark_step_counter");
  if (generation_name == nullptr) generation_name = PyUnicode_InternFromString("generation");
  return mark_step_name != nullptr && generation_name != nullptr;
}

PyObject* CallHook(Hook hook) { return PyObject_CallNoArgs(hooks[static_cast<int>(hook)]); }

int64_t CurrentGeneration() {
  PyObject* const box = hooks[static_cast<int>(Hook::kMarkStepBox)];
  if (box == nullptr) return 0;
  const int64_t marked = ReadInteger(box, mark_step_name);
  if (marked != 0) return marked;
  return ReadInteger(hooks[static_cast<int>(Hook::kGenerationTracker)], generation_name);
}

}  // namespace graphtree::torch_adaptor
