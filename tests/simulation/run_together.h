// Programs of several trees on one host device, each on a thread of its own.
//
//   thread 0   world 0 --own faults--+
//   thread 1   world 1 --own faults--+-- one device, whose calls fail for the thread that asked
//
// While one world is in the middle of a body, the others try to get in.
#ifndef GRAPHTREE_TESTS_SIMULATION_RUN_TOGETHER_H_
#define GRAPHTREE_TESTS_SIMULATION_RUN_TOGETHER_H_

#include <string>
#include <vector>

#include "tests/simulation/together.h"

namespace graphtree::simulation {

// What the first of the callers saw that should not have; empty if none did. `order` may be null;
// else, of programs that run in turns, who was where when.
std::string FailureOf(const Together& together, std::vector<Moment>* order = nullptr);

}  // namespace graphtree::simulation

#endif  // GRAPHTREE_TESTS_SIMULATION_RUN_TOGETHER_H_
