// Actions first, then outputs.
#include "tests/simulation/shrink.h"

#include <algorithm>
#include <utility>

#include "tests/simulation/drop_runs.h"

namespace graphtree::simulation {
namespace {

// Only a function's outputs, because ops name registers by number.
bool DropOutputs(Program* program, const std::function<bool(const Program&)>& fails, int* tries) {
  bool any = false;
  for (size_t f = 0; f < program->functions.size(); ++f) {
    while (!program->functions[f].outputs.empty() && *tries > 0) {
      Program smaller = *program;
      FunctionSpec& spec = smaller.functions[f];
      spec.outputs.pop_back();
      spec.kept.erase(std::remove(spec.kept.begin(), spec.kept.end(), spec.outputs.size()),
                      spec.kept.end());
      --*tries;
      if (!fails(smaller)) break;
      *program = std::move(smaller);
      any = true;
    }
  }
  return any;
}

}  // namespace

Program Shrink(Program program, const std::function<bool(const Program&)>& fails, int tries) {
  while (tries > 0) {
    const bool fewer_actions = DropRuns(&program, &Program::actions, fails, &tries);
    const bool fewer_outputs = DropOutputs(&program, fails, &tries);
    if (!fewer_actions && !fewer_outputs) break;
  }
  return program;
}

}  // namespace graphtree::simulation
