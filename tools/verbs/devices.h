// `graphtree devices`: every device, what it can do, and the reason for what it cannot.
#ifndef GRAPHTREE_TOOLS_VERBS_DEVICES_H_
#define GRAPHTREE_TOOLS_VERBS_DEVICES_H_

#include <string>
#include <vector>

#include "device/open.h"
#include "tools/cli/verb.h"

namespace graphtree {

cli::Verb DevicesVerb();

// The two outputs, apart from this machine's devices.
std::string DevicesAsText(const std::vector<DeviceListing>& devices);
std::string DevicesAsJson(const std::vector<DeviceListing>& devices);

}  // namespace graphtree

#endif  // GRAPHTREE_TOOLS_VERBS_DEVICES_H_
