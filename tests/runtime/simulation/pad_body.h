// The pads of bodies, through a launcher.
#ifndef GRAPHTREE_TESTS_RUNTIME_SIMULATION_PAD_BODY_H_
#define GRAPHTREE_TESTS_RUNTIME_SIMULATION_PAD_BODY_H_

#include <string>

#include "device/address.h"
#include "graphs/launcher.h"
#include "graphs/tensor.h"
#include "runtime/program.h"
#include "tests/runtime/simulation/pad_cases.h"

namespace graphtree::runtime_simulation {

// What became of the pads of a body.
struct PadsSeen {
  uint64_t in_place = 0;
  uint64_t copied = 0;   // of what may not be padded in place
  uint64_t without = 0;  // copied, since there was no room
  std::string wrong = {};       // in place where somebody else may look
  std::string needless = {};    // a copy where there was room
};

// The op's output. `foreign` is where the pad's dependency lies.
Tensor RunPad(const PadCase& pad, Launcher& on, const ProgramInputs& in, Address foreign,
              PadsSeen* seen);

}  // namespace graphtree::runtime_simulation

#endif  // GRAPHTREE_TESTS_RUNTIME_SIMULATION_PAD_BODY_H_
