// A program's options and a runtime's, from those of the C interface.
#ifndef GRAPHTREE_RUNTIME_C_PROGRAM_OPTIONS_OF_H_
#define GRAPHTREE_RUNTIME_C_PROGRAM_OPTIONS_OF_H_

#include <memory>

#include "runtime/c/bodies.h"
#include "runtime/c/entry.h"
#include "runtime/c/graphtree.h"
#include "runtime/c/runtime_objects.h"
#include "runtime/program.h"
#include "runtime/runtime_options.h"
#include "runtime/serving.h"

namespace graphtree::c {

// What is wrong with them becomes the entry's failure. `context` is held by the program's bodies.
ProgramOptions ProgramOptionsOf(const gt_program_options& options, SharedContext context,
                                const OpenedRuntime& runtime, Entry* entry);
RuntimeOptions RuntimeOptionsOf(const gt_runtime_options& options, SharedContext context,
                                Entry* entry);
ServingMode ServingOf(const gt_serving_mode* mode, Entry* entry);

}  // namespace graphtree::c

#endif  // GRAPHTREE_RUNTIME_C_PROGRAM_OPTIONS_OF_H_
