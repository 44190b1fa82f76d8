// The step that is under way in a lane. It stands after its end, too, so that one can ask how it
// ran; its serial tells a handle of it from those of earlier steps.
#ifndef GRAPHTREE_RUNTIME_CORE_OPEN_STEP_H_
#define GRAPHTREE_RUNTIME_CORE_OPEN_STEP_H_

#include <cstdint>
#include <vector>

#include "device/stream.h"
#include "graphs/reports/parity.h"
#include "runtime/core/staged_tensors.h"
#include "runtime/shapes/key.h"
#include "runtime/shapes/shape_table.h"
#include "runtime/slots/step_block.h"

namespace graphtree {

class ProgramState;
struct ShapeState;

// What one can ask of a step after its end.
struct StepFacts {
  uint64_t serial = 0;
  bool continues = false;
  ProgramState* program = nullptr;
  ShapeState* shape = nullptr;  // the program's eager one if no shape serves the step
  Stream* stream = nullptr;
  Key key;  // as the caller gave it
  Choice choice;
  std::vector<uint32_t> touched;  // dependencies, since the recording that the step replaced
};

struct OpenStep : StepFacts {
  bool is_open = false;
  StepBlock block;
  uint8_t* memory = nullptr;
  StagedTensors tensors;
  // The mode that it is served in (serving.h).
  bool is_strict = false;
  bool is_refused = false;   // strict, and it would have run eagerly
  bool is_compared = false;  // with runs of its body: what was found is in `parity`
  Tolerance tolerance;
  ParityResult parity;
};

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_CORE_OPEN_STEP_H_
