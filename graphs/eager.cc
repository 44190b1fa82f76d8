// The body runs now: as a warm-up in the pool, or outside the tree.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "graphs/access_log.h"
#include "graphs/aligned_inputs.h"
#include "graphs/given_inputs.h"
#include "graphs/tree_core.h"

namespace graphtree {

absl::Status TreeCore::SideAfter(Stream& stream) {
  GRAPHTREE_RETURN_IF_ERROR(order_.ContinueOn(stream));
  return order_.ContinueOn(*side_);
}

// A body that has begun has effects and may not run twice, so what the pool cannot give comes from
// elsewhere (StepAllocator), and what fails is the body's own error.
absl::Status TreeCore::WarmUp(Call& call) {
  GRAPHTREE_RETURN_IF_ERROR(BooksTo(path_.current()));
  GRAPHTREE_RETURN_IF_ERROR(SideAfter(call.stream));
  StepAllocator allocator(memory_.get(), Region::kStep, TagOf(call.function));
  Values originals(call.inputs.begin(), call.inputs.end());
  std::vector<InputRole> roles;
  for (size_t i = 0; i < originals.size(); ++i) {
    roles.push_back(memory_->RoleOf(originals[i], call.function.IsStatic(i)));
  }
  Consume(call);
  GivenInputs given(memory_.get(), &path_, false);
  Values inputs = given.Take(roles, &originals);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (roles[i] != InputRole::kManaged) inputs[i] = originals[i];
  }
  allocator.set_make_room([&given] { given.BuryDead(); });
  auto give_back = [&] {
    given.GiveBackLiving(&originals);
    for (size_t i = 0; i < originals.size(); ++i) call.inputs[i] = std::move(originals[i]);
  };
  AlignedInputs aligned;
  const absl::Status replaced = aligned.Replace(call.function, allocator, *side_, &inputs);
  if (!replaced.ok()) {
    inputs.clear();
    give_back();
    return replaced;
  }
  AccessLog log(inputs);
  EagerRandom random;
  Launcher on(*side_, allocator, &log, &random);
  Values outputs = call.function.body(on, inputs);
  books_at_ = nullptr;
  if (!on.ok()) random.GiveBack();
  if (on.ok()) on.Fail(aligned.GiveBack(log.written(), *side_, &outputs));
  given.BuryDead();  // before anything looks at what is held, and forgets it
  if (on.ok()) on.Fail(MoveKept(call.function, *side_, &outputs));
  on.Fail(order_.ContinueOn(call.stream));
  if (!on.ok()) {
    inputs.clear();
    outputs.clear();
    give_back();
    return on.status();
  }
  Learn(log, random.generators(), call.variant);
  ++stats_.warm_ups;
  names_->SetLastRun(call.function.id);
  auto node = std::make_unique<Node>();
  node->parent = path_.current();
  node->level = path_.next_level();
  node->variant = call.variant;
  node->warm_up = true;
  HoldOutputs(path_.AppendWarmUp(std::move(node)), outputs);
  inputs.clear();
  given.BuryDead();
  given.LayToRest();
  *call.outputs = std::move(outputs);
  return absl::OkStatus();
}

void TreeCore::Learn(const AccessLog& log, size_t generators, Variant* variant) {
  variant->generators = std::max(variant->generators, generators);
  for (size_t i = 0; i < variant->mutates.size(); ++i) {
    if (log.written()[i]) variant->mutates[i] = true;
    InputUse& use = variant->uses[i];
    use.ops = std::max(use.ops, log.uses()[i].ops);
    use.opaque |= log.uses()[i].opaque;
  }
  variant->warm = true;
}

absl::Status TreeCore::RunEagerly(Call& call, Reason reason, const std::string& detail) {
  ++stats_.reasons[static_cast<size_t>(reason)];
  if (options_.strict && reason != Reason::kTreeOff && reason != Reason::kExcluded &&
      reason != Reason::kSizeNotListed) {
    return absl::FailedPreconditionError(
        absl::StrCat("'", call.function.name, "' was not recorded: ", ReasonSentence(reason),
                     detail.empty() ? "" : ": ", detail));
  }
  Warn(call.function, reason, detail);
  GRAPHTREE_RETURN_IF_ERROR(order_.ContinueOn(call.stream));
  StepAllocator allocator(memory_.get(), Region::kKept, TagOf(call.function));
  Values inputs(call.inputs.begin(), call.inputs.end());
  AlignedInputs aligned;
  GRAPHTREE_RETURN_IF_ERROR(aligned.Replace(call.function, allocator, call.stream, &inputs));
  AccessLog log(inputs);
  EagerRandom random;
  Launcher on(call.stream, allocator, &log, &random);
  Values outputs = call.function.body(on, inputs);
  if (!on.ok()) random.GiveBack();
  if (on.ok()) on.Fail(aligned.GiveBack(log.written(), call.stream, &outputs));
  if (on.ok()) on.Fail(CountKept(call.function, outputs));
  GRAPHTREE_RETURN_IF_ERROR(on.status());
  if (call.variant != nullptr) {
    call.variant->generators = std::max(call.variant->generators, random.generators());
  }
  ++stats_.eager;
  inputs.clear();
  Consume(call);
  *call.outputs = std::move(outputs);
  return absl::OkStatus();
}

void TreeCore::Warn(Function& function, Reason reason, const std::string& detail) {
  bool& warned = function.warned[static_cast<size_t>(reason)];
  if (warned || !options_.warn || reason == Reason::kTreeOff || reason == Reason::kExcluded ||
      reason == Reason::kSizeNotListed) {
    return;
  }
  warned = true;
  options_.warn(absl::StrCat("'", function.name, "' runs eagerly: ", ReasonSentence(reason),
                             detail.empty() ? "" : ": ", detail));
}

void TreeCore::HoldOutputs(Node* node, const Values& outputs) {
  for (uint32_t i = 0; i < outputs.size(); ++i) {
    Storage* storage = outputs[i].storage();
    if (storage == nullptr || !memory_->InStepRegion(storage->range())) continue;
    bool known = false;
    for (const HeldOutput& held : path_.Held()) known |= held.storage == storage;
    if (known) continue;
    storage->producer = node->variant->function->id;
    storage->output = i;
    storage->step = step_;
    path_.Hold(storage, {node->level, i}, nullptr);
  }
}

}  // namespace graphtree
