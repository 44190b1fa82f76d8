// Keys of holdings and their sums.
#include "tools/snapshot/analysis/top.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "tools/snapshot/analysis/frames.h"
#include "tools/snapshot/analysis/nodes.h"
#include "tools/snapshot/analysis/tag_field.h"

namespace graphtree::snapshot {
namespace {

constexpr char kNoStack[] = "(no stack was recorded)";
constexpr char kNoTag[] = "(no tag)";
constexpr char kNoNode[] = "(no node)";

std::string FromCulprit(const Snapshot& snapshot, StackId stack, size_t depth) {
  const std::vector<FrameId> frames = VisibleFrames(snapshot, stack);
  if (frames.empty()) return kNoStack;
  const FrameId culprit = Culprit(snapshot, stack);
  size_t at = std::find(frames.begin(), frames.end(), culprit) - frames.begin();
  std::string key;
  for (; at < frames.size() && depth > 0; ++at, --depth) {
    absl::StrAppend(&key, key.empty() ? "" : "\n", FrameText(snapshot, frames[at]));
  }
  return key;
}

std::string PoolKey(const Snapshot& snapshot, PoolId pool) {
  if (pool == kNoId) return "unknown pool";
  const auto [first, second] = snapshot.Pool(pool);
  return absl::StrCat("(", first, ", ", second, ")");
}

// Sizes of one power of two share a row.
std::string SizeKey(uint64_t bytes) {
  uint64_t bound = 512;
  while (bound < bytes) bound *= 2;
  return absl::StrCat("<= ", bound);
}

// Which node a block was, said by itself or by its function and place.
class NodeKeys {
 public:
  explicit NodeKeys(const Snapshot& snapshot) : snapshot_(snapshot) {
    for (const NodeRow& node : NodesOf(snapshot).nodes) of_function_[node.function].push_back(node);
  }

  std::string KeyOf(const Holding& holding, bool* by_place) const {
    *by_place = false;
    if (holding.block != kNever) return OfBlock(snapshot_.blocks[holding.block]);
    const absl::Span<const FrameId> frames = snapshot_.stacks[holding.stack];
    if (frames.empty()) return kNoNode;
    const auto nodes = of_function_.find(snapshot_.Text(snapshot_.frames[frames.front()].name));
    if (nodes == of_function_.end()) return kNoNode;
    std::vector<std::string> ids;
    for (const NodeRow& node : nodes->second) {
      if (node.Covers(holding.address, holding.bytes)) ids.push_back(node.id);
    }
    if (ids.empty()) return kNoNode;
    *by_place = true;
    return ids.size() == 1 ? ids.front() : absl::StrCat("one of ", absl::StrJoin(ids, ", "));
  }

 private:
  std::string OfBlock(const Block& block) const {
    const auto node = snapshot_.extras.Get(block.extras, words::kNode);
    if (!node.has_value()) return kNoNode;
    return node->is(Value::kString) ? std::string(snapshot_.Text(node->id()))
                                    : IntegerText(snapshot_.values, *node);
  }

  const Snapshot& snapshot_;
  std::map<std::string, std::vector<NodeRow>, std::less<>> of_function_;
};

std::string TagKey(const Snapshot& snapshot, const Holding& holding, const Grouping& grouping) {
  const std::string tag(snapshot.Text(holding.user_metadata));
  if (grouping.field.empty()) return tag.empty() ? kNoTag : tag;
  return TagField(tag, grouping.field).value_or(kNoTag);
}

std::string KeyOf(const Snapshot& snapshot, const Holding& holding, const Grouping& grouping) {
  switch (grouping.by) {
    case GroupBy::kStack:
      return grouping.depth == 0 ? StackKey(snapshot, holding.stack)
                                 : FromCulprit(snapshot, holding.stack, grouping.depth);
    case GroupBy::kLine: return FromCulprit(snapshot, holding.stack, 1);
    case GroupBy::kTag: return TagKey(snapshot, holding, grouping);
    case GroupBy::kNode: break;  // NodeKeys
    case GroupBy::kPool: return PoolKey(snapshot, holding.pool);
    case GroupBy::kSize: return SizeKey(holding.bytes);
  }
  return "";
}

}  // namespace

std::string StackKey(const Snapshot& snapshot, StackId stack) {
  std::string key;
  for (FrameId frame : snapshot.stacks[stack]) {
    absl::StrAppend(&key, key.empty() ? "" : "\n", FrameText(snapshot, frame));
  }
  return key.empty() ? kNoStack : key;
}

std::vector<Holder> GroupHoldings(const Snapshot& snapshot, const std::vector<Holding>& holdings,
                                  const Grouping& grouping) {
  const bool by_stack = grouping.by == GroupBy::kStack || grouping.by == GroupBy::kLine;
  // The text of a stack may be long: it is made and looked up once, not for every holding.
  std::map<StackId, Holder*> of_stack;
  std::map<std::string, Holder> groups;
  std::optional<NodeKeys> nodes;
  if (grouping.by == GroupBy::kNode) nodes.emplace(snapshot);
  for (const Holding& holding : holdings) {
    Holder* unseen = nullptr;
    Holder*& found = by_stack ? of_stack[holding.stack] : unseen;
    bool by_place = false;
    if (found == nullptr) {
      found = &groups[nodes.has_value() ? nodes->KeyOf(holding, &by_place)
                                        : KeyOf(snapshot, holding, grouping)];
    }
    Holder& holder = *found;
    holder.by_place += by_place ? 1 : 0;
    holder.bytes += holding.bytes;
    holder.requested += holding.requested;
    ++holder.blocks;
    if (holding.bytes >= holder.largest) {
      holder.largest = holding.bytes;
      holder.stack = holding.stack;
    }
    for (StringId note : holding.notes) {
      if (std::find(holder.notes.begin(), holder.notes.end(), note) == holder.notes.end()) {
        holder.notes.push_back(note);
      }
    }
  }
  std::vector<Holder> sorted;
  for (auto& [key, holder] : groups) {
    holder.key = key;
    sorted.push_back(std::move(holder));
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Holder& a, const Holder& b) { return a.bytes > b.bytes; });
  return sorted;
}

}  // namespace graphtree::snapshot
