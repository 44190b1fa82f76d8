// The ledger of a runtime's memory, and what its last plan came to, as text for other programs:
// JSON, and Prometheus' format on a page of its own, since a ledger has a row for each function and
// costs more to collect than all other metrics.
//
//   graphtree_ledger_bytes{program="decode",...,function="decode[tokens=8]",kind="alone"} 2097152
//   graphtree_ledger_lane_bytes{device="0",lane="0",kind="idle"} 1048576
//   graphtree_ledger_device_bytes 7340032
//
// Pure.
#ifndef GRAPHTREE_RUNTIME_LEDGER_TEXT_H_
#define GRAPHTREE_RUNTIME_LEDGER_TEXT_H_

#include <string>

#include "runtime/plan/ledger.h"
#include "runtime/recording_plan.h"

namespace graphtree {

std::string LedgerAsJson(const MemoryLedger& ledger);
std::string LedgerAsPrometheus(const MemoryLedger& ledger);

// "null" where there is no plan.
std::string PlanAsJson(const PlanResult* plan);

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_LEDGER_TEXT_H_
