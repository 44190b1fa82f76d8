// Looking up the run under an offset.
#include "allocator/placement/run_index.h"

#include <bit>

namespace graphtree {

void RunIndex::Grow(uint32_t bucket) {
  const size_t wanted = (static_cast<size_t>(bucket) / 64 + 1) * 64;
  first_.resize(wanted, kNoId);
  occupied_.resize(wanted / 64, 0);
}

uint32_t RunIndex::OccupiedAtOrBelow(uint32_t bucket) const {
  uint32_t word = bucket / 64;
  uint64_t bits = occupied_[word] & (~uint64_t{0} >> (63 - bucket % 64));
  while (bits == 0) {
    if (word == 0) return kNoId;
    bits = occupied_[--word];
  }
  return word * 64 + static_cast<uint32_t>(std::bit_width(bits)) - 1;
}

RunId RunIndex::Find(uint32_t offset) const {
  if (first_.empty()) return kNoId;
  const uint32_t last_bucket = static_cast<uint32_t>(first_.size()) - 1;
  uint32_t bucket = offset >> kShift;
  if (bucket > last_bucket) bucket = last_bucket;
  bucket = OccupiedAtOrBelow(bucket);
  if (bucket == kNoId) return kNoId;
  RunId id = first_[bucket];
  if (runs_[id].offset > offset) {
    if (bucket == 0) return kNoId;
    bucket = OccupiedAtOrBelow(bucket - 1);
    if (bucket == kNoId) return kNoId;
    id = first_[bucket];
  }
  while (runs_[id].next != kNoId && runs_[runs_[id].next].offset <= offset) id = runs_[id].next;
  return id;
}

}  // namespace graphtree
