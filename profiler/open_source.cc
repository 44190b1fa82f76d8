// By the device's kind.
#include "profiler/open_source.h"

#include <utility>

#include "profiler/lingering.h"

namespace graphtree {
namespace {

bool IsHost(const Device& device) { return device.info().architecture == "host"; }

}  // namespace

absl::StatusOr<std::unique_ptr<activity::ActivitySource>> OpenActivitySource(
    Device& device, const cupti::CuptiOptions& options) {
  if (IsHost(device)) return cupti::OpenHostSource({&device});
  return cupti::OpenCuptiSource(options);
}

std::unique_ptr<activity::ActivitySource> OpenSourceOf(ProfileOptions& options,
                                                       const cupti::CuptiOptions& cupti) {
  if (options.mode != ProfileMode::kFull) return nullptr;
  if (!IsHost(*options.device)) {
    std::unique_ptr<activity::ActivitySource> lingering =
        LingeringSources::OfProcess().TakeBack();
    options.source = lingering.get();
    if (lingering != nullptr) return lingering;
  }
  auto source = OpenActivitySource(*options.device, cupti);
  if (!source.ok()) {
    options.why_no_source = source.status();
    return nullptr;
  }
  options.source = source->get();
  return *std::move(source);
}

// The stand-in needs its device, which may be closed next.
bool CloseSource(std::unique_ptr<activity::ActivitySource> source, const Device& device) {
  return source != nullptr && !IsHost(device) &&
         LingeringSources::OfProcess().Take(std::move(source));
}

}  // namespace graphtree
