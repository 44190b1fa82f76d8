// Why an allocation failed, in figures and in words, and what would help under the settings in
// force.
//
// Plain data: the pool fills it in when an allocation fails, and keeps the last one.
#ifndef GRAPHTREE_ALLOCATOR_REPORTS_OOM_REPORT_H_
#define GRAPHTREE_ALLOCATOR_REPORTS_OOM_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

namespace graphtree {

struct OomReport {
  // Bytes of the pool that are not live, by why they did not help. `between_blocks`,
  // `behind_blocks`, `other_region` and `live` add up to `mapped`, unless something live is parked.
  struct FreeBytes {
    uint64_t largest_run = 0;      // free bytes in one piece, below the last live block
    uint64_t between_blocks = 0;   // free, mapped, below the last live block
    uint64_t behind_blocks = 0;    // free, mapped, after the last live block
    uint64_t held_by_checkpoints = 0;  // of these: a recording may use them, so they are not given
                                       // back
    uint64_t queued_frees = 0;     // freed by other threads, but still live in the books
    uint64_t parked = 0;           // without memory now: a Wake would bring it back
    uint64_t other_region = 0;     // free and mapped, in the region that was not asked
  };
  struct Holder {
    std::string tag;
    uint64_t bytes = 0;
    uint64_t blocks = 0;
  };

  bool happened() const { return requested > 0 || !why.empty(); }
  std::string Text() const;
  std::string Json() const;

  std::string pool;
  std::string region;
  std::string why;  // addresses used up, limit reached, device out of memory
  std::string cause;  // the device's own words; empty if it was not asked for memory
  uint64_t requested = 0;
  uint64_t missing = 0;  // physical memory that could not be had
  uint64_t live = 0;
  uint64_t mapped = 0;
  uint64_t limit = 0;  // 0: none
  uint64_t addresses = 0;
  uint64_t addresses_used = 0;
  FreeBytes free;
  std::vector<Holder> holders;  // largest first
  uint64_t device_total = 0;    // 0: not known
  uint64_t device_free = 0;
  uint64_t held_by_others = 0;  // on the device, by whatever is not this pool
  std::vector<std::string> advice;
};

// Fills in the report's advice from its figures; advises nothing that is in force already.
void Advise(OomReport* report);

// 1536 -> "1.50 KiB".
std::string FormatBytes(uint64_t bytes);

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_REPORTS_OOM_REPORT_H_
