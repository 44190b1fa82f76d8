// Filing, and filing again.
#include "graphs/general_nodes.h"

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

void GeneralNodes::Add(uint32_t function, Node* node, const InputPattern* pattern,
                       const std::vector<bool>& moving) {
  OfFunction& of = functions_[function];
  bool grown = false;
  if (of.moving.size() < moving.size()) of.moving.resize(moving.size(), false);
  for (size_t i = 0; i < moving.size(); ++i) {
    grown |= moving[i] && !of.moving[i];
    of.moving[i] = of.moving[i] || moving[i];
  }
  if (grown) {
    absl::flat_hash_map<uint64_t, std::vector<Entry>> before = std::move(of.by_pins);
    of.by_pins.clear();
    for (const auto& [hash, entries] : before) {
      for (const Entry& entry : entries) {
        of.by_pins[HashOf(*entry.pattern, of.moving)].push_back(entry);
      }
    }
  }
  of.by_pins[HashOf(*pattern, of.moving)].push_back({node, pattern});
}

void GeneralNodes::Remove(uint32_t function, Node* node) {
  const auto found = functions_.find(function);
  if (found == functions_.end()) return;
  auto& by_pins = found->second.by_pins;
  for (auto at = by_pins.begin(); at != by_pins.end();) {
    std::vector<Entry>& entries = at->second;
    for (size_t i = 0; i < entries.size(); ++i) {
      if (entries[i].node == node) entries.erase(entries.begin() + i--);
    }
    if (entries.empty()) {
      by_pins.erase(at++);
    } else {
      ++at;
    }
  }
}

}  // namespace graphtree
