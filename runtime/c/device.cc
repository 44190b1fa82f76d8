// Devices of graphtree.h.
#include <string>

#include "absl/strings/str_cat.h"
#include "device/cuda/cuda_options.h"
#include "device/host/host_device.h"
#include "device/open.h"
#include "runtime/c/device_objects.h"
#include "runtime/c/entry.h"
#include "runtime/c/texts.h"

namespace graphtree::c {
namespace {

absl::StatusOr<std::unique_ptr<Device>> Open(absl::string_view name,
                                             const gt_device_options& options) {
  absl::Status scheduler = CheckEnum("scheduler", options.scheduler, GT_SCHEDULER_THREADS);
  if (!scheduler.ok()) return scheduler;
  if (name == "host") {
    HostOptions host;
    host.scheduler = static_cast<HostScheduler>(options.scheduler);
    if (options.queue_limit != 0) host.queue_limit = options.queue_limit;
    if (options.seed != 0) host.seed = options.seed;
    if (options.memory_bytes != 0) host.memory_bytes = options.memory_bytes;
    host.poison = options.no_poison == 0;
    host.check_races = options.no_race_check == 0;
    return OpenHostDevice(host);
  }
  CudaOptions cuda;
  cuda.nvrtc_folder = std::string(WordOf(options.nvrtc_folder));
  cuda.kernel_cache_folder = std::string(WordOf(options.kernel_cache_folder));
  return OpenDevice(name, cuda);
}

std::string Describe(const DeviceListing& listing) {
  if (!listing.status.ok()) {
    return absl::StrCat(listing.name, ": not there: ", listing.status.message(), "\n");
  }
  std::string text = absl::StrCat(listing.name, ": ", listing.info.model, ", ",
                                  listing.info.architecture, ", ", listing.info.total_bytes,
                                  " bytes\n");
  for (const CapabilityState& state : listing.capabilities) {
    absl::StrAppend(&text, "  ", CapabilityName(state.capability), ": ",
                    state.present ? "yes" : absl::StrCat("no: ", state.reason), "\n");
  }
  return text;
}

}  // namespace
}  // namespace graphtree::c

using graphtree::c::DeviceObject;
using graphtree::c::Entry;
using graphtree::c::KernelObject;
using graphtree::c::OpenedDevice;
using graphtree::c::Ref;
using graphtree::c::Within;

gt_error gt_device_open(const char* name, const gt_device_options* options,
                        gt_device* out) noexcept {
  return Within("gt_device_open", [&](Entry& entry) -> gt_error {
    gt_device_options read;
    entry.Read(options, "gt_device_options", &read);
    entry.Has(name, "name");
    if (!entry.Sets(out, "out") || !entry.ok()) return entry.Failed();
    std::shared_ptr<OpenedDevice> opened;
    if (!entry.Own([&] { opened = std::make_shared<OpenedDevice>(); })) return entry.Failed();
    absl::StatusOr<std::unique_ptr<graphtree::Device>> device = graphtree::c::Open(name, read);
    if (!device.ok()) return entry.Return(device.status());
    opened->Put(*std::move(device));
    return entry.Give(graphtree::c::NewObject<DeviceObject>(std::move(opened)), out);
  });
}

gt_error gt_devices_describe(gt_text* out) noexcept {
  return Within("gt_devices_describe", [&](Entry& entry) -> gt_error {
    if (!entry.Sets(out, "out")) return entry.Failed();
    std::string text;
    for (const graphtree::DeviceListing& listing : graphtree::ListDevices()) {
      text += graphtree::c::Describe(listing);
    }
    return graphtree::c::GiveText(entry, std::move(text), out);
  });
}

gt_error gt_device_look(gt_device device, gt_device_info* out) noexcept {
  return Within("gt_device_look", [&](Entry& entry) -> gt_error {
    const Ref<DeviceObject> of = entry.Get<DeviceObject>(device, "device");
    if (!entry.ok()) return entry.Failed();
    const graphtree::DeviceInfo& info = of->device().info();
    const gt_device_info found = {.size = sizeof(gt_device_info),
                                  .name = info.name.c_str(),
                                  .model = info.model.c_str(),
                                  .architecture = info.architecture.c_str(),
                                  .identity = info.identity.c_str(),
                                  .driver_version = info.driver_version,
                                  .runtime_version = info.runtime_version,
                                  .multiprocessors = info.multiprocessors,
                                  .reserved = 0,
                                  .total_bytes = info.total_bytes};
    return entry.Return(graphtree::c::WriteFigures(found, "gt_device_info", out));
  });
}

gt_error gt_device_can(gt_device device, gt_capability capability, int32_t* can,
                       const char** reason) noexcept {
  return Within("gt_device_can", [&](Entry& entry) -> gt_error {
    const Ref<DeviceObject> of = entry.Get<DeviceObject>(device, "device");
    entry.Fail(graphtree::c::CheckEnum("capability", capability, GT_CAN_BATCH_COPY_NODE));
    if (!entry.Sets(can, "can") || !entry.ok()) return entry.Failed();
    const graphtree::CapabilityState& state = of->device().capabilities()[capability];
    *can = state.present ? 1 : 0;
    if (reason != nullptr) *reason = state.reason.c_str();
    return nullptr;
  });
}

gt_error gt_device_health(gt_device device) noexcept {
  return Within("gt_device_health", [&](Entry& entry) -> gt_error {
    const Ref<DeviceObject> of = entry.Get<DeviceObject>(device, "device");
    return entry.ok() ? entry.Return(of->device().health()) : entry.Failed();
  });
}

gt_error gt_device_free_bytes(gt_device device, uint64_t* free_bytes,
                              uint64_t* total_bytes) noexcept {
  return Within("gt_device_free_bytes", [&](Entry& entry) -> gt_error {
    const Ref<DeviceObject> of = entry.Get<DeviceObject>(device, "device");
    if (!entry.Sets(free_bytes, "free_bytes") || !entry.ok()) return entry.Failed();
    const absl::StatusOr<graphtree::MemoryInfo> info = of->device().memory().Info();
    if (!info.ok()) return entry.Return(info.status());
    *free_bytes = info->free_bytes;
    if (total_bytes != nullptr) *total_bytes = info->total_bytes;
    return nullptr;
  });
}

gt_error gt_device_load(gt_device device, gt_kernel kernel) noexcept {
  return Within("gt_device_load", [&](Entry& entry) -> gt_error {
    const Ref<DeviceObject> of = entry.Get<DeviceObject>(device, "device");
    const Ref<KernelObject> loaded = entry.Get<KernelObject>(kernel, "kernel");
    if (!entry.ok()) return entry.Failed();
    of->opened()->Hold(loaded->kernel(), &entry);
    if (!entry.ok()) return entry.Failed();
    return entry.Return(of->device().Load(*loaded->kernel()));
  });
}

gt_error gt_device_open_captures(gt_device device, int32_t* out) noexcept {
  return Within("gt_device_open_captures", [&](Entry& entry) -> gt_error {
    const Ref<DeviceObject> of = entry.Get<DeviceObject>(device, "device");
    if (!entry.Sets(out, "out") || !entry.ok()) return entry.Failed();
    *out = of->device().open_captures();
    return nullptr;
  });
}

gt_error gt_device_give_back_leftovers(gt_device device) noexcept {
  return Within("gt_device_give_back_leftovers", [&](Entry& entry) -> gt_error {
    const Ref<DeviceObject> of = entry.Get<DeviceObject>(device, "device");
    return entry.ok() ? entry.Return(of->device().GiveBackLeftovers()) : entry.Failed();
  });
}
