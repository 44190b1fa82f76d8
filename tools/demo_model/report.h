// What the demo says at its end: one screen for people, JSON for machines.
#ifndef GRAPHTREE_TOOLS_DEMO_MODEL_REPORT_H_
#define GRAPHTREE_TOOLS_DEMO_MODEL_REPORT_H_

#include <string>

#include "tools/demo_model/comparison.h"

namespace graphtree::demo {

std::string ReportText(const Comparison& comparison);
std::string ReportJson(const Comparison& comparison);

}  // namespace graphtree::demo

#endif  // GRAPHTREE_TOOLS_DEMO_MODEL_REPORT_H_
