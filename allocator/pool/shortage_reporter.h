// Says why an allocation failed: fills in a report (oom_report.h) from all that the pool knows, and
// keeps the last one.
//
//   books          who holds what is live, by tag; the free runs between blocks
//   pieces         what is mapped and free, what is parked, what only checkpoints hold
//   waiting work   what other threads have freed already
//   device         what everybody else on it holds
//
// Threads: as the pool. Cost: a pass over everything; only where an allocation has failed.
#ifndef GRAPHTREE_ALLOCATOR_POOL_SHORTAGE_REPORTER_H_
#define GRAPHTREE_ALLOCATOR_POOL_SHORTAGE_REPORTER_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "allocator/books/ledger.h"
#include "allocator/pool/arena.h"
#include "allocator/pool/door.h"
#include "allocator/pool/growth.h"
#include "allocator/pool/journal.h"
#include "allocator/pool/tally.h"
#include "allocator/reports/oom_report.h"

namespace graphtree {

class ShortageReporter {
 public:
  ShortageReporter(const Arena& arena, Door& door, const Ledger& ledger, const Growth& growth,
                   Journal& journal, Tally& tally);

  // Writes and keeps a report, and returns it as an error. `missing` is physical memory; `cause` is
  // the device's refusal, OK if the device was not asked.
  absl::Status Report(const BlockRequest& request, absl::string_view why, uint64_t missing,
                      const absl::Status& cause);
  const OomReport& last() const { return last_; }
  // Who holds the most live bytes, largest first.
  std::vector<OomReport::Holder> Holders() const;

 private:
  void FillBooks(const BlockRequest& request, OomReport* report) const;
  void FillFree(Region region, OomReport* report) const;
  void FillDevice(OomReport* report) const;

  const Arena& arena_;
  Door& door_;
  const Ledger& ledger_;
  const Growth& growth_;
  Journal& journal_;
  Tally& tally_;
  OomReport last_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_POOL_SHORTAGE_REPORTER_H_
