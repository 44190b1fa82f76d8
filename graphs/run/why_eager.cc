// Writes the details, reason by reason.
#include "graphs/run/why_eager.h"

#include "absl/strings/str_cat.h"
#include "graphs/match/match.h"

namespace graphtree {
namespace {

std::string AddressText(const Value& value) { return absl::StrCat("0x", absl::Hex(value.word())); }

}  // namespace

// "input 2 ('cache')", with who made it if a function of the tree did.
std::string WhyEager::Input(const Call& call, size_t input) const {
  const std::string name = InputName(call.function, input);
  const Storage* storage = call.inputs[input].storage();
  if (storage == nullptr || storage->owner() == nullptr || storage->output >= kScratch) {
    return name;
  }
  const std::string* maker = ground_.history->FindName(static_cast<uint32_t>(storage->producer));
  if (maker == nullptr || !ground_.memory->InStepRegion(storage->range())) return name;
  return absl::StrCat(name, ", output ", storage->output, " of '", *maker, "',");
}

// "which 'append' writes to", and where that op was launched; or who else says that it is written.
std::string WhyEager::Writer(const Call& call, size_t input) const {
  const OpSite& writer = call.variant->writers[input];
  if (writer.op.empty()) {
    return call.variant->mutates_somewhere[input] ? "which is declared to be written to"
                                                  : "which its body writes to";
  }
  const std::string launched =
      writer.at == 0 ? "" : ground_.history->stacks().Told({{writer.op, writer.at}});
  return absl::StrCat("which '", writer.op, "' writes to", launched);
}

std::string WhyEager::Written(const Call& call, absl::Span<const RoleChoice> roles) const {
  for (size_t i = 0; i < roles.size(); ++i) {
    if (roles[i].obstacle != RoleObstacle::kWritten) continue;
    const InputUse& use = call.variant->uses[i];
    const char* why = call.function.options.moving == Moving::kCopy
                          ? "its options ask for copies (Moving::kCopy)"
                      : use.hidden ? "a recording had its address where no launch declares it"
                      : use.opaque ? "work that no launch declares takes it"
                                   : "it is less aligned than declared";
    return absl::StrCat("it is ", Input(call, i), " ", Writer(call, i),
                        "; it cannot be patched because ", why);
  }
  return "";
}

std::string WhyEager::Overlap(const Call& call) const {
  const auto overlap = WrittenInputsThatOverlap(call.inputs, call.variant->mutates);
  if (!overlap.has_value()) return "";
  const auto [written, other] = *overlap;
  return absl::StrCat("they are ", Input(call, written), " at ", AddressText(call.inputs[written]),
                      " and ", Input(call, other), " at ", AddressText(call.inputs[other]),
                      ", the first of ", Writer(call, written));
}

// Why the last recording at this place does not match the call.
std::string WhyEager::Mismatch(const Call& call) {
  const auto siblings = books_.path().current()->by_variant.find(call.variant->id);
  if (siblings == books_.path().current()->by_variant.end()) return "";
  const Node& last = *siblings->second.back();
  const std::string why = ReasonSentence(matcher_.WhyNot(last, call));
  const size_t at = FirstMismatch(last.inputs.rows(), call.inputs);
  if (at >= last.roles.size()) return why;
  return absl::StrCat(why, ": ", Input(call, at), " was at 0x",
                      absl::Hex(last.inputs.rows()[at].word), " and is at ",
                      AddressText(call.inputs[at]));
}

std::string WhyEager::Told(const Call& call, Reason reason, absl::Span<const RoleChoice> roles) {
  const Function& function = call.function;
  const TreeBudget& budget = ground_.options.budget;
  switch (reason) {
    case Reason::kMutatedInput:
      return Written(call, roles);
    case Reason::kOverlappingInputs:
      return Overlap(call);
    case Reason::kRerecordLimit:
      return absl::StrCat("TreeOptions::rerecord_limit is ", ground_.options.rerecord_limit,
                          "; now ", Mismatch(call));
    case Reason::kInputMoves:
      return absl::StrCat(Mismatch(call), " (FunctionOptions::moving is Moving::kEager)");
    case Reason::kSizesVary:
      return absl::StrCat(InputName(function, function.sizes.input()), " ", function.sizes.how());
    case Reason::kShapeLimit:
      return absl::StrCat("it has come in ", function.variants_seen, " shapes; of its own ",
                          function.places, " have a place, of all functions ",
                          functions_.keeper().held().shapes, "; shapes_of_function is ",
                          budget.shapes_of_function, ", shapes is ", budget.shapes);
    case Reason::kPaused:
      return absl::StrCat(
          call.variant->failures, " failures, the last one: ", call.variant->last_failure,
          "; it is tried again after ", call.variant->pause + 1,
          " more calls (at most TreeBudget::retry_after, ", budget.retry_after, ")");
    case Reason::kGivenUp:
      return absl::StrCat(call.variant->given_up_for,
                          "; it is recorded again after ", call.variant->pause + 1,
                          " more calls (at most TreeBudget::retry_after, ", budget.retry_after,
                          "). More memory for both: TreeOptions::pool_bytes");
    case Reason::kWarmUpForEver:
      return absl::StrCat(
          call.variant->warm_up_asked_last, " (TreeOptions::warm_up_limit is ",
          ground_.options.warm_up_limit,
          ground_.options.strict
              ? "; strict: it is not run any more, and waiting does not help. Register it again "
                "once it asks less often, or make a tree with a larger limit)"
              : "; once a run of it does not ask, it is recorded)");
    case Reason::kWorksElsewhere:
      return call.variant->works_elsewhere;
    default:
      return "";
  }
}

void LearnWriters(const AccessLog& log, const BodyCheck* check, absl::Span<const Value> inputs,
                  Variant* variant) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    OpSite& writer = variant->writers[i];
    if (writer.op.empty()) writer.op = log.writers()[i];
    if (check == nullptr || writer.op.empty() || writer.at != 0) continue;
    for (const OpSite& site : check->log().SitesThatTouch(RangeOf(inputs[i]))) {
      if (site.op == writer.op) writer.at = site.at;
    }
  }
}

}  // namespace graphtree
