// Programs that run ahead of others' steps: what Ahead prepares, whether that is used, and the step
// that it goes into.
//
//   Prepare   a step of the program that plans, by Ahead; the model keeps a guess
//   Take      the guess, if it is right; else another step by Ahead. Its outputs are staged into
//             the main program's step
#include <algorithm>
#include <functional>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "runtime/slots/element.h"
#include "tests/runtime/simulation/world.h"

namespace graphtree::runtime_simulation {
namespace {

bool IsWhole(DType type) { return unpack::IsWhole(static_cast<uint8_t>(type)); }

// Ahead's steps are plain ones.
StepSpec Plain(const StepSpec& spec, uint32_t stream) {
  StepSpec plain = spec;
  plain.stream = stream;
  plain.continues = false;
  return plain;
}

}  // namespace

World::PlanRows World::PlanRowsOf(const Program& program, const Key& call,
                                  const StepSpec& spec) const {
  const std::vector<SlotSpec>& slots = program.model->spec().slots;
  PlanRows plan;
  plan.data.resize(slots.size());
  plan.staged.resize(slots.size());
  for (SlotId slot = 0; slot < slots.size(); ++slot) {
    const Staging& staging = spec.staging[slot];
    if (staging.kind == SourceKind::kNothing && slots[slot].may_be_left_out) continue;
    NaiveStaged& staged = plan.staged[slot];
    staged.kind = NaiveStaged::kRows;
    staged.type = staging.type;
    staged.rows = std::max<int64_t>(0, RowsOf(slots[slot], call) - int64_t{staging.fewer});
    staged.row_stride = RowElementsOf(slots[slot]);
    staged.piece_stride = staged.row_stride * staged.rows;
    plan.data[slot] = DataFor(staging.type, slots[slot].type, staging.seed,
                              staged.piece_stride * PiecesOf(slots[slot]) * BytesOf(staging.type));
    staged.data = plan.data[slot].data();
    plan.rows.push_back({slot, HostRows{staged.data, staging.type, staged.rows}});
  }
  return plan;
}

bool World::IsSame(const PlanRows& one, const PlanRows& other) {
  if (one.data != other.data || one.rows.size() != other.rows.size()) return false;
  for (size_t i = 0; i < one.rows.size(); ++i) {
    const AheadRows &a = one.rows[i], &b = other.rows[i];
    const auto &x = std::get<HostRows>(a.rows), &y = std::get<HostRows>(b.rows);
    if (a.slot != b.slot || x.type != y.type || x.rows != y.rows) return false;
  }
  return true;
}

absl::Status World::RunPlan(Program& program, const StepSpec& spec, const Key& call,
                            const PlanRows& rows, const std::function<absl::Status()>& run,
                            std::optional<std::vector<Bytes>>* outputs) {
  ProgramModel& model = *program.model;
  Open open;
  open.spec = &spec;
  GRAPHTREE_RETURN_IF_ERROR(Choose(program, call, Modes::All(), &open));
  open.staged = rows.staged;
  GRAPHTREE_RETURN_IF_ERROR(GoBehindSide(spec.stream));
  program.body.ran.clear();
  program.body.fails = spec.body_fails;
  open.generations = GenerationsOf(model.spec());
  const absl::Status said = Call(run);
  program.body.fails = false;
  if (!open.has_shape && !model.Fits(call)) {
    Count("calls that slots cannot hold");
    return ShouldFail("a plan that the slots cannot hold", said);
  }
  if (!said.ok() && faulted_) {
    const std::string where = plan_->fired_in();
    done_ = where == "Stream.Record" || where == "Stream.Wait";
    if (done_) return absl::OkStatus();
  }
  const RuntimeStats stats = runtime_->stats();
  if (stats.steps == steps_) return MayFail(said) ? absl::OkStatus() : said;
  for (size_t i = 0; i < kWhyCount; ++i) {
    if (stats.why[i] > whys_[i]) open.why = static_cast<Why>(i);
  }
  open.words = absl::StrCat("planned ", ToString(call), ", ", WhyName(open.why));
  absl::StatusOr<Effects> made = NoteRun(open, said);
  if (said.ok() && made.ok()) *outputs = std::move(made->outputs);
  return made.status();
}

absl::Status World::Prepare(Program& program, const StepSpec& spec) {
  if (program.ahead == nullptr) return absl::OkStatus();
  const StepSpec plain = Plain(spec, spec.stream);
  const uint64_t touches = touches_;
  PlanRows rows = PlanRowsOf(program, spec.call, spec);
  program.guess = std::nullopt;
  std::optional<std::vector<Bytes>> outputs;
  GRAPHTREE_RETURN_IF_ERROR(RunPlan(
      program, plain, spec.call, rows,
      [&] { return program.ahead->Prepare(spec.call, rows.rows, *streams_[plain.stream]); },
      &outputs));
  if (outputs.has_value()) {
    program.guess = Guess{spec.call, std::move(rows), touches, *std::move(outputs)};
    ++program.expected.prepared;
    Count("plans prepared");
  }
  return CheckAhead(program);
}

absl::Status World::Take(Program& program, const Action& action) {
  const StepSpec& main = action.steps[1];
  Planned planned;
  if (program.ahead != nullptr) {
    if (action.pick / 4 % 4 == 0) GRAPHTREE_RETURN_IF_ERROR(TakeWrong(program, action.steps[0]));
    GRAPHTREE_RETURN_IF_ERROR(
        TakePlan(program, Plain(action.steps[0], main.stream), action.pick % 4, &planned));
    GRAPHTREE_RETURN_IF_ERROR(CheckAhead(program));
    if (done_) return absl::OkStatus();
  }
  Open open;
  open.planned = &planned;
  GRAPHTREE_RETURN_IF_ERROR(
      Begin(main, main.call, Modes::FromBits(main.modes), main.is_voted_down, &open));
  GRAPHTREE_RETURN_IF_ERROR(StageAll(open));
  planned.outputs.clear();
  return Finish(open);
}

// What cannot be compared is refused, and what was prepared stays. So does a plan of too many rows.
absl::Status World::TakeWrong(Program& program, const StepSpec& spec) {
  const uint8_t bytes[64] = {};
  const AheadRows bad[] = {
      {77, HostRows{bytes, DType::kU8, 1}},
      {0, HostRows{nullptr, DType::kU8, 1}},
  };
  for (const AheadRows& row : bad) {
    if (row.slot == 0 && program.model->spec().slots.empty()) continue;
    GRAPHTREE_RETURN_IF_ERROR(
        ShouldFail("rows that cannot be compared",
                   program.ahead->Take(spec.call, {row}, *streams_[spec.stream]).status()));
  }
  return absl::OkStatus();
}

bool World::NoteGuess(Program& program, const Key& call, const PlanRows& rows) {
  if (!program.guess.has_value()) {
    Count("plans that nobody prepared");
    return false;
  }
  if (!(program.guess->key == call)) {
    ++program.expected.other_key;
    Count("plans for another key");
  } else if (!IsSame(program.guess->rows, rows) ||
             rows.rows.size() < program.model->spec().slots.size()) {  // one is left out
    ++program.expected.other_rows;
    Count("plans for other rows");
  } else if (program.guess->touches != touches_) {
    ++program.expected.touched;
    Count("plans that were touched");
  } else {
    ++program.expected.used;
    Count("plans used");
    return true;
  }
  return false;
}

absl::Status World::TakePlan(Program& program, const StepSpec& spec, uint32_t pick,
                             Planned* planned) {
  const bool is_same_key = program.guess.has_value() && pick != 0;
  const Key call = is_same_key ? program.guess->key : spec.call;
  PlanRows rows;
  if (is_same_key && pick != 1) {
    rows = program.guess->rows;  // what it points to is the guess's
  } else {
    rows = PlanRowsOf(program, call, spec);
  }
  for (const AheadRows& row : rows.rows) {
    const int64_t most = GreatestRows(program.model->spec().slots[row.slot]);
    if (std::get<HostRows>(row.rows).rows <= most) continue;
    Count("plans that slots cannot hold");
    return ShouldFail("a plan of more rows than a slot has",
                      program.ahead->Take(call, rows.rows, *streams_[spec.stream]).status());
  }
  const bool is_right = NoteGuess(program, call, rows);
  std::optional<std::vector<Bytes>> bytes;
  const auto take = [&] {
    absl::StatusOr<Values> taken = program.ahead->Take(call, rows.rows, *streams_[spec.stream]);
    if (taken.ok()) planned->outputs = *std::move(taken);
    return taken.status();
  };
  if (is_right) {
    const absl::Status said = Call(take);
    done_ = !said.ok() && faulted_;  // a stream that could not wait is in no order
    if (done_) return absl::OkStatus();
    GRAPHTREE_RETURN_IF_ERROR(said);
    bytes = std::move(program.guess->outputs);
  } else {
    GRAPHTREE_RETURN_IF_ERROR(RunPlan(program, spec, call, rows, take, &bytes));
  }
  program.guess = std::nullopt;
  if (done_ || !bytes.has_value()) return absl::OkStatus();
  planned->bytes = *bytes;
  Open open;
  open.spec = &spec;
  open.program = &program;
  open.words = absl::StrCat("planned ", ToString(call));
  return TakeOutputs(open, Effects{*std::move(bytes), 0, {}}, planned->outputs);
}

absl::Status World::CheckAhead(const Program& program) const {
  const AheadStats& is = program.ahead->stats();
  const AheadStats& expected = program.expected;
  const auto text = [](const AheadStats& stats) {
    return absl::StrCat("prepared ", stats.prepared, ", used ", stats.used, ", other key ",
                        stats.other_key, ", other rows ", stats.other_rows, ", touched ",
                        stats.touched);
  };
  if (done_ || text(is) == text(expected)) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("Ahead counts ", text(is), ", not ", text(expected)));
}

// An output of the plan's, if the slot can take its words.
bool World::StagePlanned(Open& open, SlotId slot, absl::Status* status) {
  const SlotSpec& spec = open.program->model->spec().slots[slot];
  if (open.planned == nullptr || open.planned->outputs.empty()) return false;
  if (!IsWhole(spec.type) || spec.type == DType::kBool || PiecesOf(spec) != 1) return false;
  const size_t number = slot % open.planned->outputs.size();
  const Bytes& bytes = open.planned->bytes[number];
  const int64_t fits = bytes.size() / 4 / RowElementsOf(spec);
  NaiveStaged& staged = open.staged[slot];
  staged.rows = std::min(fits, RowsOf(spec, open.padded));
  const bool is_whole = staged.rows == GreatestRows(spec);
  if (staged.rows == 0 || (!spec.rows.has_value() && !is_whole)) return false;
  staged.kind = NaiveStaged::kRows;
  staged.type = DType::kI32;
  staged.row_stride = RowElementsOf(spec);
  open.data[slot] = bytes;
  staged.data = open.data[slot].data();
  std::vector<int64_t> sizes = spec.sizes;
  if (!sizes.empty()) sizes[spec.axis] = staged.rows;
  const Tensor output = Tensor::From(open.planned->outputs[number]);
  Count("staged from a plan");
  *status = open.step->Stage(slot, output.View(Layout::Of(DType::kI32, sizes), 0));
  return true;
}

}  // namespace graphtree::runtime_simulation
