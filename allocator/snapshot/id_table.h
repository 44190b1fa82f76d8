// IdTable: finds the id of a thing that is already stored somewhere else, by its hash.
//
// Strings, frames, stacks and dictionary shapes are each stored once and named by a 32-bit id. This
// table is the index of such a store: it keeps only (hash, id) and asks the store whether a
// candidate is the same. Open addressing, linear steps, at most two thirds full.
//
//   slots:  [hash|id+1] [0|0] [hash|id+1] ...     8 bytes each, 0 = empty
//
// A slot keeps the upper half of the hash, and its place follows from that half alone: a table that
// grows asks nobody for a hash again.
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
    for (size_t at = tag & mask_;; at = (at + 1) & mask_) {
      const Slot& slot = slots_[at];
      if (slot.id_plus_one == 0) return kNoId;
      if (slot.tag == tag && is_same(slot.id_plus_one - 1)) return slot.id_plus_one - 1;
    }
  }

  void Insert(uint64_t hash, uint32_t id) {
    if (__builtin_expect((count_ + 1) * 3 > slots_.size() * 2, false)) Grow();
    Place({static_cast<uint32_t>(hash >> 32), id + 1});
    ++count_;
  }

  size_t bytes() const { return slots_.size() * sizeof(Slot); }

 private:
  static constexpr size_t kFirstSlots = 64;

  struct Slot {
    uint32_t tag = 0;
    uint32_t id_plus_one = 0;
  };

  void Place(Slot slot) {
    size_t at = slot.tag & mask_;
    while (slots_[at].id_plus_one != 0) at = (at + 1) & mask_;
    slots_[at] = slot;
  }
  void Grow();

  std::vector<Slot> slots_;
  size_t mask_ = 0;
  size_t count_ = 0;
};

}  // namespace graphtree::snapshot

#endif  // GRAPHTREE_ALLOCATOR_SNAPSHOT_ID_TABLE_H_
