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
  // What the bytes that are not live are there for. Between blocks, behind them and in the other
  // region: together with `live` that is what is mapped, unless something live is parked.
  struct FreeBytes {
    uint64_t largest_run = 0;      // free bytes in one piece, below the last live block
    uint64_t between_blocks = 0;   // free, mapped, below the last live block
    uint64_t behind_blocks = 0;    // free, mapped, behind it
    uint64_t held_by_checkpoints = 0;  // of these: not to be released, a recording may use them
    uint64_t queued_frees = 0;     // freed by other threads, not yet taken note of
    uint64_t parked = 0;           // addresses without memory that a Wake would bring back
    uint64_t other_region = 0;     // free and mapped in the region that was not asked
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
  std::string cause;  // the device's own words, if it was asked
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

// Adds what would help to `report`, from its figures. Nothing that is in force already is advised.
void Advise(OomReport* report);

// 1536 -> "1.50 KiB".
std::string FormatBytes(uint64_t bytes);

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_REPORTS_OOM_REPORT_H_
