// Opens what can tell of a device's ops: CUPTI for a GPU, its stand-in for the host device.
#ifndef GRAPHTREE_PROFILER_OPEN_SOURCE_H_
#define GRAPHTREE_PROFILER_OPEN_SOURCE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "device/device.h"
#include "profiler/activity/activity_source.h"
#include "profiler/cupti/cupti_source.h"
#include "profiler/profile_options.h"

namespace graphtree {

// The device must outlive the source. Opening takes nothing from anybody; attaching does.
absl::StatusOr<std::unique_ptr<activity::ActivitySource>> OpenActivitySource(
    Device& device, const cupti::CuptiOptions& options);

// The same for a profile that is about to start: `options` gets the source, or the reason why there
// is none, which the profile gives as its own. Nothing in another mode than the full one. The
// device is the one of the options; the source must outlive the profile. One that lingers from an
// earlier profile serves again.
std::unique_ptr<activity::ActivitySource> OpenSourceOf(ProfileOptions& options,
                                                       const cupti::CuptiOptions& cupti);

// Its end, once the profile has stopped. True if it lingers; then it is kept until it has left.
// Does nothing with a null source.
bool CloseSource(std::unique_ptr<activity::ActivitySource> source, const Device& device);

}  // namespace graphtree

#endif  // GRAPHTREE_PROFILER_OPEN_SOURCE_H_
