// Makes a failing program small: tries it without runs of actions, then without functions' ops, and
// keeps what still fails.
#ifndef GRAPHTREE_TESTS_SIMULATION_SHRINK_H_
#define GRAPHTREE_TESTS_SIMULATION_SHRINK_H_

#include <functional>

#include "tests/simulation/program.h"

namespace graphtree::simulation {

// REQUIRES: fails(program). At most `tries` calls of it.
Program Shrink(Program program, const std::function<bool(const Program&)>& fails, int tries);

}  // namespace graphtree::simulation

#endif  // GRAPHTREE_TESTS_SIMULATION_SHRINK_H_
