// One program on one device, from opening to closing.
#ifndef GRAPHTREE_TESTS_SIMULATION_RUN_PROGRAM_H_
#define GRAPHTREE_TESTS_SIMULATION_RUN_PROGRAM_H_

#include <cstdint>
#include <string>

#include "graphs/tree.h"
#include "graphs/tree_stats.h"
#include "tests/simulation/program.h"

namespace graphtree::simulation {

// What the caller saw and should not have; empty if nothing. Faults fire on the host device, whose
// scheduler takes the program's seed. `stats` may be null; else, what the tree has done.
std::string FailureOnHost(const Program& program, TreeStats* stats = nullptr);
std::string FailureOnGpu(const Program& program);

}  // namespace graphtree::simulation

#endif  // GRAPHTREE_TESTS_SIMULATION_RUN_PROGRAM_H_
