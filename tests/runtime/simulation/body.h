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
#include "tests/runtime/simulation/library.h"
#include "tests/runtime/simulation/pad_body.h"
#include "tests/runtime/simulation/script.h"

namespace graphtree::runtime_simulation {

// What a body knows without being given it, and what is noted of its runs.
struct BodyWorld {
  Address log = 0;
  Address sum = 0;
  const std::array<Address, kDeps>* deps = nullptr;  // where they are now
  Library* library = nullptr;
  bool fails = false;                                // at the end of its run
  // Of its runs since somebody has cleared this.
  struct Ran {
    Key key;
    Mode mode;
  };
  std::vector<Ran> ran = {};
  std::vector<Address> slots = {};  // where they are, as the runtime says
  bool is_slot_elsewhere = false;   // it has found one that is not there
  PadsSeen pads = {};
  bool is_workspace_wrong = false;  // it was given other memory than the library has

  Address dep(uint32_t number) const {
    return IsWorkspace(number) ? library->memory(WorkspaceOf(number)).base : (*deps)[number];
  }
};

constexpr const char* kPlannedFailure = "the script's body fails";

Values RunPrepare(const ProgramSpec& spec, BodyWorld& world, Launcher& on,
                  const ProgramInputs& in);
Values RunBody(const ProgramSpec& spec, BodyWorld& world, Launcher& on, const ProgramInputs& in);

}  // namespace graphtree::runtime_simulation

#endif  // GRAPHTREE_TESTS_RUNTIME_SIMULATION_BODY_H_
