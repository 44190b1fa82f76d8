// A slot is no output: the next step writes over it, and it goes with its program, while an output
// may be kept longer than both. So a body that returns a slot, or a part of one, returns a copy:
//
//   slots      [ ids | positions ]        written by every step's unpack op
//                 `--- copied at the body's end ---> [ output 0 ]    lasts like any other output
//
// Cost: one copy op for each such output, in the graph; nothing if there is none.
#ifndef GRAPHTREE_RUNTIME_CORE_SLOT_OUTPUTS_H_
#define GRAPHTREE_RUNTIME_CORE_SLOT_OUTPUTS_H_

#include "device/address.h"
#include "graphs/launcher.h"
#include "graphs/tensor.h"

namespace graphtree {

// Puts a copy in place of every output that lies in `slots`. The launcher fails if
// `slots_are_free`: the body has said that it reads them no more, so the next step may write over
// them before the copy.
void CopySlotsAmong(AddressRange slots, bool slots_are_free, Launcher& on, Values* outputs);

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_CORE_SLOT_OUTPUTS_H_
