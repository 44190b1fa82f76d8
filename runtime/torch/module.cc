// The module that Python imports, and the one file that the compiler is given: the others are part
// of it, since torch's headers take longer than all that is here.
//
// Threads: Python's lock.
#include <Python.h>

#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>

#include "runtime/torch/body.cc"
#include "runtime/torch/call.cc"
#include "runtime/torch/front.cc"
#include "runtime/torch/function.cc"
#include "runtime/torch/generator.cc"
#include "runtime/torch/hold.cc"
#include "runtime/torch/inputs.cc"
#include "runtime/torch/layouts.cc"
#include "runtime/torch/library.cc"
#include "runtime/torch/output_spec.cc"
#include "runtime/torch/outputs.cc"
#include "runtime/torch/python_errors.cc"
#include "runtime/torch/region.cc"
#include "runtime/torch/shim.cc"
#include "runtime/torch/side_streams.cc"
#include "runtime/torch/tree_state.cc"

namespace graphtree::torch_adaptor {
namespace {

constexpr char kTreeName[] = "graphtree.torch.tree";

std::shared_ptr<TreeState>* TreeIn(PyObject* capsule) {
  auto* const tree =
      static_cast<std::shared_ptr<TreeState>*>(PyCapsule_GetPointer(capsule, kTreeName));
  if (tree == nullptr) RaisePythonError();
  return tree;
}

PyObject* LoadLibrary(PyObject*, PyObject* path) {
  const char* const text = PyUnicode_AsUTF8(path);
  if (text == nullptr) return nullptr;
  const std::string wrong = Load(text);
  if (wrong.empty()) Py_RETURN_NONE;
  PyErr_SetString(PyExc_ImportError, wrong.c_str());
  return nullptr;
}

PyObject* InstallAllocator(PyObject*, PyObject*) {
  HANDLE_TH_ERRORS
  InstallShim();
  WatchForks();
  Py_RETURN_NONE;
  END_HANDLE_TH_ERRORS
}
PyObject* UninstallAllocator(PyObject*, PyObject*) {
  UninstallShim();
  Py_RETURN_NONE;
}
PyObject* IsAllocatorInstalled(PyObject*, PyObject*) { return PyBool_FromLong(IsShimInstalled()); }

// set_hooks(MarkStepBox, GenerationTracker, clear_workspaces)
PyObject* SetTorchHooks(PyObject*, PyObject* args) {
  PyObject *box = nullptr, *tracker = nullptr, *clear = nullptr;
  if (!PyArg_ParseTuple(args, "OOO", &box, &tracker, &clear)) return nullptr;
  if (!SetHooks(box, tracker, clear)) return nullptr;
  Py_RETURN_NONE;
}

// new_tree(device, tree, generator, index): handles of the library's, which stay the caller's.
PyObject* NewTree(PyObject*, PyObject* args) {
  HANDLE_TH_ERRORS
  unsigned long long device = 0, tree = 0, generator = 0;
  int index = 0;
  if (!PyArg_ParseTuple(args, "KKKi", &device, &tree, &generator, &index)) return nullptr;
  auto made = std::make_unique<std::shared_ptr<TreeState>>(std::make_shared<TreeState>(
      static_cast<gt_device>(AddressOf(device)), static_cast<gt_tree>(AddressOf(tree)),
      static_cast<gt_generator>(AddressOf(generator)), static_cast<c10::DeviceIndex>(index)));
  PyObject* const capsule = PyCapsule_New(made.get(), kTreeName, [](PyObject* of) {
    const std::unique_ptr<std::shared_ptr<TreeState>> owner(
        static_cast<std::shared_ptr<TreeState>*>(PyCapsule_GetPointer(of, kTreeName)));
  });
  if (capsule != nullptr) static_cast<void>(made.release());
  return capsule;
  END_HANDLE_TH_ERRORS
}

PyObject* CloseTree(PyObject*, PyObject* capsule) {
  HANDLE_TH_ERRORS
  const std::shared_ptr<TreeState> tree = *TreeIn(capsule);
  const WithoutPython without_python;
  const InTree in_tree(*tree);
  tree->is_closed = true;
  END_HANDLE_TH_ERRORS
  Py_RETURN_NONE;
}

PyObject* LookAtTree(PyObject*, PyObject* capsule) {
  HANDLE_TH_ERRORS
  const TreeState& tree = **TreeIn(capsule);
  return Py_BuildValue(
      "{s:K,s:K,s:K,s:K,s:K,s:i,s:L,s:O}", "calls", tree.counts.calls.load(), "bodies",
      tree.counts.bodies.load(), "steps", tree.counts.steps.load(), "carried_inputs",
      tree.counts.carried.load(), "held_outputs",
      static_cast<unsigned long long>(tree.holds->size()), "path_state",
      static_cast<int>(tree.state), "generation", static_cast<long long>(tree.generation.load()),
      "awaits_backward", tree.awaits_backward ? Py_True : Py_False);
  END_HANDLE_TH_ERRORS
}

PyObject* SetAwaitsBackward(PyObject*, PyObject* args) {
  HANDLE_TH_ERRORS
  PyObject* capsule = nullptr;
  int awaits = 0;
  if (!PyArg_ParseTuple(args, "Op", &capsule, &awaits)) return nullptr;
  const std::shared_ptr<TreeState> tree = *TreeIn(capsule);
  const WithoutPython without_python;
  const InTree in_tree(*tree);
  tree->awaits_backward = awaits != 0;
  END_HANDLE_TH_ERRORS
  Py_RETURN_NONE;
}

// Whether a tree made the tensor's memory, and its step goes on.
PyObject* IsHeld(PyObject*, PyObject* tensor) {
  HANDLE_TH_ERRORS
  if (!THPVariable_Check(tensor)) Py_RETURN_FALSE;
  const at::Tensor& of = THPVariable_Unpack(tensor);
  const Hold* const hold =
      of.has_storage() ? Hold::Of(of.storage().unsafeGetStorageImpl()) : nullptr;
  return PyBool_FromLong(hold != nullptr && !hold->is_stale());
  END_HANDLE_TH_ERRORS
}

bool ReadNumbers(PyObject* from, std::vector<uint32_t>* into) {
  const Py_ssize_t count = PySequence_Size(from);
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* const item = PySequence_GetItem(from, i);
    if (item == nullptr) return false;
    into->push_back(static_cast<uint32_t>(PyLong_AsUnsignedLong(item)));
    Py_DECREF(item);
  }
  return count >= 0 && PyErr_Occurred() == nullptr;
}

bool ReadTexts(PyObject* from, std::vector<std::string>* into) {
  const Py_ssize_t count = PySequence_Size(from);
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* const item = PySequence_GetItem(from, i);
    if (item == nullptr) return false;
    const char* const text = item == Py_None ? "" : PyUnicode_AsUTF8(item);
    if (text != nullptr) into->push_back(text);
    Py_DECREF(item);
    if (text == nullptr) return false;
  }
  return count >= 0;
}

struct FunctionArguments {
  PyObject *capsule, *model, *after_body, *statics, *mutated, *constants, *traces, *names;
  const char* name;
  int mode, inputs, exclude;
  unsigned long long number;
};

void Register(Function* function, const FunctionArguments& given) {
  Function::Parts* const parts = function->parts;
  std::vector<uint32_t> statics;
  std::vector<std::string> traces, names;
  if (!ReadNumbers(given.statics, &statics) || !ReadNumbers(given.mutated, &parts->mutated) ||
      !ReadTexts(given.traces, &traces) || !ReadTexts(given.names, &names)) {
    RaisePythonError();
  }
  for (const uint32_t index : statics) parts->is_static.at(index) = true;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(given.constants); ++i) {
    const at::Tensor& constant = THPVariable_Unpack(PyTuple_GET_ITEM(given.constants, i));
    parts->constants.push_back(constant.storage().unsafeGetStorageImpl());
  }
  parts->maker = std::make_shared<StackTraces>(parts->name, std::move(traces));
  std::vector<const char*> texts;
  for (const std::string& name : names) texts.push_back(name.c_str());
  gt_function_options options = GT_INIT(gt_function_options);
  options.static_inputs = statics.data();
  options.static_input_count = statics.size();
  options.mutated_inputs = parts->mutated.data();
  options.mutated_input_count = parts->mutated.size();
  options.input_names = texts.data();
  options.input_name_count = texts.size();
  // A body's work is not seen: what moves is copied, and what it writes to is what it says.
  options.moving = GT_MOVING_COPY;
  options.unseen_writes = 1;
  options.exclude = given.exclude;
  Check(Gt().gt_tree_register(parts->tree->tree, parts->name.c_str(), &options, &RunBody, function,
                              nullptr, &parts->function));
}

// new_function(tree, model, after_body, name, mode, inputs, static, mutated, constants,
//              stack_traces, input_names, exclude, number)
PyObject* NewFunction(PyObject*, PyObject* args) {
  HANDLE_TH_ERRORS
  FunctionArguments given = {};
  if (!PyArg_ParseTuple(args, "OOOsiiOOO!OOpK", &given.capsule, &given.model, &given.after_body,
                        &given.name, &given.mode, &given.inputs, &given.statics, &given.mutated,
                        &PyTuple_Type, &given.constants, &given.traces, &given.names,
                        &given.exclude, &given.number)) {
    return nullptr;
  }
  const std::shared_ptr<TreeState> tree = *TreeIn(given.capsule);
  auto parts = std::make_unique<Function::Parts>();
  parts->tree = tree;
  parts->number = given.number;
  parts->name = given.name;
  parts->mode = static_cast<CompiledAs>(given.mode);
  parts->known.resize(static_cast<size_t>(given.inputs));
  parts->is_static.assign(parts->known.size(), false);
  parts->is_aliased.assign(parts->known.size(), false);
  auto* const function = PyObject_New(Function, FunctionType());
  if (function == nullptr) return nullptr;
  function->vectorcall = FunctionCall();
  function->weak_references = nullptr;
  function->model = Py_NewRef(given.model);
  function->after_body = Py_NewRef(given.after_body);
  function->parts = parts.release();
  const Owned owned(reinterpret_cast<PyObject*>(function));
  Register(function, given);
  return Py_NewRef(owned.object);
  END_HANDLE_TH_ERRORS
}

// new_front(slow, aligned): what torch's wrapper is, and the inputs that it looks at.
PyObject* NewFrontOf(PyObject*, PyObject* args) {
  HANDLE_TH_ERRORS
  PyObject *slow = nullptr, *aligned = nullptr;
  std::vector<uint32_t> numbers;
  if (!PyArg_ParseTuple(args, "OO", &slow, &aligned)) return nullptr;
  if (!ReadNumbers(aligned, &numbers)) return nullptr;
  return NewFront(slow, std::move(numbers));
  END_HANDLE_TH_ERRORS
}

PyObject* SetFrontFast(PyObject*, PyObject* args) {
  PyObject *front = nullptr, *function = nullptr;
  if (!PyArg_ParseTuple(args, "OO", &front, &function)) return nullptr;
  if (!SetFast(front, function)) return nullptr;
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    {"new_front", NewFrontOf, METH_VARARGS, "a callable in the place of torch's wrapper"},
    {"set_fast", SetFrontFast, METH_VARARGS, "what the callable calls from here on"},
    {"load_library", LoadLibrary, METH_O, "the library that the package has loaded"},
    {"install_allocator", InstallAllocator, METH_NOARGS, "the shim is in front of torch's"},
    {"uninstall_allocator", UninstallAllocator, METH_NOARGS, "torch's own is back"},
    {"is_allocator_installed", IsAllocatorInstalled, METH_NOARGS, "whether the shim is there"},
    {"set_hooks", SetTorchHooks, METH_VARARGS, "what of torch's is asked in calls"},
    {"new_tree", NewTree, METH_VARARGS, "what is known of a tree"},
    {"close_tree", CloseTree, METH_O, "calls are errors from here on"},
    {"look_at_tree", LookAtTree, METH_O, "what was counted"},
    {"set_awaits_backward", SetAwaitsBackward, METH_VARARGS, "a forward waits, or none does"},
    {"is_held", IsHeld, METH_O, "whether a tree made the tensor, in a step that goes on"},
    {"new_function", NewFunction, METH_VARARGS, "a function of a tree"},
    {nullptr, nullptr, 0, nullptr}};
PyModuleDef module = {PyModuleDef_HEAD_INIT, "graphtree_torch", nullptr, -1, methods, nullptr,
                      nullptr, nullptr, nullptr};

}  // namespace
}  // namespace graphtree::torch_adaptor

PyMODINIT_FUNC PyInit_graphtree_torch() {
  if (graphtree::torch_adaptor::FunctionType() == nullptr ||
      graphtree::torch_adaptor::FrontType() == nullptr) {
    return nullptr;
  }
  return PyModule_Create(&graphtree::torch_adaptor::module);
}
