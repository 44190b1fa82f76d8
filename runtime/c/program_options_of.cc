// Copies options field by field, and makes bodies of callbacks.
#include "runtime/c/program_options_of.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/c/keys.h"
#include "runtime/c/launcher_object.h"
#include "runtime/c/tree_options_of.h"
#include "runtime/configuration.h"

namespace graphtree::c {
namespace {

std::vector<std::string> WordsOf(const char* const* words, size_t count, const char* name,
                                 Entry* entry) {
  std::vector<std::string> made;
  if (!entry->HasArray(words, count, name)) return made;
  for (size_t i = 0; i < count; ++i) made.push_back(std::string(WordOf(words[i])));
  return made;
}

SlotFill FillOf(decltype(gt_slot::fill) fill, SharedContext context,
                std::weak_ptr<OpenedDevice> opened) {
  if (fill == nullptr) return nullptr;
  return [fill, context = std::move(context), opened = std::move(opened)](
             Launcher& on, const Key& key, const Tensor& slot) {
    const gt_key padded = KeyOf(key);
    RunCallback(on, opened.lock(), {}, [&](LauncherObject& object, gt_launcher handle) {
      gt_value value;
      object.Give(Value(slot), &value);
      return fill(context->get(), handle, &padded, &value);
    });
  };
}

SlotSpec SlotOf(const gt_slot& slot, const SharedContext& context,
                const std::shared_ptr<OpenedDevice>& opened, Entry* entry) {
  SlotSpec made;
  entry->Fail(CheckEnum("dtype", slot.dtype, GT_F64));
  entry->Fail(CheckEnum("rows", slot.rows, GT_KIND));
  entry->Fail(CheckEnum("pad", slot.pad, GT_PAD_FILL_ONCE));
  if (!entry->HasArray(slot.sizes, slot.rank, "gt_slot.sizes") || !entry->ok()) return made;
  made.name = std::string(WordOf(slot.name));
  made.type = static_cast<DType>(slot.dtype);
  made.sizes.assign(slot.sizes, slot.sizes + slot.rank);
  if (slot.rows != GT_NO_FIELD) made.rows = static_cast<KeyField>(slot.rows - 1);
  made.extra_rows = slot.extra_rows;
  made.axis = slot.axis;
  made.pad = static_cast<PadRule>(slot.pad);
  made.pad_value = slot.pad_value;
  made.may_be_left_out = slot.may_be_left_out != 0;
  made.fill = FillOf(slot.fill, context, opened);
  return made;
}

// The slots' own size is the distance from one to the next.
std::vector<SlotSpec> SlotsOf(const gt_program_options& options, const SharedContext& context,
                              const std::shared_ptr<OpenedDevice>& opened, Entry* entry) {
  std::vector<SlotSpec> made;
  if (!entry->HasArray(options.slots, options.slot_count, "slots")) return made;
  const auto* at = reinterpret_cast<const char*>(options.slots);
  for (size_t i = 0; i < options.slot_count && entry->ok(); ++i) {
    entry->AtInput(i);
    gt_slot slot;
    entry->Read(reinterpret_cast<const gt_slot*>(at), "gt_slot", &slot);
    if (entry->ok()) made.push_back(SlotOf(slot, context, opened, entry));
    at += options.slots->size;
  }
  entry->NoInput();
  return made;
}

ProgramBody ProgramBodyOf(gt_body body, SharedContext context,
                          std::weak_ptr<OpenedDevice> opened, const BodyGiven& sizes) {
  if (body == nullptr) return nullptr;
  return [body, context = std::move(context), opened = std::move(opened), sizes](
             Launcher& on, const ProgramInputs& in) {
    BodyGiven given = sizes;
    given.program = &in;
    return RunCallback(on, opened.lock(), given, [&](LauncherObject&, gt_launcher handle) {
      return body(context->get(), handle);
    });
  };
}

std::vector<DepId> DepsOf(const gt_program_options& options, Entry* entry) {
  std::vector<DepId> made;
  if (!entry->HasArray(options.dependencies, options.dependency_count, "dependencies")) return made;
  entry->Own([&] { made.reserve(options.dependency_count); });
  for (size_t i = 0; i < options.dependency_count; ++i) {
    const Ref<DependencyObject> dependency =
        entry->Get<DependencyObject>(options.dependencies[i], "a dependency");
    if (dependency && entry->ok()) made.push_back(dependency->id());
  }
  return made;
}

}  // namespace

ProgramOptions ProgramOptionsOf(const gt_program_options& options, SharedContext context,
                                const OpenedRuntime& runtime, Entry* entry) {
  ProgramOptions made;
  entry->Has(options.name, "gt_program_options.name");
  if (options.body == nullptr) {
    entry->Fail(absl::InvalidArgumentError("gt_program_new: gt_program_options.body is null"));
  }
  if (options.device >= runtime.devices().size()) {
    entry->Fail(absl::InvalidArgumentError(
        absl::StrCat("device ", options.device, " of ", runtime.devices().size())));
  }
  if (!entry->ok()) return made;
  const std::shared_ptr<OpenedDevice>& opened = runtime.devices()[options.device];
  const BodyGiven sizes = {.slots = options.slot_count, .dependencies = options.dependency_count};
  made.name = options.name;
  made.slots = SlotsOf(options, context, opened, entry);
  made.prepare = ProgramBodyOf(options.prepare, context, opened, sizes);
  made.body = ProgramBodyOf(options.body, context, opened, sizes);
  if (options.rules != nullptr) {
    gt_key_rules rules;
    entry->Read(options.rules, "gt_key_rules", &rules);
    if (entry->ok()) entry->Fail(RulesOf(rules, &made.rules));
  }
  made.lane = options.lane;
  made.device = options.device;
  made.deps = DepsOf(options, entry);
  made.tag = std::string(WordOf(options.tag));
  made.needs = WordsOf(options.needs, options.need_count, "needs", entry);
  if (entry->HasArray(options.kept_outputs, options.kept_output_count, "kept_outputs")) {
    made.kept_outputs.assign(options.kept_outputs,
                             options.kept_outputs + options.kept_output_count);
  }
  made.needs_commit = options.needs_commit != 0;
  made.tells_when_free = options.tells_when_free != 0;
  made.unseen_writes = options.unseen_writes != 0;
  made.check = options.check != 0;
  return made;
}

ServingMode ServingOf(const gt_serving_mode* mode, Entry* entry) {
  static constexpr Serving kServings[] = {Serving::kReplay, Serving::kOff, Serving::kShadow,
                                          Serving::kStrict};
  gt_serving_mode read;
  entry->Read(mode, "gt_serving_mode", &read);
  entry->Fail(CheckEnum("serving", read.serving, GT_SERVE_STRICT));
  if (!entry->ok()) return {};
  return {.serving = kServings[read.serving],
          .parity_every = read.parity_every,
          .tolerance = {read.tolerance_absolute, read.tolerance_relative}};
}

RuntimeOptions RuntimeOptionsOf(const gt_runtime_options& options, SharedContext context,
                                Entry* entry) {
  RuntimeOptions made;
  made.tree = TreeOptionsOf(options.tree, entry);
  made.pool_bytes = options.pool_bytes;
  made.shared = {options.nodes, options.executables, options.executable_bytes};
  made.records_while_serving = options.no_recording_while_serving == 0;
  made.serving = ServingOf(options.serving, entry);
  made.watches_steps = options.no_watch == 0;
  made.door = std::string(WordOf(options.door));
  if (options.log != nullptr) {
    made.log = [log = options.log, context](LogLevel level, const std::string& text) {
      log(context->get(), static_cast<gt_log_level>(level), text.c_str());
    };
  }
  if (options.clock_ns != nullptr) {
    made.clock_ns = [clock = options.clock_ns, context] { return clock(context->get()); };
  }
  if (options.use_environment == 0 || !entry->ok()) return made;
  absl::StatusOr<RuntimeOptions> over = WithEnvironment(made, ProcessEnvironment());
  entry->Fail(over.status());
  return over.ok() ? *std::move(over) : made;
}

}  // namespace graphtree::c
