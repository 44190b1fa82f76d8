// One function of a tree, as Python calls it: `function(inputs) -> outputs`, with a list that is
// emptied and a list that is made, as torch's compiled functions are called.
//
//   call --inputs as words--> gt_call --hit--> outputs as words --> new tensors
//                                `--miss--> body: Python's model, in a region of the tree's memory
//
// Threads: any; calls of one tree take turns, and wait for that without Python's lock. Cost of a
// replay: a few nanoseconds for each input, a hundred or two for each output, and the launch.
#ifndef GRAPHTREE_RUNTIME_TORCH_FUNCTION_H_
#define GRAPHTREE_RUNTIME_TORCH_FUNCTION_H_

#include <Python.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "runtime/c/graphtree.h"
#include "runtime/torch/output_spec.h"
#include "runtime/torch/tree_state.h"

namespace graphtree::torch_adaptor {

enum class CompiledAs : int { kForward = 0, kBackward = 1, kInference = 2 };

// What one input was the last time: its layout is asked of the library once.
struct KnownInput {
  std::vector<int64_t> sizes, strides;
  caffe2::TypeMeta dtype;
  gt_layout layout = nullptr;
};

enum class GivenAs : uint8_t {
  kObject,   // no tensor, or one without bytes: the body gets the object as it is
  kInteger,  // likewise, and part of the recording's key
  kCallers,  // memory of the caller's
  kTrees     // memory of a tree's: the call is given a handle of its own
};

struct Function;

// One call: what is read of the inputs, and what comes out. Reused by the function's next call.
struct Call {
  std::vector<PyObject*> objects;  // owned, but for null: the inputs, until they are handed over
  std::vector<GivenAs> given;
  std::vector<gt_value> values;    // the inputs; afterwards handles of what was not consumed
  std::vector<void*> addresses;    // of each tensor's first byte
  std::vector<gt_value> outputs;
  std::vector<at::Tensor> carried;  // copies of inputs whose step ended; empty where there is none
  // What the body found, if it ran.
  bool body_ran = false;
  bool was_captured = false;
  std::vector<at::Tensor> passed;        // kPassed outputs, by output
  std::vector<c10::Storage> storages;    // of kInput outputs, by output
  PyObject* raised[3] = {nullptr, nullptr, nullptr};
  // What the tree said.
  gt_error error = nullptr;
  gt_route route = GT_ROUTE_NONE;
  gt_reason reason = GT_NO_REASON;
  bool must_run_plain = false;  // it writes to an input that is neither static nor a tree's
  bool may_warn = false;        // calls wait for a backward pass, and nothing is ever recorded

  // The tensor that the call brings, a copy of it included. REQUIRES: it is there.
  const at::Tensor& TensorAt(size_t index) const;
  void DropObjects();
  void DropValues();
  void Reset();
};

// Where an output was made, in the user's source.
class StackTraces : public Maker {
 public:
  StackTraces(std::string name, std::vector<std::string> traces)
      : name_(std::move(name)), traces_(std::move(traces)) {}
  std::string Where(size_t output) const override;

 private:
  const std::string name_;
  const std::vector<std::string> traces_;
};

struct Function {
  PyObject_HEAD
  vectorcallfunc vectorcall;
  PyObject* weak_references;
  PyObject* model;       // the body: a list in, a list or tuple out
  PyObject* after_body;  // told of each call that was no replay, and why
  struct Parts;
  Parts* parts;
};

// The members that are C++ objects.
struct Function::Parts {
  std::shared_ptr<TreeState> tree;
  gt_function function = nullptr;
  uint64_t number = 0;
  std::string name;
  CompiledAs mode = CompiledAs::kInference;
  std::vector<bool> is_static;
  std::vector<uint32_t> mutated;           // inputs that the body writes to
  std::vector<c10::StorageImpl*> constants;  // held by the model
  std::shared_ptr<const Maker> maker;
  std::vector<KnownInput> known;
  std::vector<bool> is_aliased;            // an output looks into the input
  std::vector<ReturnSpec> specs;
  bool is_warm = false;
  bool was_recorded = false;
  bool was_recorded_inside = false;        // behind another function's call
  bool draws = false;                      // random numbers
  size_t most_outputs = 4096;              // room for them, and for the spec's number
  bool has_warned = false;
  bool is_busy = false;                    // `scratch` is in use
  Call scratch;
  Call* current = nullptr;                 // whose body may run; guarded by the tree's mutex
  uint64_t calls = 0;
  uint64_t kept_allocations = 0;           // that a body left behind and did not return
};

// What a call of a Function's is; and children of this process are told apart from here on.
vectorcallfunc FunctionCall();
void WatchForks();
// The type Function, ready; null with an error of Python's.
PyTypeObject* FunctionType();
// Reads the inputs of a call, and empties the list. False with an error of Python's.
bool ReadInputs(Function* function, PyObject* list, Call* call);
// The body that the library calls.
gt_error RunBody(void* function, gt_launcher on);
// The outputs of a call that went well, as a list; null with an error of Python's.
PyObject* MakeOutputs(Function* function, Call* call);
// What of torch's Python is asked in calls.
enum class Hook : int { kMarkStepBox = 0, kGenerationTracker = 1, kClearWorkspaces = 2 };
bool SetHooks(PyObject* mark_step_box, PyObject* generation_tracker, PyObject* clear_workspaces);
// A new reference to what it returns; null with an error of Python's.
PyObject* CallHook(Hook hook);
// Torch's generation now: negative once mark_step_begin was called.
int64_t CurrentGeneration();

}  // namespace graphtree::torch_adaptor

#endif  // GRAPHTREE_RUNTIME_TORCH_FUNCTION_H_
