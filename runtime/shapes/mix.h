// A hash of words that is the same on every machine, whatever its byte order: ranks compare what it
// makes. It is no defence against somebody who looks for collisions.
#ifndef GRAPHTREE_RUNTIME_SHAPES_MIX_H_
#define GRAPHTREE_RUNTIME_SHAPES_MIX_H_

#include <cstdint>

namespace graphtree {

// Folds the 128 bits of a product into 64: one multiplication mixes two words.
inline uint64_t MixProduct(uint64_t a, uint64_t b) {
  const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

// The hash after one more word. The order of the words matters.
inline uint64_t Mix(uint64_t hash, uint64_t word) {
  return MixProduct(hash ^ 0x9e3779b97f4a7c15u, word ^ 0xd6e8feb86659fd93u) + word;
}

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_SHAPES_MIX_H_
