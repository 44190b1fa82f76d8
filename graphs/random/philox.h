// Random words as a function of (seed, position): Philox 4x32 with ten rounds, counter based.
//
//   position   0  1  2  3 | 4  5  6  7 | 8 ...      one word of 32 bits for each position;
//              block 0    | block 1    |            a block of four costs as much as one word
//
// There is no state to carry: any thread computes any position, so an op that draws n numbers needs
// nothing but the position that it starts at, and the result does not depend on how threads share
// the work. Integer arithmetic only: host and CUDA give the same bytes.
#ifndef GRAPHTREE_GRAPHS_RANDOM_PHILOX_H_
#define GRAPHTREE_GRAPHS_RANDOM_PHILOX_H_

#include <cstdint>

#include "device/base/host_device.h"

namespace graphtree {

struct RandomBlock {
  uint32_t word[4];
};

// The generator itself: a 128-bit counter, encrypted under a 64-bit key.
GRAPHTREE_HOST_DEVICE inline RandomBlock Philox(RandomBlock counter, uint32_t key0, uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t even = uint64_t{0xD2511F53} * counter.word[0];
    const uint64_t odd = uint64_t{0xCD9E8D57} * counter.word[2];
    counter = {{static_cast<uint32_t>(odd >> 32) ^ counter.word[1] ^ key0,
                static_cast<uint32_t>(odd),
                static_cast<uint32_t>(even >> 32) ^ counter.word[3] ^ key1,
                static_cast<uint32_t>(even)}};
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  return counter;
}

GRAPHTREE_HOST_DEVICE inline RandomBlock RandomWords(uint64_t seed, uint64_t block) {
  const RandomBlock counter = {
      {static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32), 0, 0}};
  return Philox(counter, static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32));
}

GRAPHTREE_HOST_DEVICE inline uint32_t RandomWord(uint64_t seed, uint64_t position) {
  return RandomWords(seed, position / 4).word[position % 4];
}

// In [0, 1), a multiple of 2^-24: exact in a float, so that every device rounds alike.
GRAPHTREE_HOST_DEVICE inline float UniformFloat(uint32_t word) {
  return static_cast<float>(word >> 8) * (1.0f / 16777216.0f);
}

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RANDOM_PHILOX_H_
