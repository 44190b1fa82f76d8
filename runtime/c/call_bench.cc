// What the C interface adds to a replay: the same call of the same tree, and the same step of the
// same runtime, through C and through C++ in one run.
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/c/graphtree.h"
#include "runtime/c/ids_slot.h"
#include "runtime/c/objects.h"
#include "runtime/c/runtime_objects.h"
#include "runtime/c/tree_objects.h"
#include "tools/benching/row.h"
#include "tools/benching/timing.h"

namespace graphtree::c {
namespace {

using bench::ComparePair;
using bench::Measurement;
using bench::Outcome;
using bench::RegisterRow;

constexpr uint32_t kWords = 64;

// The first error's text; all calls after it change nothing here.
class Errors {
 public:
  void Add(gt_error error) {
    if (error == nullptr) return;
    if (status_.ok()) status_ = absl::InternalError(gt_error_look(error)->text);
    gt_release(error);
  }
  void Add(absl::Status status) { status_.Update(status); }
  const absl::Status& status() const { return status_; }

 private:
  absl::Status status_;
};

void AddOnHost(void*, const gt_host_call* call) {
  auto* const out = *static_cast<int32_t* const*>(call->arguments[0]);
  for (uint32_t i = 0; i < kWords; ++i) out[i] = static_cast<int32_t>(i);
}

// A device, memory, a kernel; a tree with one function, and a runtime with one program.
class World {
 public:
  explicit World(size_t inputs) {
    const int64_t sizes[] = {kWords};
    const uint32_t bytes[] = {8};
    gt_kernel_options kernel = GT_INIT(gt_kernel_options);
    kernel.name = "count";
    kernel.parameter_count = 1;
    kernel.parameter_bytes = bytes;
    kernel.host = AddOnHost;
    errors_.Add(gt_device_open("host", nullptr, &device_));
    errors_.Add(gt_stream_new(device_, &stream_));
    errors_.Add(gt_kernel_new(&kernel, &kernel_));
    errors_.Add(gt_layout_new(GT_I32, 1, sizes, nullptr, &layout_));
    errors_.Add(gt_memory_new(device_, GT_ON_HOST, kWords * 4 * inputs, &memory_));
    errors_.Add(gt_memory_range(memory_, &range_));
    for (size_t i = 0; i < inputs; ++i) {
      inputs_.push_back(gt_tensor(range_.address + i * kWords * 4, layout_));
    }
  }
  ~World() {
    for (void* handle : std::initializer_list<void*>{tree_, runtime_, memory_, kernel_, stream_,
                                                     device_}) {
      gt_release(handle);
    }
  }

  void MakeTree() {
    std::vector<uint32_t> statics(inputs_.size());
    for (uint32_t i = 0; i < statics.size(); ++i) statics[i] = i;
    gt_function_options options = GT_INIT(gt_function_options);
    options.static_inputs = statics.data();
    options.static_input_count = statics.size();
    errors_.Add(gt_tree_new(device_, nullptr, &tree_));
    errors_.Add(gt_tree_register(tree_, "count", &options, Body, this, nullptr, &function_));
    for (int i = 0; i < 4; ++i) CallThroughC();
    const Ref<FunctionObject> function = Find<FunctionObject>(HandleOf(function_));
    const Ref<StreamObject> stream = Find<StreamObject>(HandleOf(stream_));
    if (!function || !stream) return;
    cpp_tree_ = &function->tree();
    cpp_function_ = function->id();
    cpp_stream_ = &stream->stream();
    for (const gt_value& input : inputs_) {
      cpp_inputs_.push_back(Tensor::Foreign(input.word, LayoutOf(input.layout)));
    }
  }
  // The step is begun in the same way on both sides.
  void BeginStep() {
    if (cpp_tree_ != nullptr) {
      cpp_tree_->BeginStep();
    } else {
      errors_.Add(gt_tree_begin_step(tree_));
    }
  }
  void CallThroughC() {
    gt_value out;
    BeginStep();
    errors_.Add(gt_call(function_, inputs_.data(), inputs_.size(), stream_, &out, 1, nullptr));
    errors_.Add(gt_release(out.storage));
  }
  void CallThroughCpp() {
    BeginStep();
    errors_.Add(cpp_tree_->Run(cpp_function_, absl::MakeSpan(cpp_inputs_), *cpp_stream_,
                               &cpp_outputs_));
    cpp_outputs_.clear();
  }

  void MakeRuntime() {
    const int64_t size = kWords;
    const gt_slot slot = IdsSlot(&size);
    gt_program_options options = GT_INIT(gt_program_options);
    options.name = "count";
    options.slots = &slot;
    options.slot_count = 1;
    options.body = Body;
    options.context = this;
    key_.tokens = 8;
    errors_.Add(gt_runtime_new(&device_, 1, nullptr, &runtime_));
    errors_.Add(gt_program_new(runtime_, &options, &program_));
    errors_.Add(gt_program_add_shapes(program_, &key_, 1, GT_FULL));
    errors_.Add(gt_program_record(program_, stream_));
    const Ref<ProgramObject> program = Find<ProgramObject>(HandleOf(program_));
    const Ref<StreamObject> stream = Find<StreamObject>(HandleOf(stream_));
    if (!program || !stream) return;
    cpp_runtime_ = &program->runtime();
    cpp_program_ = program->id();
    cpp_stream_ = &stream->stream();
  }
  void StepThroughC() {
    gt_step step = nullptr;
    gt_value out;
    const gt_rows rows = {GT_I32, 0, reinterpret_cast<uint64_t>(ids_), 8, 0, 0};
    errors_.Add(gt_step_begin(program_, &key_, stream_, nullptr, &step));
    errors_.Add(gt_step_stage(step, 0, &rows));
    errors_.Add(gt_step_run(step, &out, 1, nullptr));
    errors_.Add(gt_release(step));
    errors_.Add(gt_release(out.storage));
  }
  void StepThroughCpp() {
    absl::StatusOr<Step> step = cpp_runtime_->Begin(cpp_program_, {.tokens = 8}, *cpp_stream_);
    if (!step.ok()) return errors_.Add(step.status());
    errors_.Add(step->Stage(0, HostRows{ids_, DType::kI32, 8}));
    errors_.Add(step->Run(&cpp_outputs_));
    cpp_outputs_.clear();
  }

  void Drain() { errors_.Add(gt_stream_synchronize(stream_)); }
  const absl::Status& status() const { return errors_.status(); }
  uint64_t replays() {
    gt_tree_stats stats = GT_INIT(gt_tree_stats);
    errors_.Add(gt_tree_look(tree_, &stats));
    return stats.replays;
  }

 private:
  static gt_error Body(void* context, gt_launcher on) {
    const World& world = *static_cast<World*>(context);
    const gt_launch_shape shape = {{1, 1, 1}, {kWords, 1, 1}, 0, 0};
    gt_value out;
    gt_launcher_empty(on, world.layout_, &out);
    const gt_arg args[] = {GT_OUT(&out)};
    gt_launcher_launch(on, world.kernel_, &shape, args, 1);
    return gt_launcher_output(on, &out);
  }

  Errors errors_;
  gt_device device_ = nullptr;
  gt_stream stream_ = nullptr;
  gt_kernel kernel_ = nullptr;
  gt_layout layout_ = nullptr;
  gt_memory memory_ = nullptr;
  gt_range range_ = {};
  gt_tree tree_ = nullptr;
  gt_function function_ = nullptr;
  gt_runtime runtime_ = nullptr;
  gt_program program_ = nullptr;
  gt_key key_ = {};
  std::vector<gt_value> inputs_;
  const int32_t ids_[8] = {};
  // The same objects.
  Tree* cpp_tree_ = nullptr;
  FunctionId cpp_function_ = 0;
  Runtime* cpp_runtime_ = nullptr;
  ProgramId cpp_program_;
  Stream* cpp_stream_ = nullptr;
  Values cpp_inputs_;
  Values cpp_outputs_;
};

bench::TimingOptions Timing(World& world) {
  bench::TimingOptions options;
  options.most_calls = 48;
  options.batches = 601;
  options.between = [&world] { world.Drain(); };
  return options;
}

Outcome Calls(size_t inputs) {
  World world(inputs);
  world.MakeTree();
  if (!world.status().ok()) return world.status();
  const uint64_t before = world.replays();
  const Measurement pair = ComparePair([&] { world.CallThroughC(); },
                                       [&] { world.CallThroughCpp(); }, Timing(world));
  if (!world.status().ok()) return world.status();
  if (world.replays() == before) return absl::InternalError("nothing was replayed");
  return pair;
}

Outcome Steps() {
  World world(1);
  world.MakeRuntime();
  if (!world.status().ok()) return world.status();
  const Measurement pair = ComparePair([&] { world.StepThroughC(); },
                                       [&] { world.StepThroughCpp(); }, Timing(world));
  if (!world.status().ok()) return world.status();
  return pair;
}

bool RegisterAll() {
  for (const size_t inputs : {1, 16, 256}) {
    RegisterRow({.name = absl::StrCat("c.host.call.static_", inputs),
                 .ours = "a replay through C, its output released",
                 .against = "the same through C++",
                 .goal = inputs == 1 ? "difference <= 50 ns" : ""},
                [inputs] { return Calls(inputs); });
  }
  RegisterRow({.name = "c.host.step",
               .ours = "a step through C: begin, stage, run, release",
               .against = "the same through C++",
               .goal = ""},
              Steps);
  return true;
}

[[maybe_unused]] const bool registered = RegisterAll();

}  // namespace
}  // namespace graphtree::c
