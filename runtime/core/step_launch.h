// How a step is opened, staged and launched, where its lane and its shape are known:
//
//   OpenOn ---- StageRows, StageTensor ---- CheckRunnable ---- LaunchStep ---- CloseStep
//                                                         `--- RecordApart, which launches nothing
//
// These are functions over an OpenStep, and all the state is there, in its program and in its lane.
// What becomes of the step's recording, and how the step is counted, is the callers' to say.
//
// Threads: the one that has the lane.
#ifndef GRAPHTREE_RUNTIME_CORE_STEP_LAUNCH_H_
#define GRAPHTREE_RUNTIME_CORE_STEP_LAUNCH_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "device/stream.h"
#include "graphs/tensor.h"
#include "runtime/core/open_step.h"
#include "runtime/core/program_state.h"
#include "runtime/shapes/key.h"
#include "runtime/shapes/shape_table.h"
#include "runtime/slots/rows.h"
#include "runtime/slots/slot.h"

namespace graphtree {

// An error if the stream is not of the program's device, or captures: Stream::BeginCapture.
absl::Status CheckStream(ProgramState& program, Stream& stream);
// An error if the stream captures, also by the caller, on the native stream, which the device does
// not count: "`what` on a stream that captures". For calls that record; steps need not ask twice.
absl::Status CheckNoCapture(Stream& stream, absl::string_view what);
// The lane's step, for the shape that was chosen or for an eager run. REQUIRES: the lane is taken.
absl::StatusOr<OpenStep*> OpenOn(ProgramState& program, const Choice& choice, const Key& key,
                                 Stream& stream);

// As StepBlock::Stage; an error, too, if the memory lies on another device.
absl::Status StageRows(OpenStep& step, SlotId slot, const DeviceRows& rows);
absl::Status StageTensor(OpenStep& step, SlotId slot, const Tensor& tensor);

// An error if the caller has not given all that the step needs.
absl::Status CheckRunnable(OpenStep& step, const Values* outputs);
// Runs the step's function of the tree, in a new step of the tree unless it continues.
absl::Status LaunchStep(OpenStep& step, Values* outputs);
// Has the tree record the step's function, and launches nothing.
absl::Status RecordApart(OpenStep& step);

// The step's tensors go and the lane is given back. `was_launched`: work reads the tensors.
void CloseStep(OpenStep& step, bool was_launched);

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_CORE_STEP_LAUNCH_H_
