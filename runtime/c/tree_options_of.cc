// Copies options field by field.
#include "runtime/c/tree_options_of.h"

#include <string>
#include <utility>
#include <vector>

#include "device/op_identity.h"
#include "graphs/function_hooks.h"
#include "runtime/c/bodies.h"
#include "runtime/c/errors.h"
#include "runtime/c/shared_bytes_object.h"
#include "runtime/c/tree_objects.h"

namespace graphtree::c {
namespace {

void SetUnlessZero(uint64_t from, uint64_t* into) {
  if (from != 0) *into = from;
}
// Where 0 is a value of its own, which -1 stands for.
void SetUnlessZero(int64_t from, uint64_t* into) {
  if (from != 0) *into = from < 0 ? 0 : static_cast<uint64_t>(from);
}

std::vector<uint32_t> NumbersOf(const uint32_t* numbers, size_t count, const char* name,
                                Entry* entry) {
  std::vector<uint32_t> made;
  if (!entry->HasArray(numbers, count, name)) return made;
  entry->Own([&] { made.assign(numbers, numbers + count); });
  return made;
}

// What a warning calls must be whole: the context goes with the last copy of it.
void SetWarn(const gt_tree_options& options, TreeOptions* into, Entry* entry) {
  const auto context = HoldContext(options.context, options.destroy, entry);
  if (options.warn == nullptr || context == nullptr) return;
  const auto set = [&] {
    into->warn = [warn = options.warn, context](const std::string& text) {
      warn(context->get(), text.c_str());
    };
  };
  if (TryOwn(set)) return;
  context->EndNow();
  entry->Fail(Entry::NoHandle());
}

void SetBudget(const gt_tree_options& options, TreeBudget* into) {
  SetUnlessZero(options.nodes, &into->nodes);
  SetUnlessZero(options.executables, &into->executables);
  SetUnlessZero(options.executable_bytes, &into->executable_bytes);
  SetUnlessZero(options.siblings, &into->siblings);
  SetUnlessZero(options.shapes_of_function, &into->shapes_of_function);
  SetUnlessZero(options.shapes, &into->shapes);
  SetUnlessZero(options.half_life, &into->half_life);
  SetUnlessZero(options.retry_after, &into->retry_after);
}

void SetSizes(const gt_function_options& options, FunctionOptions* into, Entry* entry) {
  const size_t length = options.recorded_size_length;
  if (!entry->HasArray(options.recorded_sizes, options.recorded_size_count, "recorded_sizes") ||
      !entry->HasArray(options.recorded_sizes, length, "each row of recorded_sizes") ||
      !entry->HasArray(options.recorded_sizes, options.recorded_size_count * length,
                       "recorded_sizes")) {
    return;
  }
  for (size_t i = 0; i < options.recorded_size_count; ++i) {
    const int64_t* const row = options.recorded_sizes + i * length;
    entry->Own([&] { into->recorded_sizes.emplace_back(row, row + length); });
  }
}

gt_launch_info InfoOf(const LaunchInfo& launch, bool ok) {
  return {.size = sizeof(gt_launch_info),
          .run = static_cast<gt_run_kind>(launch.run),
          .ok = ok ? 1 : 0,
          .function = launch.function.data(),
          .function_bytes = launch.function.size(),
          .op = launch.op != nullptr ? launch.op->name.data() : nullptr,
          .op_bytes = launch.op != nullptr ? launch.op->name.size() : 0,
          .recording = launch.recording,
          .section = launch.section,
          .op_count = launch.graph != nullptr ? launch.graph->op_count : 0};
}

void SetHooks(const gt_function_options& options, FunctionHooks* into) {
  const auto context =
      std::make_shared<CallerContext>(options.hooks_context, options.destroy_hooks);
  if (options.before_launch != nullptr) {
    into->before_launch = [before = options.before_launch, context](const LaunchInfo& launch) {
      const gt_launch_info info = InfoOf(launch, true);
      return TakeError(before(context->get(), &info));
    };
  }
  if (options.after_launch != nullptr) {
    into->after_launch = [after = options.after_launch, context](const LaunchInfo& launch,
                                                                 const absl::Status& launched) {
      const gt_launch_info info = InfoOf(launch, launched.ok());
      after(context->get(), &info);
    };
  }
}

}  // namespace

TreeOptions TreeOptionsOf(const gt_tree_options* options, Entry* entry) {
  TreeOptions made;
  gt_tree_options read;
  entry->Read(options, "gt_tree_options", &read);
  SetWarn(read, &made, entry);  // so that `destroy` is called whatever is wrong with the rest
  if (!entry->ok()) return made;
  made.pool_bytes = read.pool_bytes;
  made.initial_bytes = read.initial_bytes;
  made.enabled = read.off == 0;
  made.strict = read.strict != 0;
  made.check = read.check != 0;
  made.compare_replays = read.compare_replays != 0;
  made.skip_varying_sizes = read.skip_varying_sizes != 0;
  made.kept_bytes = read.kept_bytes;
  SetUnlessZero(read.rerecord_limit, &made.rerecord_limit);
  SetUnlessZero(read.patch_bytes, &made.patch_bytes);
  SetUnlessZero(read.spare_after, &made.spare_after);
  SetUnlessZero(read.pad_room_bytes, &made.pad_room_bytes);
  SetUnlessZero(read.shape_warn_limit, &made.shape_warn_limit);
  SetUnlessZero(read.warm_up_limit, &made.warm_up_limit);
  SetBudget(read, &made.budget);
  if (read.budget != nullptr) {
    const Ref<BudgetObject> budget = entry->Get<BudgetObject>(read.budget, "budget");
    if (budget) made.shared_budget = budget->budget();
  }
  made.shared_bytes = SharedBytesOf(read.shared_bytes, entry);
  return made;
}

FunctionOptions FunctionOptionsOf(const gt_function_options* options, Entry* entry) {
  FunctionOptions made;
  gt_function_options read;
  entry->Read(options, "gt_function_options", &read);
  SetHooks(read, &made.hooks);
  entry->Fail(CheckEnum("moving", read.moving, GT_MOVING_EAGER));
  if (!entry->ok()) return made;
  made.static_inputs =
      NumbersOf(read.static_inputs, read.static_input_count, "static_inputs", entry);
  made.mutated_inputs =
      NumbersOf(read.mutated_inputs, read.mutated_input_count, "mutated_inputs", entry);
  made.kept_outputs = NumbersOf(read.kept_outputs, read.kept_output_count, "kept_outputs", entry);
  if (entry->HasArray(read.alignments, read.alignment_count, "alignments")) {
    for (size_t i = 0; i < read.alignment_count; ++i) {
      entry->Fail(CheckReserved("gt_alignment", read.alignments[i].reserved));
      entry->Own([&] {
        made.alignments.push_back({read.alignments[i].input, read.alignments[i].bytes});
      });
    }
  }
  if (entry->HasArray(read.input_names, read.input_name_count, "input_names")) {
    for (size_t i = 0; i < read.input_name_count; ++i) {
      entry->Own([&] { made.input_names.push_back(std::string(WordOf(read.input_names[i]))); });
    }
  }
  SetSizes(read, &made, entry);
  if (read.most_outputs != 0) made.most_outputs = read.most_outputs;
  made.moving = static_cast<Moving>(read.moving);
  made.unseen_writes = read.unseen_writes != 0;
  made.exclude = read.exclude != 0;
  made.recorded_apart = read.recorded_apart != 0;
  made.skip_varying_sizes = read.skip_varying_sizes != 0;
  made.check = read.check != 0;
  return made;
}

}  // namespace graphtree::c
