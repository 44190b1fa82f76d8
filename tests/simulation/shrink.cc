// Halves, then quarters, down to single actions.
#include "tests/simulation/shrink.h"

#include <algorithm>
#include <utility>

namespace graphtree::simulation {
namespace {

bool DropActions(Program* program, const std::function<bool(const Program&)>& fails, int* tries) {
  bool any = false;
  for (size_t run = std::max<size_t>(program->actions.size() / 2, 1); run > 0; run /= 2) {
    for (size_t at = 0; at < program->actions.size() && *tries > 0;) {
      Program smaller = *program;
      const size_t end = std::min(at + run, smaller.actions.size());
      smaller.actions.erase(smaller.actions.begin() + at, smaller.actions.begin() + end);
      --*tries;
      if (fails(smaller)) {
        *program = std::move(smaller);
        any = true;
      } else {
        at += run;
      }
    }
  }
  return any;
}

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
    const bool fewer_actions = DropActions(&program, fails, &tries);
    const bool fewer_outputs = DropOutputs(&program, fails, &tries);
    if (!fewer_actions && !fewer_outputs) break;
  }
  return program;
}

}  // namespace graphtree::simulation
