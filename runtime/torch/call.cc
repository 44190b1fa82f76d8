// One call, from Python's list to Python's list.
//
//   with Python's lock      inputs read, the list emptied, torch's generation
//   without it              the tree's mutex; does a step end?; gt_call
//   with it                 outputs made; where the body ran Python is told
#include <Python.h>

#include <pthread.h>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/clone.h>
#include <c10/cuda/CUDAStream.h>
#include <c10/util/Exception.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <set>
#include <utility>

#include "runtime/torch/function.h"
#include "runtime/torch/generator.h"
#include "runtime/torch/layouts.h"
#include "runtime/torch/library.h"
#include "runtime/torch/side_streams.h"

namespace graphtree::torch_adaptor {
namespace {

std::atomic<bool> is_forked_child{false};

struct Asked {
  Function* function;
  Function::Parts* parts;
  TreeState* tree;
  Call* call;
  int64_t generation;
  c10::cuda::CUDAStream stream;
  bool is_handed_over;  // the inputs that a tree made are the library's already
};

// Gives Python's lock up for as long as it is there.
class WithoutPython {
 public:
  WithoutPython() : saved_(PyEval_SaveThread()) {}
  ~WithoutPython() { PyEval_RestoreThread(saved_); }
  WithoutPython(const WithoutPython&) = delete;
  WithoutPython& operator=(const WithoutPython&) = delete;

 private:
  PyThreadState* const saved_;
};

// The call is over, and may be another's.
class CallEnd {
 public:
  CallEnd(Call* call, bool* is_busy) : call_(call), is_busy_(is_busy) {}
  ~CallEnd() {
    call_->Reset();
    if (is_busy_ != nullptr) *is_busy_ = false;
  }
  CallEnd(const CallEnd&) = delete;
  CallEnd& operator=(const CallEnd&) = delete;

 private:
  Call* const call_;
  bool* const is_busy_;
};

// May the path end, as torch would have it?
bool MayEndStep(const Asked& asked) {
  if (asked.generation == asked.tree->generation) return false;
  const bool user_marks = asked.generation < 0;
  return user_marks || !asked.tree->awaits_backward;
}

bool WouldGoOn(const Asked& asked) {
  if (!asked.parts->was_recorded_inside) return false;
  int32_t would = 0;
  Ignore(Gt().gt_would_replay(asked.parts->function, asked.call->values.data(),
                              asked.call->values.size(), asked.tree->Adopt(asked.stream.stream()),
                              GT_ON_PATH, &would));
  return would != 0;
}

// Inputs that the ending step made are copied to memory of torch's before it ends: their bytes are
// the next step's from then on.
void CarryInputs(const Asked& asked) {
  Call* const call = asked.call;
  for (size_t i = 0; i < call->values.size(); ++i) {
    if (call->given[i] != GivenAs::kTrees || call->objects[i] == nullptr) continue;
    const at::Tensor& old = THPVariable_Unpack(call->objects[i]);
    const Hold* const hold = Hold::Of(old.storage().unsafeGetStorageImpl());
    if (hold == nullptr || hold->list() != asked.tree->holds.get()) continue;
    call->carried.resize(call->values.size());
    const at::NoGradGuard no_grad;
    call->carried[i] = at::clone(old);
  }
}

void UseCarried(const Asked& asked) {
  Call* const call = asked.call;
  for (size_t i = 0; i < call->carried.size(); ++i) {
    if (!call->carried[i].defined()) continue;
    Ignore(Gt().gt_release(call->values[i].storage));
    ++asked.tree->counts.carried;
    call->given[i] = GivenAs::kCallers;
    call->addresses[i] = call->carried[i].mutable_data_ptr();
    call->values[i] = gt_tensor(WordOf(call->addresses[i]),
                                LayoutOf(*call->carried[i].unsafeGetTensorImpl()));
  }
}

void EndStep(const Asked& asked) {
  CarryInputs(asked);
  asked.tree->EndStep(asked.parts->name);
  UseCarried(asked);
}

// Whether the path gets longer with every call and nothing is ever replayed: the function stands in
// the path several times, behind the same function more than once, and each forward pass waits for
// a backward pass that does not come. Torch warns by the same rule.
bool GoesRound(const Asked& asked) {
  const std::vector<uint64_t>& path = asked.tree->path;
  if (asked.generation == asked.tree->generation || asked.parts->has_warned || path.empty()) {
    return false;
  }
  size_t nodes = 0;
  std::set<uint64_t> parents;
  for (size_t i = 0; i < path.size(); ++i) {
    const bool is_it = path[i] == asked.parts->number;
    nodes += is_it ? 1 : 0;
    if ((is_it || i + 1 == path.size()) && i > 0) parents.insert(path[i - 1]);
  }
  return nodes > 1 && parents.size() != nodes;
}

bool HasTreesInputs(const Asked& asked) {
  return std::any_of(asked.call->given.begin(), asked.call->given.end(),
                     [](GivenAs given) { return given == GivenAs::kTrees; });
}

// Ends the path before the call, where torch would:
//
//   the last call    the path ends if
//   none             never: there is none
//   a replay         MayEndStep, or nothing of the path is held; but only for a function that is
//                    warm, and not if the call is a replay where the path stands
//   anything else    MayEndStep
void PrepareStep(const Asked& asked) {
  TreeState* const tree = asked.tree;
  if (tree->state == PathState::kNone) return;
  const bool may_end = MayEndStep(asked);
  if (tree->state == PathState::kReplay) {
    // The tree would find out by itself that nothing is held, by way of a miss.
    const bool nothing_held = tree->holds->is_empty() && !HasTreesInputs(asked);
    const bool ends = may_end || (asked.parts->was_recorded && nothing_held);
    if (ends && asked.parts->is_warm && !WouldGoOn(asked)) EndStep(asked);
    return;
  }
  if (may_end) {
    EndStep(asked);
  } else if (tree->holds->is_empty()) {
    tree->path.clear();
  } else if (GoesRound(asked)) {
    asked.parts->has_warned = true;
    asked.call->may_warn = true;
  }
}

// Whether the body writes to memory that is neither static nor a tree's.
bool WritesElsewhere(const Asked& asked) {
  for (const uint32_t index : asked.parts->mutated) {
    const bool is_plain = asked.call->given[index] == GivenAs::kCallers;
    if (is_plain && !asked.parts->is_static[index]) return true;
  }
  return false;
}

void NoteRoute(const Asked& asked) {
  TreeState* const tree = asked.tree;
  Function::Parts* const parts = asked.parts;
  Call* const call = asked.call;
  call->route = GT_ROUTE_REPLAYED;
  if (call->body_ran) Ignore(Gt().gt_tree_last_call(tree->tree, &call->route, &call->reason));
  switch (call->route) {
    case GT_ROUTE_REPLAYED: tree->state = PathState::kReplay; break;
    case GT_ROUTE_RECORDED:
      tree->state = PathState::kRecording;
      parts->was_recorded = true;
      parts->was_recorded_inside |= !tree->path.empty();
      break;
    case GT_ROUTE_WARMED_UP: tree->state = PathState::kWarmUp; break;
    default: return;
  }
  parts->is_warm = true;
  tree->generation = asked.generation;
  tree->path.push_back(parts->number);
}

void CallTree(const Asked& asked) {
  Call* const call = asked.call;
  TreeState* const tree = asked.tree;
  const gt_stream stream = tree->Adopt(asked.stream.stream());
  AwaitSideStreams(tree->holds.get(), asked.stream);
  RandomPlace place;
  if (asked.parts->draws) {
    place = TorchRandomPlace(tree->index);
    Check(Gt().gt_generator_seed(tree->generator, place.seed, place.offset));
  }
  size_t count = 0;
  call->outputs.resize(asked.parts->most_outputs);
  asked.parts->current = call;
  call->error = Gt().gt_call(asked.parts->function, call->values.data(), call->values.size(),
                             stream, call->outputs.data(), call->outputs.size(), &count);
  asked.parts->current = nullptr;
  if (call->error != nullptr) return;
  call->outputs.resize(count);
  asked.parts->most_outputs = 2 * count + 8;
  NoteRoute(asked);
  const bool tree_drew = !call->body_ran || call->was_captured;
  if (asked.parts->draws && tree_drew) {
    uint64_t seed = 0, offset = 0;
    Check(Gt().gt_generator_look(tree->generator, &seed, &offset));
    if (offset != place.offset) SetTorchRandomOffset(tree->index, offset);
  }
}

// A tensor of a tree that nobody else holds shall be the library's alone in a replay, as it was
// when the function was recorded. With Python's lock.
void HandOver(Function::Parts* parts, Call* call) {
  if (!parts->was_recorded) return;
  for (size_t i = 0; i < call->objects.size(); ++i) {
    if (call->given[i] == GivenAs::kTrees && !parts->is_aliased[i]) Py_CLEAR(call->objects[i]);
  }
}

// Without Python's lock.
void Enter(const Asked& asked) {
  const InTree in_tree(*asked.tree);
  TORCH_CHECK(!asked.tree->is_closed, "graphtree: '", asked.parts->name, "' is called, and its "
              "tree was closed (torch.compiler.reset, or the end of its last function)");
  ++asked.tree->counts.calls;
  PrepareStep(asked);
  asked.call->must_run_plain = WritesElsewhere(asked);
  // What the ending step made was to be copied first.
  if (!asked.is_handed_over && !asked.call->must_run_plain && HasTreesInputs(asked)) {
    const PyGILState_STATE gil = PyGILState_Ensure();
    HandOver(asked.parts, asked.call);
    PyGILState_Release(gil);
  }
  if (!asked.call->must_run_plain) CallTree(asked);
  if (asked.parts->mode == CompiledAs::kForward) asked.tree->awaits_backward = true;
  if (asked.parts->mode == CompiledAs::kBackward) asked.tree->awaits_backward = false;
}

// The model itself, in memory of torch's: a list of what was given.
PyObject* RunPlain(const Asked& asked) {
  Call* const call = asked.call;
  const Py_ssize_t count = static_cast<Py_ssize_t>(call->objects.size());
  PyObject* const list = PyList_New(count);
  if (list == nullptr) return nullptr;
  for (Py_ssize_t i = 0; i < count; ++i) {
    const size_t index = static_cast<size_t>(i);
    PyObject* const object = std::exchange(call->objects[index], nullptr);
    if (index < call->carried.size() && call->carried[index].defined()) {
      Py_XDECREF(object);
      PyList_SET_ITEM(list, i, THPVariable_Wrap(call->carried[index]));
    } else {
      PyList_SET_ITEM(list, i, object);
    }
  }
  call->DropValues();
  PyObject* const result = PyObject_CallOneArg(asked.function->model, list);
  Py_DECREF(list);
  return result;
}

// Python is told of what was no replay. Null with an error of Python's.
PyObject* TellPython(const Asked& asked) {
  const Call& call = *asked.call;
  PyObject* const route = PyUnicode_FromString(
      call.must_run_plain ? "mutation" : call.may_warn ? "pending" : "body");
  if (route == nullptr) return nullptr;
  // Of a recording that failed, after which the call ran eagerly.
  PyObject* const failed = call.raised[1] != nullptr && call.error == nullptr
                               ? PyObject_Str(call.raised[1]) : Py_NewRef(Py_None);
  PyObject* const result =
      failed == nullptr ? nullptr
                        : PyObject_CallFunction(asked.function->after_body, "OOiiO",
                                                asked.function, route,
                                                static_cast<int>(call.route),
                                                static_cast<int>(call.reason), failed);
  Py_XDECREF(failed);
  Py_DECREF(route);
  return result;
}

PyObject* RaiseError(Call* call) {
  if (call->raised[0] != nullptr) {
    PyErr_Restore(std::exchange(call->raised[0], nullptr),
                  std::exchange(call->raised[1], nullptr),
                  std::exchange(call->raised[2], nullptr));
    return nullptr;
  }
  Check(std::exchange(call->error, nullptr));
  return nullptr;
}

PyObject* Finish(const Asked& asked) {
  Call* const call = asked.call;
  const bool must_tell = call->body_ran || call->must_run_plain || call->may_warn;
  if (must_tell) {
    PyObject* const told = TellPython(asked);
    if (told == nullptr) return nullptr;
    Py_DECREF(told);
  }
  if (call->must_run_plain) return RunPlain(asked);
  if (call->error != nullptr) return RaiseError(call);
  return MakeOutputs(asked.function, call);
}

PyObject* RunCall(Function* function, PyObject* list, Call* call) {
  Function::Parts* const parts = function->parts;
  TORCH_CHECK(!is_forked_child.load(std::memory_order_relaxed), "graphtree: '", parts->name,
              "' is called in a forked process, which has no part in its parent's GPU: start "
              "processes with the 'spawn' method");
  if (parts->tree->is_this_thread_inside()) return PyObject_CallOneArg(function->model, list);
  if (!ReadInputs(function, list, call)) return nullptr;
  const int64_t generation = CurrentGeneration();
  // A call that writes to its inputs may have to run as it is, with all of them.
  const bool hands_over = generation == parts->tree->generation && parts->mutated.empty();
  if (hands_over) HandOver(parts, call);
  ++parts->calls;
  const Asked asked = {function, parts, parts->tree.get(), call, generation,
                       c10::cuda::getCurrentCUDAStream(parts->tree->index), hands_over};
  {
    const WithoutPython without_python;
    Enter(asked);
  }
  return Finish(asked);
}

// The function's own scratch, or another one while a call has that.
PyObject* CallFunction(PyObject* callable, PyObject* const* args, size_t count, PyObject* names) {
  HANDLE_TH_ERRORS
  auto* const function = reinterpret_cast<Function*>(callable);
  if (PyVectorcall_NARGS(count) != 1 || names != nullptr) {
    PyErr_Format(PyExc_TypeError, "graphtree: '%s' takes one list of its inputs",
                 function->parts->name.c_str());
    return nullptr;
  }
  Function::Parts* const parts = function->parts;
  std::unique_ptr<Call> own;
  Call* call = &parts->scratch;
  if (std::exchange(parts->is_busy, true)) {
    own = std::make_unique<Call>();
    call = own.get();
  }
  const CallEnd end(call, own == nullptr ? &parts->is_busy : nullptr);
  return RunCall(function, args[0], call);
  END_HANDLE_TH_ERRORS
}

}  // namespace

void WatchForks() {
  static const int watched =
      pthread_atfork(nullptr, nullptr, [] { is_forked_child.store(true); });
  static_cast<void>(watched);
}

vectorcallfunc FunctionCall() { return &CallFunction; }

}  // namespace graphtree::torch_adaptor
