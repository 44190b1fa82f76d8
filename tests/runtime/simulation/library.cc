// Grows, overwrites.
#include "tests/runtime/simulation/library.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "tests/kernels/kernels.h"

namespace graphtree::runtime_simulation {
namespace {

constexpr uint32_t kPlaceWords = kWorkspaceBytes / 4;
constexpr uint32_t kRubbish = 0xdeadbeef;
// Between two calls of Settle a workspace moves fewer times.
constexpr uint32_t kReady = 5;
constexpr uint64_t kNever = ~uint64_t{0};

uint32_t PlaceAfter(uint64_t moves) { return moves % kWorkspacePlaces; }

}  // namespace

Words HeadOf(uint32_t workspace, uint64_t moves) {
  Words head(kDepWords);
  for (uint32_t i = 0; i < kDepWords; ++i) {
    head[i] = PatternWord(static_cast<uint32_t>(50000 * (workspace + 1) + moves), i);
  }
  return head;
}

Library::Library(ServerMemory& memory, Tell tell) : memory_(memory), tell_(std::move(tell)) {
  for (Workspace& workspace : workspaces_) workspace.ready_for.fill(kNever);
}

AddressRange Library::memory(uint32_t workspace) const {
  const Workspace& now = workspaces_[workspace];
  return {memory_.workspace(workspace, PlaceAfter(now.moves)), 4 * (kDepWords + kLanes * now.room)};
}

Address Library::scratch(uint32_t workspace, uint32_t lane) const {
  return memory(workspace).base + 4 * (kDepWords + lane * workspaces_[workspace].room);
}

absl::Status Library::Ask(uint32_t workspace, uint32_t words) {
  if (words <= workspaces_[workspace].room) return absl::OkStatus();
  return Move(workspace, RoomFor(words));
}

absl::Status Library::Move(uint32_t workspace, uint32_t room) {
  Workspace& now = workspaces_[workspace];
  ++now.moves;
  now.room = room;
  return tell_(workspace, memory(workspace));
}

absl::Status Library::Settle() {
  for (uint32_t i = 0; i < kWorkspaces; ++i) {
    GRAPHTREE_RETURN_IF_ERROR(CheckRubbish(i));
    GRAPHTREE_RETURN_IF_ERROR(Prepare(i));
  }
  return absl::OkStatus();
}

absl::Status Library::CheckRubbish(uint32_t workspace) {
  const Workspace& now = workspaces_[workspace];
  Words found(kPlaceWords * kWorkspacePlaces);
  GRAPHTREE_RETURN_IF_ERROR(
      memory_.Read(memory_.workspace(workspace, 0), found.data(), found.size() * 4));
  for (uint32_t place = 0; place < kWorkspacePlaces; ++place) {
    const auto first = found.begin() + place * kPlaceWords;
    if (!now.is_rubbish[place] || std::count(first, first + kPlaceWords, kRubbish) == kPlaceWords) {
      continue;
    }
    return absl::InternalError(absl::StrCat("somebody has written to place ", place,
                                            " of workspace ", workspace, ", which is in place ",
                                            PlaceAfter(now.moves), " now"));
  }
  return absl::OkStatus();
}

absl::Status Library::Prepare(uint32_t workspace) {
  Workspace& now = workspaces_[workspace];
  for (uint32_t step = 0; step < kWorkspacePlaces; ++step) {
    const uint64_t moves = now.moves + step;
    const uint32_t place = PlaceAfter(moves);
    const Address address = memory_.workspace(workspace, place);
    if (step > kReady && !now.is_rubbish[place]) {
      const Words rubbish(kPlaceWords, kRubbish);
      GRAPHTREE_RETURN_IF_ERROR(memory_.Write(address, rubbish.data(), kWorkspaceBytes));
      now.is_rubbish[place] = true;
    } else if (step <= kReady && now.ready_for[place] != moves) {
      const Words head = HeadOf(workspace, moves);
      GRAPHTREE_RETURN_IF_ERROR(memory_.Write(address, head.data(), head.size() * 4));
      now.is_rubbish[place] = false;
      now.ready_for[place] = moves;
    }
  }
  return absl::OkStatus();
}

}  // namespace graphtree::runtime_simulation
