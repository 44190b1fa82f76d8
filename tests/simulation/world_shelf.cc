// What bodies have stored and not returned: how long it is good, what is in it, and what a replay
// finds of it.
#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "graphs/reports/outline.h"
#include "tests/simulation/world.h"

namespace graphtree::simulation {

World::Ended World::HowItEnded(const TreeStats& before, const absl::Status& status) const {
  const TreeStats now = tree_->stats();
  Ended ended;
  if (!status.ok()) return ended;
  ended.route = now.recordings > before.recordings ? Route::kRecorded
                : now.warm_ups > before.warm_ups   ? Route::kWarmedUp
                : now.eager > before.eager         ? Route::kEager
                                                   : Route::kReplayed;
  ended.recording = before.recordings;
  return ended;
}

bool World::Lasts(const Value& handle) const {
  const AddressRange lasting = tree_->pool().arena().range_of(Region::kLasting);
  return handle.storage() != nullptr && lasting.Contains(handle.storage()->range());
}

// A warm-up that finds no memory where steps end goes on in the lasting region. What it leaves
// there stays, as an eager run's does, and a later recording may take it.
Source World::Settled(const Register& made, const Value& handle, const Ended& ended) const {
  const Source& source = made.source;
  if (source.kind != Source::Kind::kRegister || source.recording != kThisRun) return source;
  if (ended.route == Route::kRecorded || ended.route == Route::kReplayed) {
    return {source.kind, nullptr, ended.recording, source.number};
  }
  const bool lasts = ended.route != Route::kWarmedUp || (ended.may_lack_memory && Lasts(handle));
  return lasts ? Source{Source::Kind::kCell, made.cell} : Source();
}

// The runs of the call that is over: the last one is what the call was, the others came to nothing.
void World::SettleShelf(const Ended& ended, uint64_t runs_before) {
  for (Stored& stored : bodies_.shelf()) {
    Register& known = stored.known;
    if (stored.empty() || known.run <= runs_before) continue;
    known.step = step_;
    const bool stepwise = ended.route == Route::kRecorded || ended.route == Route::kWarmedUp;
    if (known.run < body_runs_) {
      known.life = Life::kNone;
    } else if (ended.route != Route::kFailed) {
      const bool lasts = !stepwise || (ended.may_lack_memory && Lasts(stored.handle));
      known.life = lasts ? Life::kForEver : Life::kStep;
    }
    known.source = Settled(known, stored.handle, ended);
  }
  if (ended.route != Route::kRecorded || !loads_) return;
  recorded_[ended.recording] = in_hand_.model->recorded();
  made_[ended.recording] = in_hand_.model->Cells();
}

// Which recording it was is seen by its count.
absl::Status World::FollowReplay(Ended* ended) {
  in_hand_.model.emplace(*in_hand_.spec, in_hand_.arguments, program_.elements, 0);
  if (!loads_) {
    in_hand_.model->Replay({}, nullptr);
    return absl::OkStatus();
  }
  for (const OutlineNode& node : tree_->outline()) {
    if (std::exchange(replays_[node.id], node.replays) != node.replays) ended->recording = node.id;
  }
  const auto recorded = recorded_.find(ended->recording);
  if (recorded == recorded_.end()) return absl::InternalError("no recording was replayed");
  const auto find = [this](const Source& source) {
    const auto made = made_.find(source.recording);
    const bool is_cell = source.kind == Source::Kind::kCell;
    return is_cell || made == made_.end() ? source.cell : made->second[source.number];
  };
  const bool knows_all = in_hand_.model->Replay(recorded->second, find);
  made_[ended->recording] = in_hand_.model->Cells();
  if (knows_all) return absl::OkStatus();
  return absl::InternalError("a recording took from the shelf what no recording had made");
}

// A kept output is put into memory of its own, but by an eager run, and with it all outputs that
// look into the same bytes: that is another cell than what the body may have stored.
std::vector<Seen> World::OutputsOf(const Ended& ended, const Values& outputs) const {
  const FunctionSpec& spec = *in_hand_.spec;
  std::map<CellPtr, CellPtr> kept;
  for (const uint32_t output : spec.kept) {
    const int number = spec.outputs[output];
    if (number == kNoRegister || ended.route == Route::kEager) continue;
    const CellPtr& made = in_hand_.model->at(number).cell;
    if (kept[made] == nullptr) kept[made] = std::make_shared<Cell>(*made);
  }
  std::vector<Seen> seen;
  for (size_t i = 0; i < spec.outputs.size(); ++i) {
    const int number = spec.outputs[i];
    if (number == kNoRegister) {
      seen.emplace_back();
      continue;
    }
    const Register& made = in_hand_.model->at(number);
    const bool lasts = std::find(spec.kept.begin(), spec.kept.end(), i) != spec.kept.end();
    const auto place = kept.find(made.cell);
    if (place != kept.end()) {
      seen.push_back({Value(), place->second, lasts, {Source::Kind::kCell, place->second}});
    } else {
      seen.push_back({Value(), made.cell, lasts, Settled(made, outputs[i], ended)});
    }
  }
  return seen;
}

// A body that takes a tensor of an ended step, or of a run that came to nothing, fails.
absl::Status World::AfterStaleUse(const FunctionSpec& spec, const absl::Status& failure) {
  const bool told = absl::IsFailedPrecondition(failure) &&
                    absl::StrContains(failure.message(), " in step ");
  if (!told && !MayLackMemory(failure)) {
    return absl::InternalError(absl::StrCat("a body took from the shelf what may not be used, and ",
                                            "the call said: ", failure.ToString()));
  }
  // What a failed run had written is as it was, of a function that is known to break.
  done_ = spec.Mutates() && spec.Has(OpSpecKind::kBreak);
  return absl::OkStatus();
}

absl::Status World::CheckLives() const {
  for (const Stored& stored : bodies_.shelf()) {
    if (stored.empty()) continue;
    const Register& known = stored.known;
    bool stale = stored.stale();
    if (known.life == Life::kNone) stale = true;
    if (known.life == Life::kForEver) stale = false;
    if (known.life == Life::kStep) stale = known.step != step_;
    if (stale == stored.stale()) continue;
    return absl::InternalError(absl::StrCat("a stored tensor ", stale ? "may" : "may not",
                                            " be used, wrongly"));
  }
  return absl::OkStatus();
}

absl::Status World::CheckShelf() {
  GRAPHTREE_RETURN_IF_ERROR(CheckLives());
  for (const Stored& stored : bodies_.shelf()) {
    if (stored.empty() || stored.stale()) continue;
    GRAPHTREE_RETURN_IF_ERROR(CheckOne({stored.handle, stored.known.cell}, "a stored tensor"));
  }
  return absl::OkStatus();
}

}  // namespace graphtree::simulation
