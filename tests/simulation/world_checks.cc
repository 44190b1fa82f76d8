// What must hold after every action.
#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "allocator/pool.h"
#include "device/base/status_macros.h"
#include "tests/simulation/world.h"

namespace graphtree::simulation {

absl::Status World::CheckInvariants() {
  if (!false_alarm_.empty()) return absl::InternalError("a false alarm: " + false_alarm_);
  for (const Seen& seen : stale_) {
    if (!Tensor::From(seen.handle).bytes().ok()) continue;
    return absl::InternalError("a tensor of an ended step may be used again");
  }
  GRAPHTREE_RETURN_IF_ERROR(CheckLives());
  GRAPHTREE_RETURN_IF_ERROR(CheckWatcher());
  GRAPHTREE_RETURN_IF_ERROR(CheckBudget());
  GRAPHTREE_RETURN_IF_ERROR(CheckWitnesses());
  return CheckBooks();
}

absl::Status World::CheckCounted(const TreeStats& before) {
  const TreeStats now = tree_->stats();
  const auto routes = [](const TreeStats& stats) {
    return stats.replays + stats.recordings + stats.warm_ups + stats.eager;
  };
  const auto reasons = [](const TreeStats& stats) {
    return std::accumulate(stats.reasons.begin(), stats.reasons.end(), uint64_t{0});
  };
  if (routes(now) != routes(before) + 1) {
    return absl::InternalError(absl::StrCat("a call counts as ", routes(now) - routes(before),
                                            " of replays, recordings, warm-ups and eager runs"));
  }
  if (now.eager == before.eager || reasons(now) > reasons(before)) return absl::OkStatus();
  return absl::InternalError("an eager run has no reason");
}

absl::Status World::CheckBudget() {
  const TreeBudget& budget = options_.budget;
  const TreeStats stats = tree_->stats();
  const struct {
    const char* what;
    uint64_t is;
    uint64_t most;
  } rows[] = {{"nodes", stats.nodes, budget.nodes},
              {"executables", stats.executables, budget.executables},
              {"bytes of executables", stats.executable_bytes, budget.executable_bytes},
              {"shapes", stats.shapes, budget.shapes}};
  for (const auto& row : rows) {
    if (row.is <= row.most) continue;
    return absl::InternalError(absl::StrCat("the tree has ", row.is, " ", row.what,
                                            ", and a budget of ", row.most));
  }
  return absl::OkStatus();
}

absl::Status World::CheckWitnesses() {
  if (witnesses_.destroyed_in_capture()) {
    return absl::InternalError("a recording was destroyed while a capture was open");
  }
  if (tree_ == nullptr) {
    // Where another thread captured meanwhile the device has what is left.
    if (witnesses_.alive() == 0 || !is_alone_) return absl::OkStatus();
    return absl::InternalError("something that a body gave is there when the tree is gone");
  }
  const uint64_t nodes = tree_->stats().nodes;
  if (witnesses_.of_nodes() >= nodes) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("there are ", nodes, " recordings, and only ",
                                          witnesses_.of_nodes(), " hold what they were given"));
}

absl::Status World::CheckWatcher() {
  if (!program_.watched) return absl::OkStatus();
  if (!watcher_.wrong().empty()) return absl::InternalError(watcher_.wrong());
  const TreeStats stats = tree_->stats();
  if (watcher_.executables() == stats.executables) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("an observer knows of ", watcher_.executables(),
                                          " executables, and there are ", stats.executables));
}

// In these states the pool's books are true: every block is somebody's.
absl::Status World::CheckBooks() {
  const std::string state = tree_->state();
  if (state != "recording" && state != "warm-up") return absl::OkStatus();
  for (const FunctionSpec& spec : program_.functions) {
    const bool foreign = spec.Has(OpSpecKind::kForeign) || spec.Has(OpSpecKind::kLibrary);
    if (foreign || !spec.kept.empty() || !hoard_.empty()) return absl::OkStatus();
  }
  std::vector<const Storage*> held;
  // What stands for an input that is patched may be stored, and is the caller's own memory.
  const auto hold = [&](const Value& value) {
    const Storage* storage = value.storage();
    if (storage == nullptr || storage->stale() || memory_.Has(value)) return;
    if (std::find(held.begin(), held.end(), storage) == held.end()) held.push_back(storage);
  };
  for (const Seen& seen : live_) hold(seen.handle);
  for (const Stored& stored : bodies_.shelf()) hold(stored.handle);
  tree_->stats();  // forgets what has died
  const uint64_t blocks = tree_->pool().Stats().live_blocks;
  // A recording holds what its body has used of an eager run's.
  if (blocks == held.size() || (loads_ && blocks > held.size())) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("the pool has ", blocks, " live blocks, and the caller ",
                                          "holds ", held.size(), " (tree: ", state, ")"));
}

absl::Status World::CheckOne(const Seen& seen, const std::string& name) {
  Cell found(program_.elements);
  GRAPHTREE_RETURN_IF_ERROR(
      streams_[stream_]->Copy(AddressOf(found.data()), seen.handle.word(), found.size() * 4));
  GRAPHTREE_RETURN_IF_ERROR(streams_[stream_]->Synchronize());
  for (size_t e = 0; e < found.size(); ++e) {
    if (found[e] != (*seen.cell)[e]) {
      return absl::InternalError(absl::StrCat(name, " has ", found[e], " at ", e, " instead of ",
                                              (*seen.cell)[e], " (tree: ",
                                              tree_ == nullptr ? "gone" : tree_->state(), ")"));
    }
  }
  return absl::OkStatus();
}

absl::Status World::CheckAll() {
  GRAPHTREE_RETURN_IF_ERROR(Synchronize());
  for (size_t i = 0; i < live_.size(); ++i) {
    GRAPHTREE_RETURN_IF_ERROR(CheckOne(live_[i], absl::StrCat("output ", i)));
  }
  GRAPHTREE_RETURN_IF_ERROR(CheckShelf());
  for (size_t i = 0; i < hoard_.size(); ++i) {
    GRAPHTREE_RETURN_IF_ERROR(CheckOne(hoard_[i], absl::StrCat("foreign block ", i)));
  }
  for (size_t i = 0; i < memory_.statics().size(); ++i) {
    GRAPHTREE_RETURN_IF_ERROR(CheckOne(memory_.statics()[i], absl::StrCat("static tensor ", i)));
  }
  for (size_t i = 0; i < memory_.foreign().size(); ++i) {
    if (memory_.IsDead(memory_.foreign()[i].handle)) continue;
    GRAPHTREE_RETURN_IF_ERROR(CheckOne(memory_.foreign()[i], absl::StrCat("foreign tensor ", i)));
  }
  return absl::OkStatus();
}

}  // namespace graphtree::simulation
