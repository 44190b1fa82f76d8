// Programs of several trees on several threads of one device, as data: what each of them does, and
// in which order they do it.
//
//   thread 0   call 1 ... ; turns 2 0 1        before the action thread 2 goes on; back here nobody
//                                              else does before a body's first op, and thread 1
//                                              before the second
//
// The interleaving is part of the actions (Action::turns), so that it stays what it was for those
// that are left when others are taken away.
#ifndef GRAPHTREE_TESTS_SIMULATION_TOGETHER_H_
#define GRAPHTREE_TESTS_SIMULATION_TOGETHER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/simulation/program.h"

namespace graphtree::simulation {

struct Together {
  uint32_t seed = 0;
  bool in_turns = true;  // else the threads run as they come, whatever the actions say
  std::vector<Program> programs;  // one for each thread
};

// Three programs of different lengths, so that trees close while others record. Device calls fail
// in one of them, in none, or in all.
Together MakeTogether(uint32_t seed);
std::string ToString(const Together& together);

// Makes it small: fewer threads, then fewer actions in each, then fewer turns.
// REQUIRES: fails(together). At most `tries` calls of it.
Together Shrink(Together together, const std::function<bool(const Together&)>& fails, int tries);

// Where a thread was when it had the turn: before action n, or before that action's op-th op.
struct Moment {
  uint32_t thread = 0;
  size_t action = 0;
  size_t op = 0;
};
// "thread 0: 0 1+1; thread 1: 0; thread 0: 1+2": who was where, one after the other.
std::string ToString(const std::vector<Moment>& order);

}  // namespace graphtree::simulation

#endif  // GRAPHTREE_TESTS_SIMULATION_TOGETHER_H_
