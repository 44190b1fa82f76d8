// What the demo says at its end: a screen or two for people, JSON for machines.
#ifndef GRAPHTREE_TOOLS_DEMO_MODEL_REPORT_H_
#define GRAPHTREE_TOOLS_DEMO_MODEL_REPORT_H_

#include <cstddef>
#include <string>
#include <vector>

#include "runtime/explain.h"
#include "tools/demo_model/comparison.h"

namespace graphtree::demo {

std::string ReportText(const Comparison& comparison);
std::string ReportJson(const Comparison& comparison);

// What would have more steps replayed, and what shadow and parity have found. Empty: nothing.
std::string AdviceText(const Explanation& explanation);

// "0-3, 7, 9-10". REQUIRES: ascending.
std::string Ranges(const std::vector<size_t>& numbers);

}  // namespace graphtree::demo

#endif  // GRAPHTREE_TOOLS_DEMO_MODEL_REPORT_H_
