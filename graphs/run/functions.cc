// Registers functions, finds their variants, and lets them leave.
#include "graphs/run/functions.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "device/base/one_line.h"

namespace graphtree {
namespace {

// Notes, by input, what the options say.
void NoteNamedInputs(Function* function) {
  const auto name_input = [function](uint32_t input) {
    function->inputs_named = std::max<size_t>(function->inputs_named, size_t{input} + 1);
  };
  for (uint32_t input : function->options.mutated_inputs) name_input(input);
  for (uint32_t input : function->options.static_inputs) {
    name_input(input);
    if (function->is_static.size() <= input) function->is_static.resize(input + 1, false);
    function->is_static[input] = true;
  }
  for (const InputAlignment& aligned : function->options.alignments) {
    name_input(aligned.input);
    if (function->alignments.size() <= aligned.input) {
      function->alignments.resize(aligned.input + 1, 1);
    }
    function->alignments[aligned.input] = aligned.bytes;
  }
}

}  // namespace

Functions::Functions(Ground& ground, Books& books, CallJournal& journal)
    : ground_(ground),
      journal_(journal),
      checked_(ground.options.check ? 1 : 0),
      keeper_(ground.options.budget, ground.options.shared_budget, ground.device,
              ground.memory.get(), &books.path(), &books.root(), &journal.stats().reasons,
              &journal.tally(),
              [&journal](const Node& node, size_t section, const Executable& executable) {
                journal.SayDestroyed(node, section, executable);
              }) {}

FunctionId Functions::Register(std::string name, FunctionOptions options, Body body) {
  Function& function = *table_.Add();
  function.name = OneLine(name);
  function.options = std::move(options);
  function.body = std::move(body);
  function.permanent_name = &ground_.history->AddFunction(function.name);
  if (function.options.check) ++checked_;
  function.options_error = CheckOptions(function);
  if (!function.options_error.ok()) return function.id;
  NoteNamedInputs(&function);
  return function.id;
}

absl::Status Functions::NotRegistered(FunctionId id) const {
  if (!table_.WasRegistered(id)) {
    return absl::InvalidArgumentError(
        absl::StrCat("function ", id, " is not registered; there are ", table_.ids()));
  }
  return absl::InvalidArgumentError(
      absl::StrCat(ground_.history->NameOf(id), " (function ", id,
                   ") was unregistered: register it again, and use the "
                   "id that it gets then"));
}

absl::Status Functions::NotTheOwner(const Function& function) {
  return absl::FailedPreconditionError(
      absl::StrCat("'", function.name, "' was called by somebody else than its owner, who alone "
                   "may call it (FunctionOptions::owners_thread): a shape of a program runs in "
                   "steps alone (Runtime::Begin)"));
}

void Functions::Retire(Function* function) {
  keeper_.graveyard().Add(std::move(function->body));
  table_.Retire(function);
  if (function->options.check) --checked_;
  LetLeave();
}

void Functions::LetLeave() {
  const std::vector<Function*> leaving = table_.leaving();
  for (Function* function : leaving) {
    if (!keeper_.EvictFunction(function)) continue;
    if (function->is_retired) journal_.tally().Forget(function->id);
    table_.Left(function);
  }
}

bool Functions::SkipsVaryingSizes(const Function& function) const {
  return function.options.skip_varying_sizes || ground_.options.skip_varying_sizes;
}

// The list of sizes comes first: a size that is not on it does not count as varying.
SizeVerdict Functions::JudgeSize(const Call& call) const {
  const Function& function = call.function;
  if (!ground_.options.enabled || function.options.exclude) return SizeVerdict::kMayBeRecorded;
  if (!IsRecordedSize(function, call.inputs)) return SizeVerdict::kNotListed;
  const bool varies = SkipsVaryingSizes(function) && function.sizes.VaryWith(call.inputs);
  return varies ? SizeVerdict::kVaries : SizeVerdict::kMayBeRecorded;
}

void Functions::NoteSize(const Call& call) {
  Function& function = call.function;
  if (!ground_.options.enabled || function.options.exclude) return;
  if (!SkipsVaryingSizes(function) || function.sizes.any()) return;
  if (!function.sizes.SeenIn(call.inputs)) return;
  table_.Leave(&function);
  LetLeave();
}

Shape Functions::ShapeOf(const Call& call) const {
  Shape shape;
  shape.size = JudgeSize(call);
  if (shape.size != SizeVerdict::kMayBeRecorded) return shape;
  shape.variant = FindVariant(call.function, call.inputs);
  if (shape.variant == nullptr) {
    shape.newcomer = NewVariant(&call.function, call.inputs, next_variant_);
    shape.variant = shape.newcomer.get();
  }
  shape.doubts_hidden = shape.variant->DoubtsHiddenAt(shape.variant->calls + 1);
  return shape;
}

void Functions::NoteShape(const Call& call, Shape* shape) {
  if (shape->size != SizeVerdict::kNotListed) NoteSize(call);
  Variant* const variant = shape->variant;
  if (variant == nullptr) return;
  const bool is_new = shape->newcomer != nullptr;
  if (is_new) {
    ++next_variant_;
    AddVariant(std::move(shape->newcomer));
  }
  keeper_.shapes().Called(variant);
  variant->DoubtHidden();
  shape->doubts_hidden = false;
  if (!is_new) return;
  keeper_.shapes().NewShape(&call.function, variant);
  journal_.TellOfShapes(call.function);
}

// The counts begin again when a recording succeeds, or when a run beyond the limit does not ask
// (SettleWarmUps).
void Functions::NoteWarmUp(const std::string& asked, Variant* variant) {
  if (asked.empty()) {
    variant->warm = true;
    variant->last_failure.clear();
    return;
  }
  journal_.Count(*variant->function, Reason::kWarmUpAsked);
  if (++variant->asked_warm_ups > ground_.options.warm_up_limit)
    variant->warm_up_asked_last = asked;
}

// The first two failures may be accidents; from the third on the variant pauses for 1, 2, 4, ...
// calls.
void Functions::NoteFailure(Variant* variant, absl::string_view why) const {
  ++variant->failures;
  variant->given_up_for.clear();
  variant->last_failure.assign(why.data(), why.size());
  constexpr uint64_t kAccidents = 2;
  if (variant->failures <= kAccidents) return;
  const uint64_t doublings = std::min<uint64_t>(variant->failures - kAccidents - 1, 40);
  variant->pause = std::min(uint64_t{1} << doublings, ground_.options.budget.retry_after);
}

std::vector<FunctionStats> Functions::PerFunction(const std::vector<EdgeStats>& edges) const {
  std::vector<FunctionStats> rows;
  for (const Function* function : table_.Registered()) {
    FunctionStats& row = rows.emplace_back();
    row.id = function->id;
    row.name = function->name;
    row.shapes = function->variant_count;
    for (const EdgeStats& edge : edges) {
      if (edge.edge.to == row.id) row.counts.Add(edge.counts);
    }
  }
  return rows;
}

}  // namespace graphtree
