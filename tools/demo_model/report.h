// What the demo says at its end: a screen or two for people, JSON for machines.
#ifndef GRAPHTREE_TOOLS_DEMO_MODEL_REPORT_H_
#define GRAPHTREE_TOOLS_DEMO_MODEL_REPORT_H_

#include <cstddef>
#include <string>
#include <vector>

#include "tools/demo_model/comparison.h"

namespace graphtree::demo {

std::string ReportText(const Comparison& comparison);
std::string ReportJson(const Comparison& comparison);

// "0-3, 7, 9-10". REQUIRES: ascending.
std::string Ranges(const std::vector<size_t>& numbers);

}  // namespace graphtree::demo

#endif  // GRAPHTREE_TOOLS_DEMO_MODEL_REPORT_H_
