// Says in an error which step it is about.
#ifndef GRAPHTREE_RUNTIME_CORE_IN_STEP_H_
#define GRAPHTREE_RUNTIME_CORE_IN_STEP_H_

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "runtime/core/open_step.h"
#include "runtime/core/program_state.h"
#include "runtime/shapes/key.h"

namespace graphtree {

// "running a step of 'decode' (tokens=8): ...".
inline absl::Status InStep(const OpenStep& step, absl::string_view doing,
                           const absl::Status& status) {
  return absl::Status(status.code(),
                      absl::StrCat(doing, " a step of '", step.program->name(), "' (",
                                   ToString(step.key), "): ", status.message()));
}

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_CORE_IN_STEP_H_
