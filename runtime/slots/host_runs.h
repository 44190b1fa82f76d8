// Where the bytes of a slot's host rows lie: runs without gaps, in the order in which the slot has
// them. For whoever compares or copies rows as they are.
//
//   rows without gaps    |========|                      one run
//   a stride of rows     |==|..|==|..|==|                a run for each row
//   pieces               |==|..|==|.....|==|..|==|       likewise, in each piece
#ifndef GRAPHTREE_RUNTIME_SLOTS_HOST_RUNS_H_
#define GRAPHTREE_RUNTIME_SLOTS_HOST_RUNS_H_

#include <cstdint>

namespace graphtree {

struct HostRuns {
  const uint8_t* data = nullptr;
  int64_t pieces = 1;
  int64_t runs = 1;  // in each piece
  uint64_t run_bytes = 0;
  uint64_t piece_step = 0;  // in bytes, from one to the next
  uint64_t run_step = 0;

  uint64_t bytes() const { return pieces * runs * run_bytes; }
  // Calls with each run's start, until one returns false. False then.
  template <typename Call>
  bool Visit(const Call& call) const {
    for (int64_t piece = 0; piece < pieces; ++piece) {
      for (int64_t run = 0; run < runs; ++run) {
        if (!call(data + piece * piece_step + run * run_step)) return false;
      }
    }
    return true;
  }
};

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_SLOTS_HOST_RUNS_H_
