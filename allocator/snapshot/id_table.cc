// The hash functions of IdTable, their per-process seed, and how a table grows.
#include "allocator/snapshot/id_table.h"

#include <cstring>
#include <random>

namespace graphtree::snapshot {

uint64_t HashSeed() {
  static const uint64_t seed = [] {
    std::random_device device;
    return (static_cast<uint64_t>(device()) << 32) | device();
  }();
  return seed;
}

// Two chains of multiplications, so that neither waits for the other.
uint64_t HashWords(const uint32_t* words, size_t count) {
  const auto two_words = [words](size_t i) {
    uint64_t both;
    std::memcpy(&both, words + i, sizeof(both));
    return both;
  };
  uint64_t even = MixHash(HashSeed(), count);
  uint64_t odd = even;
  size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    even = MixHash(even, two_words(i));
    odd = MixHash(odd, ~two_words(i + 2));
  }
  if (i + 2 <= count) even = MixHash(even, two_words(i)), i += 2;
  if (i < count) odd = MixHash(odd, words[i]);
  return MixHash(even, odd);
}

void IdTable::Grow() {
  std::vector<Slot> old(slots_.empty() ? kFirstSlots : slots_.size() * 2);
  old.swap(slots_);
  mask_ = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.id_plus_one != 0) Place(slot);
  }
}

}  // namespace graphtree::snapshot
