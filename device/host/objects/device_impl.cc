// Making things, saying what the host can do, and closing.
#include "device/host/objects/device_impl.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "device/error.h"
#include "device/host/checks/fault_guard.h"
#include "device/host/objects/host_event.h"
#include "device/host/objects/host_stream.h"

namespace graphtree::host {
namespace {

const char* WhyMissing(Capability capability) {
  switch (capability) {
    case Capability::kVirtualMemory:
    case Capability::kWishedBase:
    case Capability::kCapture:
    case Capability::kPatchOps:
    case Capability::kProgrammaticEdges: return "";
    case Capability::kCompileSource: return "the host device runs host bodies, not CUDA source";
    default: return "the host device does not imitate it";
  }
}

}  // namespace

HostDevice::HostDevice(const HostOptions& options)
    : core_(std::make_shared<Core>(options, this)), memory_(core_) {
  info_.name = "host";
  info_.model = "host device";
  info_.architecture = "host";
  info_.checks_accesses = true;
  info_.is_opened_anew = true;
  info_.identity = "host";
  info_.multiprocessors = 1;
  info_.total_bytes = options.memory_bytes;
  for (Capability capability : AllCapabilities()) {
    const std::string reason = WhyMissing(capability);
    capabilities_.push_back({capability, reason.empty(), reason});
  }
}

HostDevice::~HostDevice() {
  EndLeftovers();
  Close().IgnoreError();
  {
    const Engine::Lock lock = core_->engine.Guard();
    core_->engine.Lose(DeviceError(ErrorCode::kIllegalState, "the host device is gone"));
  }
  core_->engine.Stop();
}

absl::StatusOr<std::unique_ptr<Stream>> HostDevice::NewStream() {
  const Engine::Lock lock = core_->engine.Guard();
  GRAPHTREE_RETURN_IF_ERROR(core_->Usable("making a stream"));
  return std::make_unique<HostStream>(core_, core_->engine.NewQueue("stream", /*ours=*/true),
                                      /*adopted=*/false);
}

absl::StatusOr<std::unique_ptr<Stream>> HostDevice::AdoptStream(NativeStream native) {
  const Engine::Lock lock = core_->engine.Guard();
  GRAPHTREE_RETURN_IF_ERROR(core_->Usable("adopting a stream"));
  if (native == nullptr) {
    return std::make_unique<HostStream>(core_, core_->engine.LegacyQueue(), /*adopted=*/true);
  }
  if (!core_->engine.IsLive(native)) {
    return DeviceError(ErrorCode::kInvalidHandle,
                       absl::StrCat("adopting 0x", absl::Hex(AddressOf(native)),
                                    ", which is no native stream of this host device"));
  }
  auto* const queue = static_cast<StreamQueue*>(native);
  ++queue->owners;
  return std::make_unique<HostStream>(core_, queue, /*adopted=*/true);
}

absl::StatusOr<std::unique_ptr<Event>> HostDevice::NewEvent(const EventOptions& options) {
  const Engine::Lock lock = core_->engine.Guard();
  GRAPHTREE_RETURN_IF_ERROR(core_->Usable("making an event"));
  return std::make_unique<HostEvent>(core_, options.timing);
}

absl::Status HostDevice::Load(const Kernel& kernel) {
  {
    const Engine::Lock lock = core_->engine.Guard();
    GRAPHTREE_RETURN_IF_ERROR(core_->Usable(absl::StrCat("loading kernel ", kernel.name())));
  }
  if (kernel.host()) return absl::OkStatus();
  return DeviceError(ErrorCode::kNoBinaryForGpu,
                     absl::StrCat("kernel ", kernel.name(), " has no body for the host device"));
}

int HostDevice::open_captures() const { return core_->engine.captures().open(); }

absl::Status HostDevice::health() const {
  const Engine::Lock lock = core_->engine.Guard();
  return core_->engine.health();
}

bool HostDevice::IsInsideWork() const { return IsInside(&core_->engine); }

absl::Status HostDevice::Close() {
  if (IsInsideWork()) {
    const Engine::Lock lock = core_->engine.Guard();
    return core_->engine.MayCall();
  }
  // What cannot be given back is named below, as what is left.
  GiveBackLeftovers().IgnoreError();
  Engine::Lock lock = core_->engine.Guard();
  core_->engine.WaitForAll(lock);
  core_->closed = true;
  const std::string left = core_->Leftovers();
  if (left.empty()) return absl::OkStatus();
  return DeviceError(ErrorCode::kNotPermitted,
                     absl::StrCat("closing the host device with ", left, " left"));
}

}  // namespace graphtree::host
