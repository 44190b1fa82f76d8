// The hash functions of IdTable and their per-process seed.
#include "allocator/snapshot/id_table.h"

#include <random>

namespace graphtree::snapshot {

uint64_t HashSeed() {
  static const uint64_t seed = [] {
    std::random_device device;
    return (static_cast<uint64_t>(device()) << 32) | device();
  }();
  return seed;
}

uint64_t HashWords(const uint32_t* words, size_t count) {
  uint64_t hash = MixHash(HashSeed(), count);
  size_t i = 0;
  for (; i + 1 < count; i += 2) {
    hash = MixHash(hash, (static_cast<uint64_t>(words[i]) << 32) | words[i + 1]);
  }
  return i < count ? MixHash(hash, words[i]) : hash;
}

}  // namespace graphtree::snapshot
