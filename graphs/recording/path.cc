// Holds outputs, forgets those that died, and ends the path.
#include "graphs/recording/path.h"

#include <algorithm>
#include <utility>

#include "device/base/check.h"

namespace graphtree {
namespace {

bool Lasts(const Node& node, absl::Span<const Value> inputs, const Storage* storage) {
  for (uint32_t input : node.lasting) {
    if (inputs[input].storage() == storage) return true;
  }
  return false;
}

}  // namespace

const char* PathStateName(PathState state) {
  switch (state) {
    case PathState::kNone: return "none";
    case PathState::kWarmUp: return "warm-up";
    case PathState::kRecording: return "recording";
    case PathState::kReplaying: return "replaying";
  }
  return "?";
}

Node* Path::AppendWarmUp(std::unique_ptr<Node> node) {
  warm_ups_.push_back(std::move(node));
  Append(warm_ups_.back().get(), PathState::kWarmUp);
  return current_;
}

bool Path::Holds(const Storage& storage) const {
  return std::any_of(held_.begin(), held_.end(),
                     [&](const HeldOutput& held) { return held.storage == &storage; });
}

Storage* Path::Find(OutputRef output) const {
  for (const HeldOutput& held : held_) {
    if (held.output == output) return held.storage;
  }
  return nullptr;
}

size_t Path::CountAlive() const {
  return std::count_if(held_.begin(), held_.end(),
                       [](const HeldOutput& held) { return held.storage->held_outside(); });
}

const std::vector<HeldOutput>& Path::ForgetDead() {
  size_t kept = 0;
  for (const HeldOutput& held : held_) {
    if (held.storage->held_outside()) {
      held_[kept++] = held;
    } else {
      held.storage->DropInside();
    }
  }
  held_.resize(kept);
  return held_;
}

uint64_t Path::HashOfAlive() {
  LiveHash hash;
  for (const HeldOutput& held : ForgetDead()) hash.Add(held.output);
  return hash.value();
}

std::vector<HeldOutput> Path::TakeDead(absl::Span<Storage* const> storages) {
  std::vector<HeldOutput> dead;
  size_t kept = 0;
  for (const HeldOutput& held : held_) {
    const bool asked = std::find(storages.begin(), storages.end(), held.storage) != storages.end();
    if (asked && !held.storage->held_outside()) {
      dead.push_back(held);
    } else {
      held_[kept++] = held;
    }
  }
  held_.resize(kept);
  return dead;
}

void Path::BecameOwning() {
  restored_level_ = next_level();
  survivors_.clear();
  survivors_.reserve(held_.size());  // a hit that follows uses no heap
}

void Path::BecameViews() {
  survivors_.clear();
  for (const HeldOutput& held : held_) survivors_.push_back(held.output);
}

bool Path::IsGone(OutputRef output) const {
  return output.level < restored_level_ && Find(output) == nullptr &&
         std::find(survivors_.begin(), survivors_.end(), output) == survivors_.end();
}

Path::Fit Path::Fits(const Node& node, absl::Span<const Value> inputs) {
  for (const HeldOutput& held : ForgetDead()) {
    if (!node.live_before.Contains(held.output)) return Fit::kAliveButWasDead;
  }
  for (const OutputRef needed : node.needs) {
    if (IsGone(needed)) return Fit::kGone;
  }
  for (const Consumed& consumed : node.consumed) {
    if (consumed.moves) {
      if (!DiesWith(consumed.output, node, inputs)) return Fit::kHeldElsewhere;
      continue;
    }
    const Storage* storage = inputs[consumed.input].storage();
    // A bare address: nobody knows who else uses it.
    if (storage == nullptr) return Fit::kHeldElsewhere;
    if (storage->outside() > HandlesIn(inputs, storage) || Lasts(node, inputs, storage)) {
      return Fit::kHeldElsewhere;
    }
  }
  return Fit::kFits;
}

bool Path::DiesWith(OutputRef output, const Node& node, absl::Span<const Value> inputs) const {
  for (const HeldOutput& held : held_) {
    if (!(held.output == output)) continue;
    if (held.storage->outside() > HandlesIn(inputs, held.storage)) return false;
    if (Lasts(node, inputs, held.storage)) return false;
  }
  return true;
}

void Path::EndStale(uint64_t step, uint32_t at) {
  for (const HeldOutput& held : ForgetDead()) {
    held.storage->ended_in = step;
    held.storage->ended_at = at;
    held.storage->set_state(StorageState::kStale);
  }
  Reset();
}

void Path::EndDead() {
  GRAPHTREE_CHECK(ForgetDead().empty()) << "an output of the path is still held";
  Reset();
}

void Path::Reset() {
  Clear();
  warm_ups_.clear();
  current_ = root_;
  state_ = PathState::kNone;
  restored_level_ = 0;
  survivors_.clear();
}

void Path::Clear() {
  for (const HeldOutput& held : held_) held.storage->DropInside();
  held_.clear();
}

}  // namespace graphtree
