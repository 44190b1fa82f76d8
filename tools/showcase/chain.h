// The smallest thing that shows what replaying is for: a chain of small kernels, launched one by
// one and then replayed as one graph, on any device, with the bytes of both compared.
//
//   eager     launch, launch, launch, ... wait          host time of `ops` launches
//   replay    launch ........................ wait      host time of one
//
// Figures are medians over the rounds. Memory and streams are given back before it returns.
#ifndef GRAPHTREE_TOOLS_SHOWCASE_CHAIN_H_
#define GRAPHTREE_TOOLS_SHOWCASE_CHAIN_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "device/device.h"

namespace graphtree {

struct ChainOptions {
  uint32_t ops = 100;
  uint32_t words = 1024;  // in each of the three ranges that the kernels work on
  uint32_t rounds = 100;
};

struct ChainTimes {
  double issue_ns = 0;  // until the last call returned: what the host pays
  double done_ns = 0;   // until the device was done
};

struct ChainResult {
  uint32_t ops = 0;
  uint64_t bytes_compared = 0;
  uint64_t bytes_different = 0;
  uint64_t checksum = 0;  // of the replay's bytes
  ChainTimes eager;
  ChainTimes replay;
};

absl::StatusOr<ChainResult> RunChain(Device& device, const ChainOptions& options);

}  // namespace graphtree

#endif  // GRAPHTREE_TOOLS_SHOWCASE_CHAIN_H_
