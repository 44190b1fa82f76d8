// What is compared with the model, and when the model goes after what is there.
#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "device/base/status_macros.h"
#include "tests/runtime/simulation/world.h"

namespace graphtree::runtime_simulation {
namespace {

template <typename T>
absl::Status Same(absl::string_view what, const std::vector<T>& found,
                  const std::vector<T>& expected) {
  if (found == expected) return absl::OkStatus();
  size_t at = 0;
  while (at < found.size() && at < expected.size() && found[at] == expected[at]) ++at;
  const auto rest = [at](const std::vector<T>& of) {
    std::vector<uint64_t> numbers;
    for (size_t i = at; i < of.size() && i < at + 8; ++i) numbers.push_back(of[i]);
    return absl::StrJoin(numbers, " ");
  };
  return absl::InternalError(absl::StrCat(what, " has ", found.size(), " instead of ",
                                          expected.size(), " elements, from number ", at, " on ",
                                          rest(found), " instead of ", rest(expected)));
}

}  // namespace

absl::Status ShouldFail(absl::string_view what, const absl::Status& said) {
  if (!said.ok() && !said.message().empty()) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(what, " was not refused"));
}

void World::NoteFault() {
  faulted_ = ever_faulted_ = true;
  Count("faults");
  BeUnsure();
}

void World::BeUnsure() {
  for (Program& program : programs_) {
    if (program.model == nullptr) continue;
    for (ShapeModel& shape : program.model->shapes()) shape.is_unsure = true;
  }
}

bool World::MayFail(const absl::Status& status) const {
  if (faulted_) return true;
  return script_.is_small && (absl::IsResourceExhausted(status) || WasLeftAlone(status));
}

bool World::WasLeftAlone(const absl::Status& recorded) {
  return absl::StrContains(recorded.message(), "it ran eagerly");
}

absl::Status World::Wait() {
  for (const std::unique_ptr<Stream>& stream : streams_) {
    GRAPHTREE_RETURN_IF_ERROR(stream->Synchronize());
  }
  for (std::map<uint32_t, bool>& readers : readers_) {
    std::erase_if(readers, [](const auto& reader) { return reader.second; });
  }
  return EndSide();
}

absl::Status World::CheckHeld(const Held& held) {
  const absl::StatusOr<AddressRange> range = Tensor::From(held.value).bytes();
  const auto lane = lanes_.find(held.lane);
  const bool is_good = held.is_kept || lane->second.path == held.path;
  if (!range.ok()) {
    Count("stale outputs that say so");
    return is_good ? range.status() : absl::OkStatus();
  }
  Bytes found(held.bytes.size());
  GRAPHTREE_RETURN_IF_ERROR(memory_.Read(range->base, found.data(), found.size()));
  Count(is_good ? "outputs read" : "outputs of ended steps read");
  return Same(held.is_kept ? "a kept output" : "an output", found, held.bytes);
}

absl::Status World::CheckProgram(Program& program) {
  uint64_t log = 0;
  GRAPHTREE_RETURN_IF_ERROR(memory_.Read(program.body.log, &log, sizeof(log)));
  if (log != program.log) return absl::InternalError("a program's log has other runs in it");
  Words sum(kSumWords);
  GRAPHTREE_RETURN_IF_ERROR(memory_.Read(program.body.sum, sum.data(), kSumWords * 4));
  GRAPHTREE_RETURN_IF_ERROR(Same("a program's sum", sum, program.sum));
  if (program.model == nullptr) return absl::OkStatus();
  for (size_t i = 0; i < program.body.slots.size(); ++i) {
    Bytes found(program.model->slots()[i].size());
    GRAPHTREE_RETURN_IF_ERROR(memory_.Read(program.body.slots[i], found.data(), found.size()));
    GRAPHTREE_RETURN_IF_ERROR(
        Same(program.model->spec().slots[i].name, found, program.model->slots()[i]));
  }
  return absl::OkStatus();
}

absl::Status World::Adopt() {
  GRAPHTREE_RETURN_IF_ERROR(Wait());
  for (Program& program : programs_) {
    GRAPHTREE_RETURN_IF_ERROR(memory_.Read(program.body.log, &program.log, sizeof(program.log)));
    GRAPHTREE_RETURN_IF_ERROR(memory_.Read(program.body.sum, program.sum.data(), kSumWords * 4));
    if (program.model == nullptr) continue;
    for (size_t i = 0; i < program.body.slots.size(); ++i) {
      Bytes& slot = program.model->slots()[i];
      GRAPHTREE_RETURN_IF_ERROR(memory_.Read(program.body.slots[i], slot.data(), slot.size()));
    }
  }
  Count("adopted");
  return absl::OkStatus();
}

absl::Status World::CheckAll() {
  GRAPHTREE_RETURN_IF_ERROR(Wait());
  for (size_t i = 0; i < programs_.size(); ++i) {
    const absl::Status status = CheckProgram(programs_[i]);
    if (!status.ok()) {
      return absl::InternalError(absl::StrCat("program ", i, ": ", status.message()));
    }
  }
  for (const Held& held : held_) GRAPHTREE_RETURN_IF_ERROR(CheckHeld(held));
  return library_.Settle();
}

absl::Status World::CheckPads() {
  for (Program& program : programs_) {
    PadsSeen& pads = program.body.pads;
    if (!pads.wrong.empty()) return absl::InternalError(pads.wrong);
    // Where a stream cannot be asked its memory is left alone.
    if (!pads.needless.empty() && !faulted_) return absl::InternalError(pads.needless);
    CountTimes("pads in place", pads.in_place);
    CountTimes("pads copied", pads.copied);
    CountTimes("pads that had no room", pads.without);
    pads = {};
  }
  return absl::OkStatus();
}

absl::Status World::CheckMetrics() {
  const Metrics metrics = runtime_->metrics();
  WhyCounts whys = {};
  for (const LaneMetrics& lane : metrics.lanes) {
    for (const WhyCounts& counts : lane.dispatches) {
      for (size_t i = 0; i < kWhyCount; ++i) whys[i] += counts[i];
    }
    if (lane.parity_differs == 0 || ever_faulted_) continue;
    for (const ProgramMetrics& program : metrics.programs) {
      for (const ExplainedShape& shape : program.counts.shapes) {
        if (shape.parity.differs > 0) return absl::InternalError(shape.parity.last_text);
      }
    }
  }
  return Same("the metrics' count of reasons", std::vector<uint64_t>(whys.begin(), whys.end()),
              std::vector<uint64_t>(whys_.begin(), whys_.end()));
}

absl::Status World::CheckFigures() {
  const RuntimeStats stats = runtime_->stats();
  if (stats.steps != steps_) {
    return absl::InternalError(absl::StrCat(stats.steps, " steps are counted of ", steps_));
  }
  GRAPHTREE_RETURN_IF_ERROR(Same("the count of reasons",
                                 std::vector<uint64_t>(stats.why.begin(), stats.why.end()),
                                 std::vector<uint64_t>(whys_.begin(), whys_.end())));
  GRAPHTREE_RETURN_IF_ERROR(CheckMetrics());
  GRAPHTREE_RETURN_IF_ERROR(CheckWorkspaces(stats));
  GRAPHTREE_RETURN_IF_ERROR(CheckPads());
  for (const Program& program : programs_) {
    if (!program.body.is_slot_elsewhere) continue;
    return absl::InternalError("a body has found a slot where the runtime says that none is");
  }
  uint64_t slot_bytes = 0;
  for (const Program& program : programs_) {
    if (program.model != nullptr) slot_bytes += program.model->slot_bytes();
  }
  if (stats.slot_bytes != slot_bytes) {
    return absl::InternalError(absl::StrCat("slots have ", stats.slot_bytes, " bytes, not ",
                                            slot_bytes));
  }
  for (const auto& [number, lane] : lanes_) {
    const LaunchHistory& history = runtime_->history(number);
    const bool is_same =
        history.count() == lane.done &&
        (lane.done == 0 || (history.at(lane.done - 1).key == lane.last.key &&
                               history.at(lane.done - 1).shape == lane.last.shape));
    if (!is_same) {
      return absl::InternalError(absl::StrCat("lane ", number, " has ", history.count(),
                                              " steps in its history, not ", lane.done,
                                              ", or another last one"));
    }
  }
  return absl::OkStatus();
}

}  // namespace graphtree::runtime_simulation
