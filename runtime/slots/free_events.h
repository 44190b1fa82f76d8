// When what a step was given may be written again. A program that tells (ProgramOptions) sets two
// events in each of its steps, from the middle of the step's graph:
//
//   [unpack]            -> [prepare] -> [body reads its slots]           -> [body computes on]
//            rows are free                                  slots are free
//
//   rows    the rows of the caller's own device memory that were staged; the unpack op reads them
//   slots   the slots themselves: where the body says so (ProgramInputs::SlotsAreFree), else at the
//           end of the body. A part of the body that runs eagerly does not say so; the body does,
//           after the break.
//
// Host rows need no event: they are free when Stage returns.
//
// The events are the program's. From the moment when Step::Run has returned they stand for that
// step, whatever its route; before the first step they are done. So whoever waits for a step that
// is not the last one waits for the last one, too, which is later and as safe. A step that failed
// has set them after all that it launched; one that launched nothing may not have set them.
//
// An event is made to be waited for: Stream::Wait on any stream of the device, Event::Synchronize,
// Event::IsDone. It is not recorded by others. Handles may outlive the program and the runtime,
// whose end waits for all steps, and go before the device is closed.
#ifndef GRAPHTREE_RUNTIME_SLOTS_FREE_EVENTS_H_
#define GRAPHTREE_RUNTIME_SLOTS_FREE_EVENTS_H_

#include <memory>

#include "device/stream.h"

namespace graphtree {

struct FreeEvents {
  std::shared_ptr<Event> rows;
  std::shared_ptr<Event> slots;

  bool are_told() const { return slots != nullptr; }
};

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_SLOTS_FREE_EVENTS_H_
