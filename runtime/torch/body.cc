// Runs the model in the tree's memory and on its stream, and finds out what its outputs are.
//
//   gt_call --miss--> RunBody:  inputs as tensors   the call's own, or over what stands in for them
//                               region, stream, random numbers
//                               model(list) -> outputs --> gt_launcher_output, the spec's number
#include <c10/cuda/CUDAGraphsC10Utils.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "runtime/torch/function.h"
#include "runtime/torch/generator.h"
#include "runtime/torch/layouts.h"
#include "runtime/torch/library.h"
#include "runtime/torch/python_errors.h"
#include "runtime/torch/region.h"

namespace graphtree::torch_adaptor {
namespace {

struct Owned {
  explicit Owned(PyObject* given) : object(given) {}
  ~Owned() { Py_XDECREF(object); }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  PyObject* const object;
};

struct BodyRun {
  Function* function;
  Call* call;
  gt_launcher on;
  Region* region;
};

at::Tensor StandInFor(const BodyRun& run, size_t index, void* address) {
  const KnownInput& known = run.function->parts->known[index];
  OutputSpec spec;
  spec.sizes = known.sizes;
  spec.strides = known.strides;
  spec.dtype = known.dtype;
  int64_t elements = 1;
  for (size_t i = 0; i < spec.sizes.size(); ++i) {
    elements += (spec.sizes[i] - 1) * spec.strides[i];
  }
  auto storage = c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(),
      elements * static_cast<int64_t>(known.dtype.itemsize()),
      run.region->StandIn(address, index), nullptr, /*resizable=*/false);
  return TensorOver(spec, c10::Storage(std::move(storage)), 0);
}

bool IsWritten(const Function::Parts& parts, size_t index) {
  return std::find(parts.mutated.begin(), parts.mutated.end(), index) != parts.mutated.end();
}

// A new reference. An input that the call brings is given as it is where the body finds it where it
// was; what a tree made is handed over, so that it may die in the body.
PyObject* GiveInput(const BodyRun& run, size_t index) {
  Call* const call = run.call;
  if (call->given[index] == GivenAs::kObject || call->given[index] == GivenAs::kInteger) {
    return Py_NewRef(call->objects[index]);
  }
  gt_value value = gt_nothing();
  CheckLauncher(Gt().gt_launcher_any_input(run.on, index, &value));
  CheckLauncher(IsWritten(*run.function->parts, index) ? Gt().gt_launcher_writes(run.on, &value)
                                                       : Gt().gt_launcher_reads(run.on, &value));
  if (value.storage != nullptr) Check(Gt().gt_release(value.storage));
  // A body that runs again in one call finds what it was handed over in the library's hands alone.
  if (AddressOf(value.word) != call->addresses[index] || call->objects[index] == nullptr) {
    return THPVariable_Wrap(StandInFor(run, index, AddressOf(value.word)));
  }
  if (call->given[index] == GivenAs::kCallers) return THPVariable_Wrap(call->TensorAt(index));
  const at::Tensor& tensor = call->TensorAt(index);
  run.region->GiveInput(Hold::Of(tensor.storage().unsafeGetStorageImpl()), index);
  return std::exchange(call->objects[index], nullptr);
}

PyObject* GiveInputs(const BodyRun& run) {
  const size_t count = run.call->values.size();
  PyObject* const list = PyList_New(static_cast<Py_ssize_t>(count));
  if (list == nullptr) return nullptr;
  for (size_t i = 0; i < count; ++i) {
    PyObject* const given = GiveInput(run, i);
    if (given == nullptr) {
      Py_DECREF(list);
      return nullptr;
    }
    PyList_SET_ITEM(list, static_cast<Py_ssize_t>(i), given);
  }
  return list;
}

// By output; undefined where it is no tensor.
using Tensors = std::vector<at::Tensor>;

// The input that the storage is, or -1. What a tree made and has died in the body is none: another
// storage may lie where it was.
int64_t InputOf(const BodyRun& run, c10::StorageImpl* storage) {
  const c10::DataPtr& data = storage->_mutable_data_ptr_no_checks();
  if (const int64_t stands_in = Region::InputOf(data); stands_in >= 0) return stands_in;
  if (const Hold* const hold = Hold::Of(data); hold != nullptr) {
    return run.region->InputOf(hold);
  }
  const Call& call = *run.call;
  for (size_t i = 0; i < call.objects.size(); ++i) {
    if (call.given[i] != GivenAs::kCallers || call.objects[i] == nullptr) continue;
    if (call.TensorAt(i).storage().unsafeGetStorageImpl() == storage) {
      return static_cast<int64_t>(i);
    }
  }
  return -1;
}

int64_t EarlierOf(const Tensors& tensors, size_t index, c10::StorageImpl* storage) {
  for (size_t i = 0; i < index; ++i) {
    if (tensors[i].defined() && tensors[i].has_storage() &&
        tensors[i].storage().unsafeGetStorageImpl() == storage) {
      return static_cast<int64_t>(i);
    }
  }
  return -1;
}

void ClassifyForeign(const BodyRun& run, const at::Tensor& tensor, size_t index,
                     OutputSpec* spec) {
  const Function::Parts& parts = *run.function->parts;
  spec->tensor = tensor;
  spec->kind = OutputKind::kStatic;
  c10::StorageImpl* const storage = tensor.storage().unsafeGetStorageImpl();
  const bool is_constant = std::find(parts.constants.begin(), parts.constants.end(), storage) !=
                           parts.constants.end();
  if (tensor.numel() == 0 || is_constant) return;
  TORCH_CHECK(!run.call->was_captured, "graphtree: output ", index, " of '", parts.name,
              "' lies in memory that was not made while the function was recorded (",
              tensor.device().str(), ", ", tensor.sizes(), "), and would be the same tensor in "
              "each replay. Made at: ", parts.maker->Where(index),
              ". Make it inside of the function, or pass it in as an input");
  spec->kind = OutputKind::kPassed;
  run.call->passed[index] = tensor;
  spec->tensor = at::Tensor();
}

void ClassifyTensor(const BodyRun& run, const Tensors& tensors, size_t index, OutputSpec* spec) {
  const at::Tensor& tensor = tensors[index];
  DescribeTensor(tensor, spec);
  if (tensor.numel() == 0 || !tensor.has_storage()) {
    return ClassifyForeign(run, tensor, index, spec);
  }
  c10::StorageImpl* const storage = tensor.storage().unsafeGetStorageImpl();
  if (const int64_t input = InputOf(run, storage); input >= 0) {
    const c10::DataPtr& data = storage->_mutable_data_ptr_no_checks();
    const bool stands_in = Region::InputOf(data) >= 0;
    spec->kind = OutputKind::kInput;
    spec->source = static_cast<uint32_t>(input);
    if (!stands_in) {
      spec->offset += static_cast<char*>(data.get()) -
                      static_cast<char*>(run.call->addresses[spec->source]);
      run.call->storages[index] = tensor.storage();
    }
    run.function->parts->is_aliased[spec->source] = true;
    return;
  }
  if (Hold::Of(storage) == nullptr) return ClassifyForeign(run, tensor, index, spec);
  spec->kind = OutputKind::kOwn;
  spec->storage_bytes = storage->nbytes();
  if (const int64_t earlier = EarlierOf(tensors, index, storage); earlier >= 0) {
    spec->kind = OutputKind::kSame;
    spec->source = static_cast<uint32_t>(earlier);
  }
}

// Hands one output to the library: its memory, where it is the body's own.
void HandOut(const BodyRun& run, const Tensors& tensors, size_t index, const OutputSpec& spec) {
  gt_value value = gt_nothing();
  if (spec.kind == OutputKind::kOwn) {
    c10::StorageImpl* const storage = tensors[index].storage().unsafeGetStorageImpl();
    value = gt_tensor(WordOf(storage->data()), LayoutOfBytes(storage->nbytes()));
    value.storage = Hold::Of(storage)->storage();
    CheckLauncher(Gt().gt_launcher_writes(run.on, &value));
  }
  CheckLauncher(Gt().gt_launcher_output(run.on, &value));
}

size_t NumberOf(Function::Parts* parts, ReturnSpec&& spec) {
  for (size_t i = 0; i < parts->specs.size(); ++i) {
    if (parts->specs[i].IsSameAs(spec)) return i;
  }
  parts->specs.push_back(std::move(spec));
  return parts->specs.size() - 1;
}

void HandOutAll(const BodyRun& run, PyObject* returned) {
  const Owned items(PySequence_Fast(returned, "the model returns a list or tuple"));
  if (items.object == nullptr) RaisePythonError();
  const size_t count = static_cast<size_t>(PySequence_Fast_GET_SIZE(items.object));
  const Function::Parts& parts = *run.function->parts;
  TORCH_CHECK(count < parts.most_outputs, "graphtree: '", parts.name, "' returns ", count,
              " outputs, and its call has room for ", parts.most_outputs - 1);
  Tensors tensors(count);
  run.call->passed.assign(count, at::Tensor());
  run.call->storages.assign(count, c10::Storage());
  ReturnSpec spec;
  for (size_t i = 0; i < count; ++i) {
    PyObject* const item = PySequence_Fast_GET_ITEM(items.object, static_cast<Py_ssize_t>(i));
    OutputSpec& output = spec.outputs.emplace_back();
    if (THPVariable_Check(item)) {
      tensors[i] = THPVariable_Unpack(item);
      ClassifyTensor(run, tensors, i, &output);
    } else {
      output.object = Py_NewRef(item);
    }
    HandOut(run, tensors, i, output);
  }
  const gt_value number = gt_integer(
      static_cast<int64_t>(NumberOf(run.function->parts, std::move(spec))));
  CheckLauncher(Gt().gt_launcher_output(run.on, &number));
}

// The model's random numbers come from the words of the recording.
class BodyRandom {
 public:
  BodyRandom(const BodyRun& run, c10::cuda::CUDAStream stream) : run_(run) {
    const TreeState& tree = *run.function->parts->tree;
    if (!run.call->was_captured) {
      before_ = TorchRandomPlace(tree.index);
    } else if (run.function->parts->draws) {
      gt_random_state start = {};
      CheckLauncher(Gt().gt_launcher_random(run.on, tree.generator, 0, &start));
      captured_.emplace(tree.index, WordOf(start.words), start.offset, stream);
    }
  }
  void End() {
    const TreeState& tree = *run_.function->parts->tree;
    if (captured_.has_value()) {
      gt_random_state end = {};
      CheckLauncher(Gt().gt_launcher_random(run_.on, tree.generator, captured_->End(), &end));
    } else if (!run_.call->was_captured) {
      const RandomPlace after = TorchRandomPlace(tree.index);
      if (after.seed != before_.seed || after.offset <= before_.offset) return;
      // The tree is to know of all generators before it records.
      run_.function->parts->draws = true;
      gt_random_state drawn = {};
      CheckLauncher(Gt().gt_launcher_random(run_.on, tree.generator,
                                            after.offset - before_.offset, &drawn));
    }
  }

 private:
  const BodyRun& run_;
  RandomPlace before_;
  std::optional<CapturedRandom> captured_;
};

// A workspace that a library keeps lies in the memory of whoever allocated it: none outlives a
// body, and none of torch's is in one.
void ClearWorkspaces() {
  PyObject* const result = CallHook(Hook::kClearWorkspaces);
  if (result == nullptr) RaisePythonError();
  Py_DECREF(result);
}

void RunModel(const BodyRun& run, c10::cuda::CUDAStream stream) {
  ClearWorkspaces();
  BodyRandom random(run, stream);
  PyObject* const list = GiveInputs(run);
  if (list == nullptr) RaisePythonError();
  PyObject* const returned = PyObject_CallOneArg(run.function->model, list);
  const Owned kept(returned);
  // What the model has left in the list dies here, as in a model that empties it.
  PyList_SetSlice(list, 0, PyList_GET_SIZE(list), nullptr);
  Py_DECREF(list);
  if (returned == nullptr) RaisePythonError();
  random.End();
  ClearWorkspaces();
  HandOutAll(run, returned);
}

// None, or null with an error of Python's.
PyObject* RunGuarded(Function* function, gt_launcher on) {
  HANDLE_TH_ERRORS
  Function::Parts* const parts = function->parts;
  Call* const call = parts->current;
  TORCH_CHECK(call != nullptr, "graphtree: the body of '", parts->name, "' runs without a call");
  void* native = nullptr;
  CheckLauncher(Gt().gt_launcher_native_stream(on, &native));
  const c10::cuda::CUDAStream stream = c10::cuda::getStreamFromExternal(
      static_cast<cudaStream_t>(native), parts->tree->index);
  const c10::cuda::CUDAStreamGuard guard(stream);
  call->body_ran = true;
  call->was_captured = c10::cuda::currentStreamCaptureStatusMayInitCtx() !=
                       c10::cuda::CaptureStatus::None;
  ++parts->tree->counts.bodies;
  Region region(on, parts->tree->device, parts->tree->index, parts->tree->holds);
  RunModel({function, call, on, &region}, stream);
  Py_RETURN_NONE;
  END_HANDLE_TH_ERRORS
}

}  // namespace

gt_error RunBody(void* context, gt_launcher on) {
  Function* const function = static_cast<Function*>(context);
  const PyGILState_STATE gil = PyGILState_Ensure();
  PyObject* const result = RunGuarded(function, on);
  gt_error error = nullptr;
  if (result == nullptr) {
    Call* const call = function->parts->current;
    for (PyObject*& part : call->raised) Py_CLEAR(part);
    PyErr_Fetch(&call->raised[0], &call->raised[1], &call->raised[2]);
    // A capture without a place for random numbers: the next recording makes one.
    if (call->was_captured) function->parts->draws = true;
    error = Gt().gt_error_new(GT_ABORTED, "the body raised an exception of Python's");
  }
  Py_XDECREF(result);
  PyGILState_Release(gil);
  return error;
}

}  // namespace graphtree::torch_adaptor
