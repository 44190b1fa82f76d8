// Opens what can tell of a device's ops: CUPTI for a GPU, its stand-in for the host device.
#ifndef GRAPHTREE_PROFILER_OPEN_SOURCE_H_
#define GRAPHTREE_PROFILER_OPEN_SOURCE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "device/device.h"
#include "profiler/activity/activity_source.h"
#include "profiler/cupti/cupti_source.h"

namespace graphtree {

// The device must outlive the source. Opening takes nothing from anybody; attaching does.
absl::StatusOr<std::unique_ptr<activity::ActivitySource>> OpenActivitySource(
    Device& device, const cupti::CuptiOptions& options);

}  // namespace graphtree

#endif  // GRAPHTREE_PROFILER_OPEN_SOURCE_H_
