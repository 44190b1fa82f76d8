// One program on one device, from opening to closing.
#ifndef GRAPHTREE_TESTS_SIMULATION_RUN_PROGRAM_H_
#define GRAPHTREE_TESTS_SIMULATION_RUN_PROGRAM_H_

#include <string>

#include "tests/simulation/program.h"

namespace graphtree::simulation {

// What the caller saw and should not have; empty if nothing. Faults fire on the host device, whose
// scheduler takes the program's seed.
std::string FailureOnHost(const Program& program);
std::string FailureOnGpu(const Program& program);

}  // namespace graphtree::simulation

#endif  // GRAPHTREE_TESTS_SIMULATION_RUN_PROGRAM_H_
