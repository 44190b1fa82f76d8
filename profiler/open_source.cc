// By the device's kind.
#include "profiler/open_source.h"

namespace graphtree {

absl::StatusOr<std::unique_ptr<activity::ActivitySource>> OpenActivitySource(
    Device& device, const cupti::CuptiOptions& options) {
  if (device.info().architecture == "host") return cupti::OpenHostSource({&device});
  return cupti::OpenCuptiSource(options);
}

}  // namespace graphtree
