// A recorded graph as text for other programs: its ops, what each of them does and touches, and
// their edges.
//
//   JSON       {"name": "decode #3", "ops": [{"id": 0, "kind": "kernel", "name": "norm",
//              "grid": [4, 1, 1], ..., "dependencies": [{"from": 2, "kind": "full"}]}, ...]}
//   Graphviz   a digraph: a box for each op, a dashed edge where an op need not wait for the end
//              of the one before (programmatic)
//
// Pure. Addresses and values are hexadecimal strings, since JSON's numbers lose bits after the
// 53rd.
#ifndef GRAPHTREE_GRAPHS_REPORTS_GRAPH_EXPORT_H_
#define GRAPHTREE_GRAPHS_REPORTS_GRAPH_EXPORT_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "device/graph.h"

namespace graphtree {

std::string OpsAsJson(absl::string_view name, const std::vector<Op>& ops);
std::string OpsAsGraphviz(absl::string_view name, const std::vector<Op>& ops);

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_REPORTS_GRAPH_EXPORT_H_
