// The last things that happened in a pool: a bounded ring, cheap enough to leave on.
//
// An entry takes 40 bytes and is stamped with the processor's counter, which is turned into time
// when somebody reads the entry. When the ring is full the oldest entries go, and are counted.
//
// Threads: none of its own. Cost: a few nanoseconds and the counter's read.
#ifndef GRAPHTREE_ALLOCATOR_REPORTS_HISTORY_H_
#define GRAPHTREE_ALLOCATOR_REPORTS_HISTORY_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace graphtree {

enum class HistoryAction : uint8_t {
  kAllocate,
  kFreeRequested,  // somebody freed it
  kFreeCompleted,  // its bytes may be placed again
  kMap,            // physical memory came under addresses
  kUnmap,
  kSnapshot,       // a snapshot was taken; bytes: what was live
  kOutOfMemory,    // bytes: what was asked for; address: what the device had free
  kNote,           // a note was put on a live block
  kRestoreGone,        // the restore whose entry follows took this block away
  kRestoreBack,        // the restore whose entry follows brought this block back
  kCheckpointRestore,  // bytes: what is live now
  kPark,
  kWake,
};

// "alloc", "free_requested", ...: PyTorch's words where its snapshots have one, else ours.
const char* HistoryActionName(HistoryAction action);

// Values of HistoryEntry::internal.
inline constexpr uint16_t kAtAddressMark = 1;  // placed where the caller wanted it

struct HistoryEntry {
  uint64_t ticks = 0;
  uint64_t address = 0;
  uint64_t bytes = 0;
  uint32_t tag = 0;      // tag, note and context are numbers of the pool's table of words
  uint32_t note = 0;
  uint32_t context = 0;  // the ambient tag
  uint16_t internal = 0; // kAtAddressMark or 0
  uint8_t stream = 0;
  HistoryAction action = HistoryAction::kAllocate;
};

// The processor's counter, or nanoseconds where it has none.
inline uint64_t Ticks() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  return TicksOfTheClock();
#endif
}
uint64_t TicksOfTheClock();

class History {
 public:
  // Keeps `capacity` entries (rounded up to a power of two); 0: off.
  explicit History(size_t capacity);

  bool is_on() const { return !ring_.empty(); }
  void Add(HistoryEntry entry) {
    entry.ticks = Ticks();
    ring_[written_++ & mask_] = entry;
  }
  void Clear() { written_ = 0; }

  uint64_t written() const { return written_; }
  uint64_t lost() const { return written_ > ring_.size() ? written_ - ring_.size() : 0; }
  // Oldest first.
  std::vector<HistoryEntry> Entries() const;
  // Microseconds since 1970 of an entry's ticks.
  int64_t MicrosecondsOf(uint64_t ticks) const;

 private:
  std::vector<HistoryEntry> ring_;
  uint64_t mask_ = 0;
  uint64_t written_ = 0;
  uint64_t start_ticks_;
  int64_t start_ns_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_REPORTS_HISTORY_H_
