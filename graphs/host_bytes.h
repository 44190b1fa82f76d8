// An estimate of the host memory that a recording holds, for budgets and ledgers: so much for the
// node and so much for each op.
#ifndef GRAPHTREE_GRAPHS_HOST_BYTES_H_
#define GRAPHTREE_GRAPHS_HOST_BYTES_H_

#include <cstdint>

namespace graphtree {

constexpr uint64_t RecordingHostBytes(uint64_t ops) {
  constexpr uint64_t kNodeBytes = 4096;
  constexpr uint64_t kOpBytes = 512 + 384;  // with its identity (device/op_identity.h)
  return kNodeBytes + kOpBytes * ops;
}

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_HOST_BYTES_H_
