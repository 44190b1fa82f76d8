// Makes torch's tensors of what a call hands out. They are new in every call: a tensor that is kept
// for the next call would hide its death from the tree, and keep its history of autograd alive.
#include <torch/csrc/autograd/python_variable.h>

#include <utility>

#include "runtime/torch/function.h"
#include "runtime/torch/hold.h"
#include "runtime/torch/layouts.h"

namespace graphtree::torch_adaptor {
namespace {

struct Made {
  Function::Parts* parts;
  Call* call;
  const ReturnSpec& spec;
  std::vector<c10::Storage> storages;  // by output
};

at::Tensor MakeOwn(Made* made, size_t index) {
  const OutputSpec& spec = made->spec.outputs[index];
  gt_value& value = made->call->outputs[index];
  TORCH_CHECK(value.kind == GT_TENSOR && value.storage != nullptr, "graphtree: output ", index,
              " of '", made->parts->name, "' has no memory of the tree's");
  const TreeState& tree = *made->parts->tree;
  made->storages[index] = Hold::MakeStorage(
      tree.holds, std::exchange(value.storage, nullptr), AddressOf(value.word),
      spec.storage_bytes, c10::Device(c10::DeviceType::CUDA, tree.index), made->parts->maker,
      static_cast<uint32_t>(index));
  return TensorOver(spec, made->storages[index], spec.offset);
}

at::Tensor MakeOfInput(Made* made, size_t index) {
  const OutputSpec& spec = made->spec.outputs[index];
  const Call& call = *made->call;
  c10::Storage storage;
  if (index < call.storages.size() && call.storages[index]) {
    storage = call.storages[index];
  } else {
    TORCH_CHECK(call.objects[spec.source] != nullptr, "graphtree: output ", index, " of '",
                made->parts->name, "' looks into input ", spec.source, ", which has gone");
    storage = call.TensorAt(spec.source).storage();
  }
  const int64_t start = static_cast<char*>(call.addresses[spec.source]) -
                        static_cast<const char*>(storage.data());
  return TensorOver(spec, std::move(storage), start + spec.offset);
}

PyObject* MakeOutput(Made* made, size_t index) {
  const OutputSpec& spec = made->spec.outputs[index];
  switch (spec.kind) {
    case OutputKind::kOwn: return THPVariable_Wrap(MakeOwn(made, index));
    case OutputKind::kSame:
      return THPVariable_Wrap(TensorOver(spec, made->storages[spec.source], spec.offset));
    case OutputKind::kInput: return THPVariable_Wrap(MakeOfInput(made, index));
    case OutputKind::kStatic: return THPVariable_Wrap(spec.tensor);
    case OutputKind::kPassed: return THPVariable_Wrap(made->call->passed[index]);
    case OutputKind::kObject: break;
  }
  return Py_NewRef(spec.object);
}

}  // namespace

PyObject* MakeOutputs(Function* function, Call* call) {
  Function::Parts* const parts = function->parts;
  const uint64_t number = call->outputs.empty() ? 0 : call->outputs.back().word;
  TORCH_CHECK(!call->outputs.empty() && call->outputs.back().kind == GT_INTEGER &&
                  number < parts->specs.size(),
              "graphtree: the outputs of '", parts->name, "' do not say what they are");
  Made made = {parts, call, parts->specs[number], {}};
  const size_t count = made.spec.outputs.size();
  made.storages.resize(count);
  PyObject* const list = PyList_New(static_cast<Py_ssize_t>(count));
  for (size_t i = 0; list != nullptr && i < count; ++i) {
    PyObject* const output = MakeOutput(&made, i);
    if (output == nullptr) {
      Py_DECREF(list);
      return nullptr;
    }
    PyList_SET_ITEM(list, static_cast<Py_ssize_t>(i), output);
  }
  return list;
}

}  // namespace graphtree::torch_adaptor
