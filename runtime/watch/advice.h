// What would make steps replay that did not, for people. Pure.
//
//   steps of one program with one reason         its shapes         advice
//   above_ceiling, tokens=70, 600, 90            1, 8, 64           "tokens up to 600, where the
//                                                                   largest shape has 64: add a
//                                                                   shape with tokens=600"
#ifndef GRAPHTREE_RUNTIME_WATCH_ADVICE_H_
#define GRAPHTREE_RUNTIME_WATCH_ADVICE_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "runtime/explain.h"
#include "runtime/shapes/key.h"
#include "runtime/watch/step_log.h"
#include "runtime/why.h"

namespace graphtree {

// `steps` are those of the last steps that have this reason, maybe none; `shapes` all shapes of the
// program, by id.
std::string AdviceFor(Why why, absl::Span<const LoggedStep> steps,
                      absl::Span<const ExplainedShape> shapes);

// One step: "above_ceiling: tokens=600 where the largest is 64; it is larger than ...".
std::string SentenceFor(const LoggedStep& step, absl::Span<const ExplainedShape> shapes);

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_WATCH_ADVICE_H_
