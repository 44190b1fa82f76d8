// Kernels of graphtree.h.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "device/host/host_device.h"
#include "device/kernel.h"
#include "runtime/c/device_objects.h"
#include "runtime/c/entry.h"

namespace graphtree::c {
namespace {

gt_host_call SeenOf(const HostCall& call) {
  const LaunchShape& shape = call.shape();
  return {.size = sizeof(gt_host_call),
          .shape = {.grid = {shape.grid.x, shape.grid.y, shape.grid.z},
                    .block = {shape.block.x, shape.block.y, shape.block.z},
                    .shared_bytes = shape.shared_bytes,
                    .programmatic = shape.programmatic ? 1u : 0u},
          .count = call.argument_count(),
          .arguments = call.arguments().data()};
}

HostBody HostBodyOf(const gt_kernel_options& options,
                    const std::shared_ptr<const CallerContext>& context) {
  if (options.host == nullptr) return nullptr;
  if (options.host_is_interpreted == 0) {
    return [body = options.host, context](const HostCall& call) {
      const gt_host_call seen = SeenOf(call);
      body(context->get(), &seen);
    };
  }
  std::string name = absl::StrCat("the host body of kernel '", options.name, "'");
  return [body = options.host, context, name = std::move(name)](const HostCall& call) {
    const gt_host_call seen = SeenOf(call);
    RunOrEnd(name, [&] { body(context->get(), &seen); });
  };
}

KernelParams ParamsOf(const gt_kernel_options& options) {
  const size_t count = options.parameter_count;
  std::vector<uint32_t> bytes(options.parameter_bytes, options.parameter_bytes + count);
  std::vector<bool> writable;
  if (options.parameter_writable != nullptr) {
    writable.assign(options.parameter_writable, options.parameter_writable + count);
  }
  return KernelParams(std::move(bytes), std::move(writable));
}

CudaBody CudaBodyOf(const gt_kernel_options& options) {
  const auto* const chars = static_cast<const char*>(options.cuda);
  switch (options.cuda_kind) {
    case GT_CUDA_SYMBOL: return CudaSymbol{options.cuda};
    case GT_CUDA_IMAGE: return CudaImage{std::string(chars, options.cuda_bytes), options.entry};
    case GT_CUDA_SOURCE: {
      CudaSource source;
      source.text = options.cuda_bytes == 0 ? std::string(chars)
                                            : std::string(chars, options.cuda_bytes);
      source.entry = options.entry;
      for (size_t i = 0; i < options.option_count; ++i) {
        source.options.push_back(std::string(WordOf(options.options[i])));
      }
      return source;
    }
    default: return {};
  }
}

void Check(const gt_kernel_options& options, Entry* entry) {
  entry->Has(options.name, "gt_kernel_options.name");
  entry->HasArray(options.parameter_bytes, options.parameter_count, "parameter_bytes");
  entry->HasArray(options.options, options.option_count, "gt_kernel_options.options");
  constexpr size_t kMostCudaBytes = size_t{1} << 32;
  if (options.cuda_bytes > kMostCudaBytes) {
    entry->Fail(absl::InvalidArgumentError(
        absl::StrCat("cuda_bytes is ", options.cuda_bytes, "; an image or source has at most ",
                     kMostCudaBytes)));
  }
  entry->Fail(CheckEnum("cuda_kind", options.cuda_kind, GT_CUDA_SOURCE));
  const bool has_cuda = options.cuda_kind != GT_CUDA_NONE;
  if (has_cuda) entry->Has(options.cuda, "gt_kernel_options.cuda");
  if (has_cuda && options.cuda_kind != GT_CUDA_SYMBOL) {
    entry->Has(options.entry, "gt_kernel_options.entry");
  }
  if (!has_cuda && options.host == nullptr) {
    entry->Fail(absl::InvalidArgumentError("a kernel with no body, for no kind of device"));
  }
}

}  // namespace
}  // namespace graphtree::c

using graphtree::c::Entry;
using graphtree::c::Within;

gt_error gt_kernel_new(const gt_kernel_options* options, gt_kernel* out) noexcept {
  return Within("gt_kernel_new", [&](Entry& entry) -> gt_error {
    gt_kernel_options read;
    entry.Read(options, "gt_kernel_options", &read);
    const auto context = graphtree::c::HoldContext(read.context, read.destroy, &entry);
    if (entry.ok()) graphtree::c::Check(read, &entry);
    if (!entry.Sets(out, "out") || !entry.ok()) return entry.Failed();
    std::shared_ptr<graphtree::Kernel> kernel;
    const auto make = [&] {
      kernel = std::make_shared<graphtree::Kernel>(
          std::string(read.name), graphtree::c::ParamsOf(read),
          graphtree::c::HostBodyOf(read, context), graphtree::c::CudaBodyOf(read));
    };
    if (!entry.Own(make)) {
      context->EndNow();
      return entry.Failed();
    }
    return entry.Give(graphtree::c::NewObject<graphtree::c::KernelObject>(std::move(kernel)), out);
  });
}
