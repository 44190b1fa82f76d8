// What must be true at any time: bytes, staleness, budgets, and whatever looks at a tree.
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "allocator/snapshot_nodes.h"
#include "graphs/reports/call_counts.h"
#include "graphs/reports/graph_export.h"
#include "graphs/reports/outline.h"
#include "graphs/tree_stats.h"
#include "tests/outsider/world.h"

namespace graphtree::outsider {
namespace {

// Where two pieces of memory differ first; -1 if they do not.
int64_t FirstDifference(const uint8_t* a, const uint8_t* b, uint64_t bytes) {
  if (bytes == 0 || std::memcmp(a, b, bytes) == 0) return -1;
  for (uint64_t i = 0; i < bytes; ++i) {
    if (a[i] != b[i]) return static_cast<int64_t>(i);
  }
  return -1;
}

std::string Differs(const std::string& what, const uint8_t* is, const uint8_t* should,
                    uint64_t bytes, int64_t at) {
  return absl::StrCat(what, ": byte ", at, " of ", bytes, " is ", static_cast<int>(is[at]),
                      " and should be ", static_cast<int>(should[at]));
}

}  // namespace

void World::CheckHeld(const Held& held, const char* what) {
  const Handle& model = held.model;
  if (!model.is_tensor()) return;
  const bool stale = IsStaleNow(held.value);
  const bool should = IsStale(held);
  if (stale != should && !model.bytes->mixed) {
    return Wrong(absl::StrCat("what is ", what, stale ? " is stale, " : " is not stale, ",
                              should ? "though its step is over" : "though its step goes on"));
  }
  if (stale) {
    ++verdict_.coverage.stale_seen;
    return;
  }
  if (should) return;
  if (model.bytes->kept) ++verdict_.coverage.kept_held;
  if (!IsThere(*model.bytes)) return;
  const auto* bytes = PointerTo<uint8_t>(held.value.word());
  const int64_t at = FirstDifference(bytes, model.data(), model.extent());
  if (at >= 0) Wrong(Differs(what, bytes, model.data(), model.extent(), at));
}

void World::Check() {
  if (absl::Status s = SyncAll(); !s.ok()) return Wrong("syncing: " + s.ToString());
  for (int i = 0; i < kBuffers; ++i) {
    const auto* bytes = PointerTo<const uint8_t>(rig_.bases[i]);
    const int64_t at = FirstDifference(bytes, mirror_.buffers[i]->data.data(), kBufferBytes[i]);
    if (at < 0) continue;
    return Wrong(Differs(absl::StrCat("buffer ", i), bytes, mirror_.buffers[i]->data.data(),
                         kBufferBytes[i], at));
  }
  for (int i = 0; i < kBlocks; ++i) {
    if (blocks_[i] == 0 || parked_[0]) continue;
    const std::vector<uint8_t>& data = block_bytes_[i]->data;
    const auto* bytes = PointerTo<uint8_t>(blocks_[i]);
    const int64_t at = FirstDifference(bytes, data.data(), data.size());
    if (at >= 0) return Wrong(Differs("a foreign block", bytes, data.data(), data.size(), at));
  }
  for (int i = 0; i < kShelf; ++i) CheckHeld(shelf_[i], absl::StrCat("held in ", i).c_str());
  for (int i = 0; i < kStashes; ++i) {
    if (!rig_.stash[i].is_tensor()) continue;
    CheckHeld({rig_.stash[i], mirror_.stash[i]}, "stored by a body");
  }
  CheckReadBacks();
  for (int tree = 0; tree < kTrees; ++tree) CheckFigures(tree);
}

void World::CheckReadBacks() {
  for (const ReadBack& back : std::exchange(read_backs_, {})) {
    const auto* bytes = static_cast<const uint8_t*>(back.landing->data());
    const uint64_t size = back.expected.size();
    const int64_t at = FirstDifference(bytes, back.expected.data(), size);
    if (at >= 0) return Wrong(Differs("read back", bytes, back.expected.data(), size, at));
  }
}

void World::CheckFigures(int tree) {
  const TreeStats stats = rig_.trees[tree]->stats();
  const TreeOptions options = OptionsOf(tree);
  const struct {
    const char* name;
    uint64_t is, most;
  } rows[] = {
      {"nodes", stats.nodes, options.budget.nodes},
      {"executables", stats.executables, options.budget.executables},
      {"bytes of executables", stats.executable_bytes, options.budget.executable_bytes},
      {"shapes", stats.shapes, options.budget.shapes},
      {"bytes of the pool", stats.pool_reserved_bytes,
       options.pool_bytes == 0 ? UINT64_MAX : options.pool_bytes},
      {"kept bytes", stats.kept_bytes, options.kept_bytes == 0 ? UINT64_MAX : options.kept_bytes},
  };
  for (const auto& row : rows) {
    if (row.is > row.most) {
      return Wrong(absl::StrCat(row.name, ": ", row.is, " where ", row.most, " may be"));
    }
  }
  // Whatever ran eagerly has a reason.
  uint64_t reasons = 0;
  for (const Reason reason :
       {Reason::kExcluded, Reason::kTreeOff, Reason::kMutatedInput, Reason::kOverlappingInputs,
        Reason::kRerecordLimit, Reason::kRecordFailed, Reason::kForbiddenCall,
        Reason::kUnjoinedFork, Reason::kOutOfPool, Reason::kOutOfDevice, Reason::kInputMoves,
        Reason::kSizeNotListed,
        Reason::kSizesVary, Reason::kShapeLimit, Reason::kOverBudget, Reason::kPaused,
        Reason::kCaptureBroken, Reason::kGivenUp,
        Reason::kWarmUpForEver, Reason::kLongStep}) {
    reasons += stats.reasons[static_cast<size_t>(reason)];
  }
  if (stats.eager > reasons) {
    return Wrong(absl::StrCat(stats.eager, " eager runs, and ", reasons, " reasons"));
  }
  if (stats.replays + stats.recordings + stats.warm_ups + stats.eager > 2 * stats.calls + 2) {
    Wrong("more runs than calls");
  }
}

// Whoever looks sees something, and changes nothing.
void World::LookAround(int tree) {
  Tree& of = *rig_.trees[tree];
  const Outline outline = of.outline();
  const TreeStats stats = of.stats();
  if (outline.size() != stats.nodes) {
    return Wrong(absl::StrCat("the outline has ", outline.size(), " rows and the tree ",
                              stats.nodes, " nodes"));
  }
  uint64_t below = 0;
  for (const uint64_t count : of.descendants()) below += count + 1;
  if (below != stats.nodes) Wrong("descendants are not all nodes");
  if (DrawOutline(outline).empty() != outline.empty()) Wrong("a drawing of nothing");
  if (OutlineAsJson(outline).empty() || OutlineAsGraphviz(outline).empty()) Wrong("no text");
  for (const OutlineNode& node : outline) {
    const auto ops = of.OpsOf(node.id);
    if (!ops.ok()) return Wrong("ops of a recording: " + ops.status().ToString());
    if (ops->size() != node.ops + node.breaks.size() && node.breaks.empty()) {
      return Wrong(absl::StrCat("recording ", node.id, " has ", ops->size(), " ops and says ",
                                node.ops));
    }
    if (OpsAsJson("x", *ops).empty() || OpsAsGraphviz("x", *ops).empty()) Wrong("no text");
  }
  (void)of.memory_of_nodes();
  (void)of.edge_stats();
  if (of.function_stats().empty() && stats.calls > 0) Wrong("calls of no function");
  if (of.state() == nullptr) Wrong("no state");
  of.Inspect([&] { (void)of.pool().Stats(); });
}

void World::CountCoverage(int tree) {
  const TreeStats stats = rig_.trees[tree]->stats();
  Coverage& to = verdict_.coverage;
  to.programs = 1;
  to.replays += stats.replays;
  to.recordings += stats.recordings;
  to.warm_ups += stats.warm_ups;
  to.eager += stats.eager;
  to.parts += stats.eager_parts;
  to.sections += stats.sections;
  to.copied += stats.copied_inputs;
  to.patched += stats.patched_inputs;
  to.spares += stats.spares;
  to.again += stats.instantiated_again;
  to.restores += stats.restores;
  for (size_t i = 0; i < kReasonCount; ++i) to.reasons[i] += stats.reasons[i];
  if (tree > 0) return;
  to.done = rig_.done;
  to.faults += fired();
  to.lost += lost_ ? 1 : 0;
}

void Coverage::Add(const Coverage& other) {
  for (size_t i = 0; i < kActCount; ++i) acts[i] += other.acts[i];
  for (size_t i = 0; i < kDoCount; ++i) done[i] += other.done[i];
  for (size_t i = 0; i < kFromCount; ++i) froms[i] += other.froms[i];
  for (size_t i = 0; i < kReasonCount; ++i) reasons[i] += other.reasons[i];
  uint64_t Coverage::* const counts[] = {
      &Coverage::programs,     &Coverage::calls,   &Coverage::replays,  &Coverage::recordings,
      &Coverage::warm_ups,     &Coverage::eager,   &Coverage::parts,    &Coverage::sections,
      &Coverage::copied,       &Coverage::patched, &Coverage::spares,   &Coverage::again,
      &Coverage::restores,     &Coverage::faults,  &Coverage::lost,     &Coverage::kept_held,
      &Coverage::wrong_calls,  &Coverage::failed_calls, &Coverage::stale_seen,
      &Coverage::outlived};
  for (const auto count : counts) this->*count += other.*count;
}

}  // namespace graphtree::outsider
