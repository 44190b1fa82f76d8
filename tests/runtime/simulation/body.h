// The bodies of a script's programs, through a launcher: what model.h computes, on a device.
#ifndef GRAPHTREE_TESTS_RUNTIME_SIMULATION_BODY_H_
#define GRAPHTREE_TESTS_RUNTIME_SIMULATION_BODY_H_

#include <array>
#include <cstdint>
#include <vector>

#include "device/address.h"
#include "graphs/launcher.h"
#include "graphs/tensor.h"
#include "runtime/program.h"
#include "tests/runtime/simulation/script.h"

namespace graphtree::runtime_simulation {

// What a body knows without being given it, and what is noted of its runs.
struct BodyWorld {
  Address log = 0;
  Address sum = 0;
  const std::array<Address, kDeps>* deps = nullptr;  // where they are now
  bool fails = false;                                // at the end of its run
  // Of its runs since somebody has cleared this.
  struct Ran {
    Key key;
    Mode mode;
  };
  std::vector<Ran> ran = {};
  std::vector<Address> slots = {};  // where it found them
};

constexpr const char* kPlannedFailure = "the script's body fails";

Values Prepare(const ProgramSpec& spec, BodyWorld& world, Launcher& on, const ProgramInputs& in);
Values RunBody(const ProgramSpec& spec, BodyWorld& world, Launcher& on, const ProgramInputs& in);

}  // namespace graphtree::runtime_simulation

#endif  // GRAPHTREE_TESTS_RUNTIME_SIMULATION_BODY_H_
