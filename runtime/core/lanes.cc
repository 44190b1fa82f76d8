// Walks over the lanes.
#include "runtime/core/lanes.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "graphs/tree.h"
#include "runtime/core/program_state.h"
#include "runtime/core/staged_tensors.h"
#include "runtime/shapes/key.h"
#include "runtime/watch/lane_watch.h"

namespace graphtree {
namespace {

// The lane is taken, by a step that waits no more for its caller.
bool IsRunning(const Lane& lane) {
  return lane.under_way.load() != nullptr && !lane.is_parking.load() && !lane.step.is_open;
}

}  // namespace

Lanes::Lanes(std::vector<Device*> devices, const RuntimeOptions& options)
    : devices_(std::move(devices)), options_(options) {
  const Share& limits = options_.shared;
  const bool is_limited = !limits.FitsInto({});
  for (size_t i = 0; i < devices_.size(); ++i) {
    budgets_.push_back(is_limited ? std::make_shared<SharedBudget>(limits)
                                  : options_.tree.shared_budget);
    memory_.push_back(options_.pool_bytes > 0 ? std::make_shared<SharedBytes>(options_.pool_bytes)
                                              : options_.tree.shared_bytes);
  }
}

Lane* Lanes::Find(Place place) const {
  const auto found = lanes_.find(place);
  return found == lanes_.end() ? nullptr : found->second.get();
}

absl::StatusOr<Lane*> Lanes::Add(Place place) {
  Device& device = *devices_[place.first];
  TreeOptions options = options_.tree;
  // A step's block moves every time, and is read by one op: a copy of it would only cost.
  options.patch_bytes = 1;
  options.shared_budget = budgets_[place.first];
  options.shared_bytes = memory_[place.first];
  auto watch = std::make_shared<LaneWatch>(options_.clock_ns, options_.watches_steps);
  auto lane = std::make_unique<Lane>(device, place.first, place.second, std::move(watch));
  GRAPHTREE_ASSIGN_OR_RETURN(lane->tree, Tree::Create(device, options));
  lane->carry = RegisterCarry(*lane->tree);
  Lane* const added = lane.get();
  lanes_[place] = std::move(lane);
  return added;
}

absl::Status Lanes::CheckNoStep(absl::string_view what) const {
  for (const auto& [place, lane] : lanes_) {
    const ProgramState* const program = lane->under_way.load(std::memory_order_acquire);
    if (program == nullptr) continue;
    if (lane->is_parking.load()) {
      return absl::FailedPreconditionError(absl::StrCat(
          what, " while another thread parks or wakes lane ", lane->number, "; wait for it"));
    }
    return absl::FailedPreconditionError(
        absl::StrCat(what, " while a step of '", program->name(), "' is under way in lane ",
                     lane->number, "; run or cancel it first, or wait for its body"));
  }
  return absl::OkStatus();
}

const Lane* Lanes::InCallOf() const {
  for (const auto& [place, lane] : lanes_) {
    if (lane->tree != nullptr && lane->tree->IsInside()) return lane.get();
  }
  return nullptr;
}

absl::Status Lanes::CheckMayWaitForAll(absl::string_view what) const {
  if (InCallOf() == nullptr) return absl::OkStatus();
  for (const auto& [place, lane] : lanes_) {
    if (lane->tree->IsInside() || !lane->tree->IsOthers()) continue;
    return absl::FailedPreconditionError(
        absl::StrCat(what, " by a body while another thread is in a call of lane ", lane->number,
                     ", which cannot be awaited here; do it between steps, or while no other "
                     "thread runs one"));
  }
  return absl::OkStatus();
}

absl::Status Lanes::CheckNoneBegins(absl::string_view what) const {
  for (const auto& [place, lane] : lanes_) {
    if (!lane->is_beginning) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        what, " by an object that a step of lane ", lane->number, " let go as it began, after the "
        "step had found out how it runs; do it between steps, or in a body"));
  }
  return absl::OkStatus();
}

std::string Lanes::WhoRuns() const {
  for (const auto& [place, lane] : lanes_) {
    if (!IsRunning(*lane)) continue;
    const OpenStep& step = lane->step;
    return absl::StrCat("while '", step.program->name(), "' ran for ", ToString(step.shape->key));
  }
  return "between steps";
}

bool Lanes::AnyRuns() const {
  return std::any_of(lanes_.begin(), lanes_.end(),
                     [](const auto& entry) { return IsRunning(*entry.second); });
}

bool Lanes::AskOthers(Lane& own) {
  bool is_asked = std::exchange(own.is_short, false) && MakeRoom(own, options_.pool_bytes);
  SharedBudget* const budget = budgets_[own.device_number].get();
  if (budget == nullptr || !budget->TakeShort()) return is_asked;
  for (auto& [place, lane] : lanes_) {
    if (place.first != own.device_number || lane.get() == &own) continue;
    if (lane->IsBusy()) continue;
    lane->tree->GiveUp(budget->fair_share());
    is_asked = true;
  }
  return is_asked;
}

void Lanes::CloseTrees() {
  for (auto& [place, lane] : lanes_) lane->tree = nullptr;
}

}  // namespace graphtree
