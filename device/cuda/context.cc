// Opening and closing what a device's objects share.
#include "device/cuda/context.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "device/base/status_macros.h"
#include "device/cuda/cuda_status.h"
#include "device/cuda/stream_callback.h"
#include "device/error.h"

namespace graphtree {
namespace {

const char* KindName(Kind kind, bool several) {
  switch (kind) {
    case Kind::kStream: return several ? "streams" : "stream";
    case Kind::kEvent: return several ? "events" : "event";
    case Kind::kGraph: return several ? "graphs" : "graph";
    case Kind::kExecutable: return several ? "executables" : "executable";
    case Kind::kReservation: return several ? "address ranges" : "address range";
    case Kind::kPhysicalMemory: return several ? "pieces of physical memory" : "physical memory";
    case Kind::kHostBuffer: return several ? "host buffers" : "host buffer";
    case Kind::kCount: break;
  }
  return "objects";
}

}  // namespace

absl::StatusOr<std::shared_ptr<Context>> Context::Open(int ordinal, const std::string& architecture,
                                                       const CudaOptions& options) {
  GRAPHTREE_ASSIGN_OR_RETURN(std::unique_ptr<PrimaryContext> primary,
                             PrimaryContext::Retain(ordinal));
  return std::shared_ptr<Context>(new Context(std::move(primary), architecture, options));
}

Context::Context(std::unique_ptr<PrimaryContext> primary, const std::string& architecture,
                 const CudaOptions& options)
    : primary_(std::move(primary)),
      kernels_(*primary_, health_, {architecture, options.nvrtc_folder,
                                    options.kernel_cache_folder}) {}

Context::~Context() {
  ContextScope current(*primary_);
  RelaxedScope relaxed(*primary_);
  streams_.DrainAll();
  kernels_.UnloadAll();
}

absl::Status Context::Usable() const {
  if (health_.lost()) return health_.status();
  if (closed_.load(std::memory_order_acquire)) {
    return DeviceError(ErrorCode::kNotPermitted, absl::StrCat(name(), " is closed"));
  }
  return absl::OkStatus();
}

std::string Context::Leftovers() const {
  std::vector<std::string> parts;
  for (int i = 0; i < static_cast<int>(Kind::kCount); ++i) {
    const int count = alive_[i].load();
    if (count == 0) continue;
    parts.push_back(absl::StrCat(count, " ", KindName(static_cast<Kind>(i), count > 1)));
  }
  return absl::StrJoin(parts, ", ");
}

absl::Status Context::Close() {
  // The device stays as it is: whoever calls may close it when the call is over.
  if (StreamCallback::IsInside(this)) {
    return DeviceError(ErrorCode::kNotPermitted,
                       absl::StrCat("closing ", name(), " inside a host call that it runs"));
  }
  closed_.store(true, std::memory_order_release);
  ContextScope current(*primary_);
  RelaxedScope relaxed(*primary_);
  const cudaError_t error = streams_.DrainAll();
  // Work that failed is reported; a device that was lost before has said so already.
  const bool was_lost = health_.lost();
  const absl::Status drained = ToStatus(
      health_, error, [&] { return absl::StrCat("waiting for the work of ", name()); });
  const std::string left = Leftovers();
  if (!left.empty()) {
    return DeviceError(ErrorCode::kNotPermitted,
                       absl::StrCat(name(), " is closed with objects left: ", left,
                                    "; it gives its context back once they are gone"));
  }
  kernels_.UnloadAll();
  return was_lost ? absl::OkStatus() : drained;
}

}  // namespace graphtree
