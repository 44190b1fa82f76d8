// Files nodes by hashes, and files them again when another input moves.
#include "graphs/match/general_nodes.h"

#include <utility>

namespace graphtree {

uint64_t GeneralNodes::HashOf(const InputPattern& pattern, const std::vector<bool>& moving) {
  PinHash hash;
  const absl::Span<const RecordedInput> rows = pattern.rows();
  for (size_t i = 0; i < rows.size(); ++i) {
    const bool moves = i < moving.size() && moving[i];
    hash.Add(rows[i].layout, rows[i].word, !moves && pattern.pins(i));
  }
  return hash.value();
}

void GeneralNodes::Add(uint32_t function, Node* node, Key key, const std::vector<bool>& moving) {
  OfFunction& of = functions_[function];
  bool grown = false;
  if (of.moving.size() < moving.size()) of.moving.resize(moving.size(), false);
  for (size_t i = 0; i < moving.size(); ++i) {
    grown |= moving[i] && !of.moving[i];
    of.moving[i] = of.moving[i] || moving[i];
  }
  if (grown) {
    absl::flat_hash_map<uint64_t, Siblings> before = std::move(of.by_pins);
    of.by_pins.clear();
    for (const auto& [hash, siblings] : before) {
      for (Node* filed : siblings.nodes()) {
        const Key& its = of.keys.at(filed);
        of.by_pins[HashOf(*its.pattern, of.moving)].Add(filed, its.live);
      }
    }
  }
  of.keys.emplace(node, key);
  of.by_pins[HashOf(*key.pattern, of.moving)].Add(node, key.live);
}

void GeneralNodes::Remove(uint32_t function, Node* node) {
  const auto found = functions_.find(function);
  if (found == functions_.end()) return;
  OfFunction& of = found->second;
  const auto key = of.keys.find(node);
  if (key == of.keys.end()) return;
  const auto filed = of.by_pins.find(HashOf(*key->second.pattern, of.moving));
  filed->second.Remove(node);
  if (filed->second.empty()) of.by_pins.erase(filed);
  of.keys.erase(key);
  // The next node that is added says anew which inputs move.
  if (of.keys.empty()) functions_.erase(found);
}

}  // namespace graphtree
