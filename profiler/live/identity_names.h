// Interns what recorded ops are into a trace's tables, each graph once.
//
// A graph that is launched again is found by its address, which the names hold: the graph's own
// handle is kept, so the address is nobody else's meanwhile. The number of graphs is bounded; the
// ones that came first go first, and are interned again if they come back, to the same numbers.
//
// Not safe for concurrent use. Cost: a look into a hash table for each launch.
#ifndef GRAPHTREE_PROFILER_LIVE_IDENTITY_NAMES_H_
#define GRAPHTREE_PROFILER_LIVE_IDENTITY_NAMES_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "device/op_identity.h"
#include "profiler/live/launch_join.h"
#include "profiler/trace/records.h"
#include "profiler/trace/tables.h"

namespace graphtree::live {

class IdentityNames {
 public:
  // The tables outlive this.
  explicit IdentityNames(trace::TraceTables& tables) : tables_(tables) {}
  IdentityNames(const IdentityNames&) = delete;
  IdentityNames& operator=(const IdentityNames&) = delete;

  std::shared_ptr<const NamedGraph> Of(const std::shared_ptr<const GraphIdentity>& graph);
  // Of an op that was launched alone.
  trace::IdentityId Of(const OpIdentity& op, absl::string_view function, int64_t tree_node);
  // Of a replay that is timed as one op.
  trace::IdentityId OfWhole(absl::string_view function, int64_t tree_node);

  static constexpr size_t kMostGraphs = 4096;

 private:
  struct Known {
    std::shared_ptr<const GraphIdentity> graph;
    std::shared_ptr<const NamedGraph> named;
  };

  trace::TraceTables& tables_;
  absl::flat_hash_map<const GraphIdentity*, Known> known_;
  std::deque<const GraphIdentity*> order_;
};

// The trace's word for it.
trace::OpKind TraceKindOf(OpKind kind);

}  // namespace graphtree::live

#endif  // GRAPHTREE_PROFILER_LIVE_IDENTITY_NAMES_H_
