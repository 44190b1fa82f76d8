// Dependencies that move, are touched, and grow.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "tests/kernels/kernels.h"
#include "tests/runtime/simulation/world.h"

namespace graphtree::runtime_simulation {

std::vector<uint64_t> World::GenerationsOf(const ProgramSpec& spec) const {
  std::vector<uint64_t> generations;
  for (uint32_t dep : spec.deps) generations.push_back(generations_[dep]);
  return generations;
}

absl::Status World::Move(uint32_t dep, uint32_t pick) {
  if (IsWorkspace(dep)) return MoveWorkspace(dep, pick);
  GRAPHTREE_RETURN_IF_ERROR(Wait());
  const uint64_t moves = ++generations_[dep];
  deps_[dep] = Words(kDepWords);
  for (uint32_t i = 0; i < kDepWords; ++i) deps_[dep][i] = PatternWord(dep * 1000 + moves, i);
  const Address left = dep_at_[dep];
  dep_at_[dep] = memory_.dep(dep, left == memory_.dep(dep, 0) ? 1 : 0);
  GRAPHTREE_RETURN_IF_ERROR(memory_.Write(dep_at_[dep], deps_[dep].data(), kDepWords * 4));
  // What is left behind belongs to somebody else now.
  const Words garbage(kDepWords, 0xdeadbeef);
  if (left != 0) {
    GRAPHTREE_RETURN_IF_ERROR(memory_.Write(left, garbage.data(), kDepWords * 4));
  }
  ++touches_;
  return runtime_->Touch(dep_ids_[dep]);
}

absl::Status World::Touch(uint32_t dep) {
  ++generations_[dep];
  ++touches_;
  return runtime_->Touch(dep_ids_[dep]);
}

// Between steps a library may also have less than before, so that bodies make it grow again.
absl::Status World::MoveWorkspace(uint32_t dep, uint32_t pick) {
  const uint32_t number = WorkspaceOf(dep);
  GRAPHTREE_RETURN_IF_ERROR(Wait());
  GRAPHTREE_RETURN_IF_ERROR(library_.Settle());
  if (pick % 5 == 0) {
    Count("workspaces told to be where they are");
    return runtime_->MoveWorkspace(dep_ids_[dep], library_.memory(number));
  }
  workspaces_[number].room = pick % 3 == 0 ? library_.room(number) : kLeastRoom << pick / 5 % 4;
  NoteMoved(number, /*is_sure=*/true);
  GRAPHTREE_RETURN_IF_ERROR(library_.Move(number, workspaces_[number].room));
  Count("workspaces moved between steps");
  return library_.Settle();
}

bool World::Grow(const ProgramSpec& spec, const Key& key) {
  bool any = false;
  for (const uint32_t dep : spec.deps) {
    if (!IsWorkspace(dep)) continue;
    WorkspaceModel& workspace = workspaces_[WorkspaceOf(dep)];
    if (NeedOf(key) <= workspace.room) continue;
    workspace.room = RoomFor(NeedOf(key));
    NoteMoved(WorkspaceOf(dep), /*is_sure=*/true);
    Count("workspaces moved by a body");
    any = true;
  }
  return any;
}

// What was recorded with the workspace as it was is stale from now on.
void World::NoteMoved(uint32_t workspace, bool is_sure) {
  const uint32_t dep = kDeps + workspace;
  Figure stale;
  for (const Program& program : programs_) {
    if (program.model == nullptr) continue;
    const ProgramSpec& spec = program.model->spec();
    if (std::count(spec.deps.begin(), spec.deps.end(), dep) == 0) continue;
    const std::vector<uint64_t> now = GenerationsOf(spec);
    for (const ShapeModel& shape : program.model->shapes()) {
      const bool is_fresh = shape.is_recorded && shape.generations == now;
      const bool is_known = is_sure && !script_.is_small && !faulted_ && !shape.is_unsure;
      if (is_known && is_fresh) ++stale.least;
      if (!is_known || is_fresh) ++stale.most;
    }
  }
  stale_recordings_.least += stale.least;
  stale_recordings_.most += stale.most;
  workspace_moves_.least += stale.least > 0;
  workspace_moves_.most += stale.most > 0;
  if (stale.least > 0) Count("workspaces moved under recordings");
  const uint64_t moves = ++workspaces_[workspace].moves;
  ++generations_[dep];
  ++touches_;
  deps_[dep] = HeadOf(workspace, moves);
}

// Nobody can tell which bodies have run.
void World::AdoptWorkspaces() {
  for (uint32_t i = 0; i < kWorkspaces; ++i) {
    while (workspaces_[i].moves < library_.moves(i)) NoteMoved(i, /*is_sure=*/false);
    workspaces_[i].room = library_.room(i);
  }
}

absl::Status World::CheckWorkspaces(const RuntimeStats& stats) {
  for (uint32_t i = 0; i < kWorkspaces; ++i) {
    if (workspaces_[i].moves == library_.moves(i) && workspaces_[i].room == library_.room(i)) {
      continue;
    }
    return absl::InternalError(absl::StrCat(
        "workspace ", i, " has moved ", library_.moves(i), " times, to room for ",
        library_.room(i), " words, and not ", workspaces_[i].moves, ", to ", workspaces_[i].room));
  }
  if (runtime_->touches() != touches_) {
    return absl::InternalError(
        absl::StrCat("the runtime counts ", runtime_->touches(), " touches, not ", touches_));
  }
  for (const Program& program : programs_) {
    if (!program.body.is_workspace_wrong) continue;
    return absl::InternalError("a body was given other memory than its library has");
  }
  const auto check = [](absl::string_view what, uint64_t is, Figure* expected) {
    const Figure was = *expected;
    *expected = {is, is};
    if (was.least <= is && is <= was.most) return absl::OkStatus();
    return absl::InternalError(
        absl::StrCat(what, " are ", is, ", not ", was.least, " to ", was.most));
  };
  GRAPHTREE_RETURN_IF_ERROR(
      check("recordings made stale", stats.stale_recordings, &stale_recordings_));
  return check("moves under recordings", stats.workspace_moves, &workspace_moves_);
}

}  // namespace graphtree::runtime_simulation
