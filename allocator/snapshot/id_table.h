// IdTable: finds the id of a thing that is already stored somewhere else, by its hash.
//
// Strings, frames, stacks and dictionary shapes are each stored once and named by a 32-bit id. This
// table is the index of such a store: it keeps only (hash, id) and asks the store whether a
// candidate is the same. Open addressing, linear steps, at most two thirds full.
//
//   slots:  [hash|id+1] [0|0] [hash|id+1] ...     8 bytes each, 0 = empty
//
// Not safe for concurrent use. Find and Insert take constant time on average.
#ifndef GRAPHTREE_ALLOCATOR_SNAPSHOT_ID_TABLE_H_
#define GRAPHTREE_ALLOCATOR_SNAPSHOT_ID_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace graphtree::snapshot {

inline constexpr uint32_t kNoId = 0xffffffffu;

// Mixes two words into one; the seed differs between processes, so that a file cannot be made to
// collide on purpose.
uint64_t HashSeed();
inline uint64_t MixHash(uint64_t a, uint64_t b) {
  const unsigned __int128 product =
      static_cast<unsigned __int128>(a ^ 0x9e3779b97f4a7c15u) * (b ^ 0xd6e8feb86659fd93u);
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}
uint64_t HashWords(const uint32_t* words, size_t count);

class IdTable {
 public:
  template <typename IsSame>
  uint32_t Find(uint64_t hash, IsSame is_same) const {
    if (slots_.empty()) return kNoId;
    const uint32_t tag = static_cast<uint32_t>(hash >> 32);
    for (size_t at = hash & mask_;; at = (at + 1) & mask_) {
      const Slot& slot = slots_[at];
      if (slot.id_plus_one == 0) return kNoId;
      if (slot.tag == tag && is_same(slot.id_plus_one - 1)) return slot.id_plus_one - 1;
    }
  }

  // `rehash` gives the hash of an id that is already in the table; it is called when growing.
  template <typename Rehash>
  void Insert(uint64_t hash, uint32_t id, Rehash rehash) {
    if ((count_ + 1) * 3 > slots_.size() * 2) Grow(rehash);
    Place(hash, id);
    ++count_;
  }

  size_t bytes() const { return slots_.size() * sizeof(Slot); }

 private:
  struct Slot {
    uint32_t tag = 0;
    uint32_t id_plus_one = 0;
  };

  void Place(uint64_t hash, uint32_t id) {
    size_t at = hash & mask_;
    while (slots_[at].id_plus_one != 0) at = (at + 1) & mask_;
    slots_[at] = {static_cast<uint32_t>(hash >> 32), id + 1};
  }

  template <typename Rehash>
  void Grow(Rehash rehash) {
    std::vector<Slot> old(slots_.empty() ? 64 : slots_.size() * 2);
    old.swap(slots_);
    mask_ = slots_.size() - 1;
    for (const Slot& slot : old) {
      if (slot.id_plus_one != 0) Place(rehash(slot.id_plus_one - 1), slot.id_plus_one - 1);
    }
  }

  std::vector<Slot> slots_;
  size_t mask_ = 0;
  size_t count_ = 0;
};

}  // namespace graphtree::snapshot

#endif  // GRAPHTREE_ALLOCATOR_SNAPSHOT_ID_TABLE_H_
