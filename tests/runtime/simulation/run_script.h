// One script on one device, from opening to closing.
#ifndef GRAPHTREE_TESTS_RUNTIME_SIMULATION_RUN_SCRIPT_H_
#define GRAPHTREE_TESTS_RUNTIME_SIMULATION_RUN_SCRIPT_H_

#include <functional>
#include <string>
#include <vector>

#include "tests/runtime/simulation/script.h"
#include "tests/runtime/simulation/world.h"

namespace graphtree::runtime_simulation {

// What the server saw and should not have; empty if nothing. On the host device calls fail where
// the script says so, and the scheduler takes the script's seed. `reached` may be null.
std::string FailureOnHost(const Script& script, Reached* reached = nullptr);
std::string FailureOnGpu(const Script& script);

// Several servers on one host device, each on a thread of its own, as threads come. Nothing fails.
std::string FailureTogether(std::vector<Script> scripts);

// The same script without the actions, programs' ops, dependencies and flags, and steps' oddities
// that it fails without, too.
// REQUIRES: it fails. At most `tries` calls of `fails`.
Script Shrink(Script script, const std::function<bool(const Script&)>& fails, int tries);

}  // namespace graphtree::runtime_simulation

#endif  // GRAPHTREE_TESTS_RUNTIME_SIMULATION_RUN_SCRIPT_H_
