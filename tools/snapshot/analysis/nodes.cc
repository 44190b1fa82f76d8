// Reads our own keys leniently, and sweeps the ranges of all nodes once.
#include "tools/snapshot/analysis/nodes.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>


namespace graphtree::snapshot {
namespace {

using Range = std::pair<uint64_t, uint64_t>;  // begin, end

class NodeReader {
 public:
  explicit NodeReader(const Snapshot& snapshot) : snapshot_(snapshot) {}

  NodeReport Run();

 private:
  std::optional<Value> Get(Value dict, absl::string_view key) const {
    const StringId id = snapshot_.strings.Find(key);
    return id == kNoId ? std::nullopt : snapshot_.values.Get(dict, id);
  }
  std::string Text(Value dict, absl::string_view key) const {
    const auto value = Get(dict, key);
    return value.has_value() ? TextOf(*value) : "";
  }
  std::string TextOf(Value value) const {
    if (value.is(Value::kString)) return std::string(snapshot_.Text(value.id()));
    const bool number = value.is(Value::kInteger) || value.is(Value::kWideInteger) ||
                        value.is(Value::kWideUnsigned);
    return number ? IntegerText(snapshot_.values, value) : "";
  }
  uint64_t Number(Value dict, absl::string_view key) const {
    const auto value = Get(dict, key);
    return value.has_value() ? snapshot_.values.AsUnsigned(*value).value_or(0) : 0;
  }
  const std::vector<Value>& List(Value dict, absl::string_view key) const;

  void ReadNode(Value node);
  std::vector<Range> RangesOf(Value dict, absl::string_view key) const;
  std::vector<Range> Parked() const;
  NodeOutput OutputOf(Value output) const;
  void CountLiveBlocks();
  void CountLiveOutputs();
  void CountParked();
  void CountAlone();
  void OrderAsTree();

  const Snapshot& snapshot_;
  NodeReport report_;
  std::vector<std::vector<Range>> live_;    // of each node, its live blocks
  std::map<std::string, size_t> by_id_;
};

const std::vector<Value>& NodeReader::List(Value dict, absl::string_view key) const {
  static const std::vector<Value> empty;
  const auto value = Get(dict, key);
  const std::vector<Value>* items =
      value.has_value() ? snapshot_.values.ListItems(*value) : nullptr;
  return items == nullptr ? empty : *items;
}

std::vector<Range> NodeReader::RangesOf(Value dict, absl::string_view key) const {
  std::vector<Range> ranges;
  for (Value item : List(dict, key)) {
    const auto [address, bytes] =
        TwoIntegers(snapshot_.values, item).value_or(std::make_pair(uint64_t{0}, uint64_t{0}));
    if (bytes != 0 && address + bytes > address) ranges.push_back({address, address + bytes});
  }
  std::sort(ranges.begin(), ranges.end());
  std::vector<Range> joined;
  for (const Range& range : ranges) {
    if (!joined.empty() && range.first <= joined.back().second) {
      joined.back().second = std::max(joined.back().second, range.second);
    } else {
      joined.push_back(range);
    }
  }
  return joined;
}

NodeOutput NodeReader::OutputOf(Value output) const {
  NodeOutput read;
  read.name = Text(output, "output");
  read.address = Number(output, "address");
  read.bytes = Number(output, "bytes");
  read.handles = Number(output, "handles");
  read.holder = Text(output, "holder");
  const auto alive = Get(output, "alive");
  read.alive = alive.has_value() && alive->is(Value::kBool) && alive->payload() != 0;
  return read;
}

void NodeReader::ReadNode(Value node) {
  NodeRow row;
  row.id = Text(node, "id");
  row.parent = Text(node, "parent");
  row.function = Text(node, "function");
  row.inputs = Text(node, "inputs");
  row.state = Text(node, "state");
  row.replays = Number(node, "replays");
  row.executable_bytes = Number(node, "executable_bytes");
  for (Value output : List(node, "outputs")) row.outputs.push_back(OutputOf(output));
  row.ranges = RangesOf(node, "ranges");
  live_.emplace_back();
  for (const Range& range : row.ranges) row.bytes += range.second - range.first;
  by_id_.try_emplace(row.id, report_.nodes.size());
  report_.nodes.push_back(std::move(row));
}

void NodeReader::CountLiveBlocks() {
  const StringId function_key = snapshot_.strings.Find("function");
  for (const Segment& segment : snapshot_.gpu.segments) {
    for (const Block& block : snapshot_.BlocksOf(segment)) {
      if (!block.allocated()) continue;
      const auto node = snapshot_.extras.Get(block.extras, words::kNode);
      if (!node.has_value()) {
        report_.live_without_node += block.size;
        continue;
      }
      const std::string id = TextOf(*node);
      auto found = by_id_.find(id);
      if (found == by_id_.end()) {
        found = by_id_.emplace(id, report_.nodes.size()).first;
        report_.nodes.emplace_back();
        report_.nodes.back().id = id;
        live_.emplace_back();
      }
      NodeRow& row = report_.nodes[found->second];
      row.live_bytes += block.size;
      ++row.live_blocks;
      live_[found->second].push_back({block.address, block.address + block.size});
      if (!row.function.empty() || function_key == kNoId) continue;
      const auto function = snapshot_.extras.Get(block.extras, function_key);
      if (function.has_value()) row.function = TextOf(*function);
    }
  }
}

void NodeReader::CountLiveOutputs() {
  for (size_t i = 0; i < report_.nodes.size(); ++i) {
    for (const NodeOutput& output : report_.nodes[i].outputs) {
      const bool counted = std::any_of(live_[i].begin(), live_[i].end(), [&](const Range& block) {
        return block.first <= output.address && output.address < block.second;
      });
      if (output.alive && !counted) report_.nodes[i].live_bytes += output.bytes;
    }
  }
}

std::vector<Range> NodeReader::Parked() const {
  const auto own = snapshot_.Get(words::kGraphtree);
  if (own.has_value() && Get(*own, "parked_ranges").has_value()) {
    return RangesOf(*own, "parked_ranges");
  }
  std::vector<Range> parked;
  const StringId parked_key = snapshot_.strings.Find("parked");
  if (parked_key == kNoId) return parked;
  for (const Segment& segment : snapshot_.gpu.segments) {
    const auto flag = snapshot_.extras.Get(segment.extras, parked_key);
    if (!flag.has_value() || !flag->is(Value::kBool) || flag->payload() == 0) continue;
    parked.push_back({segment.address, segment.address + segment.total_size});
  }
  std::sort(parked.begin(), parked.end());
  return parked;
}

void NodeReader::CountParked() {
  const std::vector<Range> parked = Parked();
  for (size_t i = 0; i < report_.nodes.size(); ++i) {
    size_t at = 0;
    for (const Range& range : report_.nodes[i].ranges) {
      while (at < parked.size() && parked[at].second <= range.first) ++at;
      for (size_t j = at; j < parked.size() && parked[j].first < range.second; ++j) {
        report_.nodes[i].parked += std::min(range.second, parked[j].second) -
                                   std::max(range.first, parked[j].first);
      }
    }
  }
}

// Walks all borders of ranges in order; between two borders the same nodes use every byte. Where it
// is one node, the sum of the numbers of the nodes there is its number.
void NodeReader::CountAlone() {
  struct Border {
    uint64_t at;
    size_t node;
    bool begins;
  };
  std::vector<Border> borders;
  for (size_t i = 0; i < report_.nodes.size(); ++i) {
    for (const Range& range : report_.nodes[i].ranges) {
      borders.push_back({range.first, i, true});
      borders.push_back({range.second, i, false});
    }
  }
  std::sort(borders.begin(), borders.end(),
            [](const Border& a, const Border& b) { return a.at < b.at; });
  size_t users = 0;
  size_t sum = 0;
  uint64_t last = 0;
  for (const Border& border : borders) {
    const uint64_t bytes = border.at - last;
    if (users == 1) report_.nodes[sum].alone += bytes;
    if (users != 0) report_.covered += bytes;
    last = border.at;
    users += border.begins ? 1 : -1;
    sum += border.begins ? border.node : -border.node;
  }
}

// Depth first, siblings as in the file. Nodes whose parents go in a circle come last, as roots.
void NodeReader::OrderAsTree() {
  std::vector<NodeRow>& rows = report_.nodes;
  std::vector<std::vector<size_t>> children(rows.size());
  std::vector<size_t> due;  // the next one is at the back
  for (size_t i = rows.size(); i-- > 0;) {
    const auto parent = by_id_.find(rows[i].parent);
    if (rows[i].parent.empty() || parent == by_id_.end()) {
      due.push_back(i);
    } else {
      children[parent->second].push_back(i);  // the last one first
    }
  }
  std::vector<NodeRow> ordered;
  std::vector<bool> done(rows.size());
  for (size_t circle = 0; ordered.size() < rows.size();) {
    if (due.empty()) {
      while (done[circle]) ++circle;
      due.push_back(circle);
    }
    const size_t at = due.back();
    due.pop_back();
    if (done[at]) continue;
    done[at] = true;
    for (size_t child : children[at]) {
      if (done[child]) continue;
      rows[child].level = rows[at].level + 1;
      due.push_back(child);
    }
    ordered.push_back(std::move(rows[at]));
  }
  rows = std::move(ordered);
}

NodeReport NodeReader::Run() {
  const auto own = snapshot_.Get(words::kGraphtree);
  if (own.has_value()) {
    report_.has_tree = Get(*own, "nodes").has_value();
    for (Value node : List(*own, "nodes")) ReadNode(node);
  }
  CountLiveBlocks();
  CountLiveOutputs();
  CountParked();
  CountAlone();
  OrderAsTree();
  return std::move(report_);
}

}  // namespace

bool NodeRow::Covers(uint64_t address, uint64_t size) const {
  const auto behind = std::upper_bound(
      ranges.begin(), ranges.end(), address,
      [](uint64_t at, const Range& range) { return at < range.first; });
  return behind != ranges.begin() && address + size <= std::prev(behind)->second;
}

NodeReport NodesOf(const Snapshot& snapshot) { return NodeReader(snapshot).Run(); }

}  // namespace graphtree::snapshot
