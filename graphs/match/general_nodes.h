// Finds general recordings. Such a recording takes an input at any address although the input could
// be pinned: a static input that moved, an output of the path that took the place of another.
//
//   call (weights at B, x)     hash over pins: (B, *)    no recording has it
//                              hash without weights: (*, *)  -> the general one
//
// All general recordings of a function at one place leave the same inputs out of the hash, so that
// a look-up is one hash whatever their number. When another input has to be left out, they are
// filed again: that happens at most as often as the function has inputs.
//
// Thread rule: like a container. Cost: a look-up hashes the inputs and does not allocate.
#ifndef GRAPHTREE_GRAPHS_MATCH_GENERAL_NODES_H_
#define GRAPHTREE_GRAPHS_MATCH_GENERAL_NODES_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "graphs/match/match.h"
#include "graphs/match/siblings.h"

namespace graphtree {

struct Node;

class GeneralNodes {
 public:
  // A node is filed by its inputs, which must live as long as the node, and by the LiveHash of what
  // was alive when it was recorded.
  struct Key {
    const InputPattern* pattern;
    uint64_t live;
  };

  // `moving`: by input, whether the node takes it at any address although it could be pinned.
  void Add(uint32_t function, Node* node, Key key, const std::vector<bool>& moving);
  void Remove(uint32_t function, Node* node);

  bool empty() const { return functions_.empty(); }

  // Returns the first recording for which `matches(node)` holds, or null. `role_of(i)` is the role
  // that input i has by itself, `live()` the LiveHash of what is alive now.
  template <typename RoleOf, typename Live, typename Matches>
  Node* Find(uint32_t function, absl::Span<const Value> inputs, RoleOf role_of, Live live,
             Matches matches) {
    const auto found = functions_.find(function);
    if (found == functions_.end()) return nullptr;
    const std::vector<bool>& moving = found->second.moving;
    PinHash hash;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const bool moves = i < moving.size() && moving[i];
      hash.Add(moves ? InputRole::kCopied : role_of(i), inputs[i]);
    }
    const auto filed = found->second.by_pins.find(hash.value());
    if (filed == found->second.by_pins.end()) return nullptr;
    return filed->second.Find(live, matches);
  }

 private:
  struct OfFunction {
    std::vector<bool> moving;
    absl::flat_hash_map<Node*, Key> keys;
    absl::flat_hash_map<uint64_t, Siblings> by_pins;
  };

  static uint64_t HashOf(const InputPattern& pattern, const std::vector<bool>& moving);

  absl::flat_hash_map<uint32_t, OfFunction> functions_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_MATCH_GENERAL_NODES_H_
