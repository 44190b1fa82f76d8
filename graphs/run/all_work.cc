// Looks for memory of the body that no op of its recording takes.
#include "graphs/run/all_work.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "graphs/inputs/pointer_slots.h"
#include "graphs/run/planted_bug.h"

namespace graphtree {
namespace {

// Whether the body allocated this storage.
bool IsMade(const Storage* storage, const StepMemory& memory, const Path& path,
            const Draft& draft) {
  return storage != nullptr && storage->state() == StorageState::kOwning &&
         memory.InStepRegion(storage->range()) && !path.Holds(*storage) &&
         !absl::c_linear_search(draft.stand_ins, storage->serial);
}

// Whether an argument of some op holds an address in `memory`, though no launch declares it.
bool IsNamed(AddressRange memory, const Draft& draft) {
  bool is_named = false;
  draft.node->VisitSections([&](const Section& section) {
    if (section.graph == nullptr || is_named) return;
    is_named = !HiddenPointers(section.graph->ops(), {}, {}, {{0, memory}}).empty();
    section.graph->ForgetOps();
  });
  return is_named;
}

std::optional<MissingWork> Missing(const StepMemory& memory, const Path& path, const WorkLog& log,
                                   const Draft& draft) {
  std::vector<Returned> returned;
  for (uint32_t i = 0; i < draft.outputs.size(); ++i) {
    const Value& output = draft.outputs[i];
    if (!IsMade(output.storage(), memory, path, draft)) continue;
    returned.push_back({i, {output.storage()->serial, RangeOf(output)}});
  }
  return log.Missing(returned);
}

}  // namespace

bool HasAllWork(const Call& call, const StepMemory& memory, const Path& path, const WorkLog& log,
                Draft* draft) {
  Variant& variant = *call.variant;
  if (call.function.options.unseen_writes) return true;
  if (IsPlanted(PlantedBug::kForgetsElsewhere)) return true;
  const std::optional<MissingWork> missing = Missing(memory, path, log, *draft);
  if (!missing.has_value() || IsNamed(missing->memory, *draft)) return true;
  variant.works_elsewhere = ToString(*missing);
  draft->status = absl::FailedPreconditionError(variant.works_elsewhere);
  draft->reason = Reason::kWorksElsewhere;
  // The captured ops have not run, and an eager run makes the body's own memory again. Only memory
  // of others that opaque work is declared to write may have been written.
  const bool said_of_others =
      missing->kind == MissingWork::Kind::kSaid && !memory.InStepRegion(missing->memory);
  if (!said_of_others) return false;
  draft->is_final = true;
  draft->status = absl::FailedPreconditionError(
      absl::StrCat("'", call.function.name, "' cannot be recorded: ", variant.works_elsewhere,
                   ". What it wrote in this call is written; later calls run eagerly"));
  return false;
}

}  // namespace graphtree
