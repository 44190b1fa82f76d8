// For tests: random pads, and what they must leave behind, element by element.
//
//   const RandomPad pad = RandomPad::Draw(random);
//   ... an arena of pad.Arena(random), a pad op at its offsets ...
//   EXPECT_EQ(pad.Mistake(before, after), "");
#ifndef GRAPHTREE_GRAPHS_PAD_RANDOM_PADS_H_
#define GRAPHTREE_GRAPHS_PAD_RANDOM_PADS_H_

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "graphs/layout.h"

namespace graphtree {

struct RandomPad {
  // Dense and turned layouts, rows with strides, sizes of 0 and 1, one to five dimensions, all
  // types.
  static RandomPad Draw(std::mt19937_64& random);

  // Random bytes.
  std::vector<uint8_t> Arena(std::mt19937_64& random) const;
  // Names the first byte of the arena that is wrong; empty if there is none. The target's elements
  // are the source's or the value; everything else is as before.
  std::string Mistake(const std::vector<uint8_t>& before, const std::vector<uint8_t>& after) const;
  std::string ToString() const;

  bool copies = false;  // else in place: both are at `target`
  const Layout* from = nullptr;
  const Layout* to = nullptr;
  uint64_t bits = 0;
  uint64_t target = 0;  // offsets in the arena, of any alignment
  uint64_t source = 0;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_PAD_RANDOM_PADS_H_
