// A RandomState tells a kernel that draws random numbers where its numbers start.
//
//   eager        words = null    seed, offset            both are known at the launch
//   recorded     words --------> {seed, offset} + inner  the launch is frozen, the words are not:
//                                                        every replay writes them first
//
// A kernel takes a RandomState by value and resolves it:
//
//   const RandomStart start = Resolve(state);
//   float x = UniformFloat(RandomWord(start.seed, start.position + i));
#ifndef GRAPHTREE_GRAPHS_RANDOM_RANDOM_STATE_H_
#define GRAPHTREE_GRAPHS_RANDOM_RANDOM_STATE_H_

#include <cstdint>

#include "device/base/host_device.h"

namespace graphtree {

struct RandomState {
  const uint64_t* words = nullptr;  // device memory: seed, offset
  uint64_t seed = 0;                // used if words is null
  uint64_t offset = 0;              // of the op; added to the offset in words, if there are any
};

struct RandomStart {
  uint64_t seed;
  uint64_t position;
};

GRAPHTREE_HOST_DEVICE inline RandomStart Resolve(const RandomState& state) {
  if (state.words == nullptr) return {state.seed, state.offset};
  return {state.words[0], state.words[1] + state.offset};
}

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RANDOM_RANDOM_STATE_H_
