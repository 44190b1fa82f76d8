// Lanes that are parked and woken between steps, and memory that they lend. What must hold: a
// program that is parked begins nothing and says so, slots and outputs are afterwards what parking
// promises, the ledger adds up meanwhile, and a loan is nobody else's until it ends.
#include <algorithm>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "runtime/lending.h"
#include "runtime/parking.h"
#include "tests/runtime/simulation/world.h"

namespace graphtree::runtime_simulation {
namespace {

constexpr uint32_t kLentWord = 0xA5A5A5A5;

}  // namespace

std::string World::TagOf(const ProgramSpec& spec) { return absl::StrCat("lane", spec.lane); }

bool World::IsLaneThere(uint32_t lane) const {
  return std::any_of(programs_.begin(), programs_.end(), [&](const Program& program) {
    return program.model != nullptr && program.model->spec().lane == lane;
  });
}

absl::Status World::ParkAndStep(const Action& action) {
  const StepSpec& step = action.steps[0];
  const ProgramSpec& spec = script_.programs[step.program];
  const auto contents = static_cast<Contents>(action.pick / 16 % 3);
  GRAPHTREE_RETURN_IF_ERROR(EndSide());
  const absl::Status said = Call([&] { return runtime_->Park(TagOf(spec), contents); });
  if (!IsLaneThere(spec.lane)) {
    GRAPHTREE_RETURN_IF_ERROR(ShouldFail("parking what is not there", said));
    return DoStep(step);
  }
  if (!said.ok() && !MayFail(said) && !IsCaptured(said)) return said;
  if (contents == Contents::kDrop) ++lanes_[spec.lane].path;
  if (said.ok()) {
    GRAPHTREE_RETURN_IF_ERROR(CheckParked(programs_[step.program], step));
    Count(absl::StrCat("lanes parked with ", ContentsName(contents)));
  }
  GRAPHTREE_RETURN_IF_ERROR(WakeLane(spec));
  if (contents == Contents::kDrop) {
    // What a park has dropped that failed then nobody knows.
    if (!said.ok()) return Adopt();
    for (Program& program : programs_) {
      const bool is_there = program.model != nullptr;
      if (is_there && program.model->spec().lane == spec.lane) program.model->ResetSlots();
    }
  }
  return DoStep(step);
}

// Another server may be recording.
bool World::IsCaptured(const absl::Status& said) const {
  return script_.shares_device && absl::StrContains(said.message(), "capture");
}

absl::Status World::WakeLane(const ProgramSpec& spec) {
  absl::Status woken = Call([&] { return runtime_->Wake(TagOf(spec)); });
  if (!woken.ok() && faulted_) {
    Count("wakes that failed first");
    woken = runtime_->Wake(TagOf(spec));
  }
  for (int tries = 0; tries < 10000 && IsCaptured(woken); ++tries) {
    woken = runtime_->Wake(TagOf(spec));
  }
  return woken;
}

absl::Status World::CheckParked(Program& program, const StepSpec& step) {
  if (program.model == nullptr) return absl::OkStatus();
  const absl::Status begun =
      runtime_->Begin(program.id, step.call, *streams_[step.stream]).status();
  GRAPHTREE_RETURN_IF_ERROR(ShouldFail("a step of what is parked", begun));
  if (absl::IsFailedPrecondition(begun) &&
      !absl::StrContains(begun.message(), TagOf(program.model->spec()))) {
    return absl::InternalError(absl::StrCat("a step of what is parked: ", begun.ToString()));
  }
  GRAPHTREE_RETURN_IF_ERROR(ShouldFail("recording what is parked",
                                       runtime_->Record(program.id, *streams_[step.stream])));
  return CheckLedger();
}

absl::Status World::LendAndStep(const Action& action) {
  const StepSpec& step = action.steps[0];
  const uint32_t lane = script_.programs[step.program].lane;
  const uint64_t bytes = 4 * (1 + action.pick / 64 % 4096);
  const auto until = action.pick / 16 % 2 == 0 ? LoanUntil::kNextStep : LoanUntil::kGivenBack;
  Stream& stream = *streams_[action.pick / 32 % 2];
  GRAPHTREE_RETURN_IF_ERROR(EndSide());
  const uint64_t mapped =
      IsLaneThere(lane) ? runtime_->tree(lane)->stats().pool_reserved_bytes : 0;
  absl::StatusOr<Loan> loan = Call([&] {
    return runtime_->Lend({.bytes = bytes, .until = until, .lane = lane}, stream);
  });
  if (!IsLaneThere(lane)) return ShouldFail("lending of no lane", loan.status());
  if (!loan.ok()) {
    Count("loans refused");
    if (!absl::IsResourceExhausted(loan.status()) && !MayFail(loan.status())) {
      return loan.status();
    }
    return DoStep(step);
  }
  if (runtime_->tree(lane)->stats().pool_reserved_bytes > mapped) {
    return absl::InternalError("a loan has taken new memory");
  }
  Count("loans");
  const AddressRange range = loan->range();
  GRAPHTREE_RETURN_IF_ERROR(stream.Fill(range.base, kLentWord, 4, range.bytes / 4));
  const uint64_t path = lanes_[lane].path;
  GRAPHTREE_RETURN_IF_ERROR(DoStep(step));
  if (done_) return absl::OkStatus();
  if (until == LoanUntil::kGivenBack) return CheckLoan(*loan, range);
  // Its lane's path says that one has run.
  const bool has_begun = lanes_[lane].path != path;
  return !has_begun || loan->is_over() ? absl::OkStatus()
                                       : absl::InternalError("a loan has outlived a step");
}

absl::Status World::CheckLoan(const Loan& loan, AddressRange range) {
  if (!(loan.range() == range)) return absl::InternalError("a loan has ended by itself");
  GRAPHTREE_RETURN_IF_ERROR(Wait());
  Words found(range.bytes / 4);
  GRAPHTREE_RETURN_IF_ERROR(memory_.Read(range.base, found.data(), 4 * found.size()));
  const bool is_same = std::all_of(found.begin(), found.end(),
                                   [](uint32_t word) { return word == kLentWord; });
  Count("loans read after a step");
  return is_same ? absl::OkStatus() : absl::InternalError("somebody has written to a loan");
}

}  // namespace graphtree::runtime_simulation
