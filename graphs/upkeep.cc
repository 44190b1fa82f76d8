// What the budgets ask of a call: sizes that may be recorded, shapes that have a place, verdicts
// that pass, executables that come back.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "device/error.h"
#include "graphs/planted_bug.h"
#include "graphs/tree_core.h"

namespace graphtree {

// Finds the call's variant. Says once that a function comes in many shapes.
void TreeCore::FindVariant(Call& call) {
  Function& function = call.function;
  const uint64_t seen_before = function.variants_seen;
  call.variant = VariantFor(&function, call.inputs, &next_variant_);
  keeper_.Called(call.variant);
  call.variant->DoubtHidden();
  if (function.variants_seen == seen_before) return;
  keeper_.NewShape(&function, call.variant);
  const bool many = function.variants_seen > options_.shape_warn_limit;
  if (!many || function.warned_of_shapes || !options_.warn) return;
  if (!options_.enabled || function.options.exclude) return;
  function.warned_of_shapes = true;
  options_.warn(absl::StrCat(
      "'", function.name, "' has been called with ", function.variants_seen,
      function.variants_seen == 1 ? " size" : " distinct sizes",
      ", and each is warmed up and recorded on its own; pad inputs to few sizes, "
      "list the sizes to record (FunctionOptions::recorded_sizes), or raise "
      "TreeOptions::shape_warn_limit to hear of it later"));
}

// After so many refusals half of what led to the verdict is forgiven.
bool TreeCore::IsRerecordedTooOften(const Variant& variant) {
  const auto found = path_.current()->unexpected.find(variant.id);
  if (found == path_.current()->unexpected.end()) return false;
  Rerecords& rerecords = found->second;
  if (rerecords.count <= options_.rerecord_limit) return false;
  if (++rerecords.refused < options_.budget.retry_after) return true;
  rerecords.count /= 2;
  rerecords.refused = 0;
  return rerecords.count > options_.rerecord_limit;
}

// The first failures may have been accidents; from the third on it waits 1, 2, 4, ... calls.
void TreeCore::NoteFailure(Variant* variant, absl::string_view why) {
  ++variant->failures;
  variant->last_failure.assign(why.data(), why.size());
  constexpr uint64_t kAccidents = 2;
  if (variant->failures <= kAccidents) return;
  const uint64_t doublings = std::min<uint64_t>(variant->failures - kAccidents - 1, 40);
  variant->pause = std::min(uint64_t{1} << doublings, options_.budget.retry_after);
}

// Makes room where the device has none: the least valuable executables go, and their memory with
// them, once the work that is under way is done.
bool TreeCore::GiveMemoryBack(int executables, const Node& node) {
  if (order_.last() == nullptr || device_.open_captures() > 0) return false;
  int evicted = 0;
  while (evicted < executables && keeper_.EvictOneExecutable(Reason::kBytesEvicted, node)) {
    ++evicted;
  }
  if (evicted == 0 || !order_.last()->Synchronize().ok()) return false;
  keeper_.graveyard().DestroyAll();
  return true;
}

absl::Status TreeCore::MakeExecutable(const Node& node, size_t number, Section* section) {
  if (!IsPlanted(PlantedBug::kOverrunsBudget)) {
    GRAPHTREE_RETURN_IF_ERROR(keeper_.RoomForExecutable(section->graph->op_count(), node));
  }
  absl::StatusOr<std::unique_ptr<Executable>> made = section->graph->Instantiate();
  for (int more = 1; more <= 64; more *= 4) {
    if (ErrorCodeOf(made.status()) != ErrorCode::kOutOfMemory || !GiveMemoryBack(more, node)) break;
    made = section->graph->Instantiate();
  }
  GRAPHTREE_RETURN_IF_ERROR(made.status());
  section->executable = *std::move(made);
  if (observers_.any()) TellObservers(GraphMoment::kInstantiate, node, number, side_.get());
  return absl::OkStatus();
}

absl::Status TreeCore::BringBack(Node* node) {
  keeper_.SetNow(stats_.calls);
  absl::Status status;
  size_t number = 0;
  node->VisitSections([&](Section& section) {
    if (status.ok() && section.graph != nullptr) status = MakeExecutable(*node, number, &section);
    ++number;
    if (IsPlanted(PlantedBug::kForgetsEviction)) return;
    ForgetPatches(&section);
  });
  if (!status.ok()) {
    TellOfDestruction(*node);
    node->VisitSections([this](Section& section) {
      if (section.executable != nullptr) keeper_.graveyard().Add(std::move(section.executable));
    });
    return status;
  }
  keeper_.ExecutablesMade(*node);
  stats_.instantiated_again += node->executables();
  return absl::OkStatus();
}

}  // namespace graphtree
