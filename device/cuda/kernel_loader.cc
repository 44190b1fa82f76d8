// Loading the three kinds of CUDA body.
#include "device/cuda/kernel_loader.h"

#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "device/cuda/cuda_status.h"
#include "device/cuda/image_check.h"
#include "device/error.h"

namespace graphtree {
namespace {

constexpr size_t kJitLogBytes = 8192;
constexpr CUfunction_attribute kSharedLimit = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;

}  // namespace

absl::StatusOr<LoadedKernel*> KernelLoader::Get(const Kernel& kernel) {
  LoadedKernel* entry = nullptr;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    std::unique_ptr<LoadedKernel>& slot = by_id_[kernel.id()];
    if (slot == nullptr) slot = std::make_unique<LoadedKernel>();
    entry = slot.get();
  }
  if (entry->loaded_.load(std::memory_order_acquire)) return entry;
  std::lock_guard<std::mutex> loading(entry->mutex_);
  if (entry->loaded_.load(std::memory_order_acquire)) return entry;
  GRAPHTREE_RETURN_IF_ERROR(Load(kernel, *entry));
  {
    std::lock_guard<std::mutex> lock(mutex_);
    names_[entry->function_] = kernel.name();
  }
  entry->loaded_.store(true, std::memory_order_release);
  return entry;
}

absl::Status KernelLoader::Load(const Kernel& kernel, LoadedKernel& entry) {
  ContextScope current(context_);
  RelaxedScope relaxed(context_);
  entry.name_ = kernel.name();
  if (const auto* symbol = std::get_if<CudaSymbol>(&kernel.cuda())) {
    GRAPHTREE_RETURN_IF_ERROR(LoadSymbol(kernel, *symbol, entry));
  } else if (const auto* image = std::get_if<CudaImage>(&kernel.cuda())) {
    GRAPHTREE_RETURN_IF_ERROR(LoadImage(kernel, image->bytes, image->entry, entry));
  } else if (const auto* source = std::get_if<CudaSource>(&kernel.cuda())) {
    absl::StatusOr<CompiledSource> compiled = compiler_.Compile(kernel.name(), *source);
    if (!compiled.ok()) return compiled.status();
    GRAPHTREE_RETURN_IF_ERROR(LoadImage(kernel, compiled->cubin, compiled->lowered_name, entry));
  } else {
    return DeviceError(ErrorCode::kNoBinaryForGpu,
                       absl::StrCat("kernel ", kernel.name(),
                                    " has no CUDA body: give it a symbol, "
                                    "an image or a source to run it on ",
                                    context_.name()));
  }
  return Finish(kernel, entry);
}

absl::Status KernelLoader::LoadSymbol(const Kernel& kernel, const CudaSymbol& body,
                                      LoadedKernel& entry) {
  return ToStatus(health_, cudaGetFuncBySymbol(&entry.function_, body.symbol), [&] {
    return absl::StrCat("finding the linked function of kernel ", kernel.name(), " for ",
                        context_.name());
  });
}

absl::Status KernelLoader::LoadImage(const Kernel& kernel, const std::string& bytes,
                                     const std::string& entry_name, LoadedKernel& entry) {
  const std::string flaw = ImageFlaw(bytes);
  if (!flaw.empty()) {
    return DeviceError(ErrorCode::kInvalidImage,
                       absl::StrCat("the image of kernel ", kernel.name(), " cannot be loaded: ",
                                    flaw));
  }
  const auto what = [&] {
    const std::string log(entry.jit_log_.c_str());
    return absl::StrCat("loading the image of kernel ", kernel.name(), " (function ", entry_name,
                        ", ", bytes.size(), " bytes) onto ", context_.name(),
                        log.empty() ? "" : "\n", log);
  };
  const bool ptx = IsPtx(bytes);
  if (ptx) entry.jit_log_.assign(kJitLogBytes, '\0');
  cudaJitOption options[] = {cudaJitErrorLogBuffer, cudaJitErrorLogBufferSizeBytes};
  void* values[] = {entry.jit_log_.data(), reinterpret_cast<void*>(kJitLogBytes - 1)};
  cudaLibrary_t library = nullptr;
  GRAPHTREE_RETURN_IF_ERROR(ToStatus(
      health_,
      cudaLibraryLoadData(&library, bytes.c_str(), ptx ? options : nullptr, ptx ? values : nullptr,
                          ptx ? 2 : 0, nullptr, nullptr, 0),
      what));
  cudaKernel_t found = nullptr;
  absl::Status status =
      ToStatus(health_, cudaLibraryGetKernel(&found, library, entry_name.c_str()), what);
  if (status.ok()) {
    status = ToStatus(health_, context_.driver().KernelGetFunction(&entry.function_, found), what);
  }
  if (!status.ok()) {
    if (cudaLibraryUnload(library) != cudaSuccess) cudaGetLastError();
    return status;
  }
  entry.library_ = library;
  return absl::OkStatus();
}

absl::Status KernelLoader::Finish(const Kernel& kernel, LoadedKernel& entry) {
  const auto what = [&] {
    return absl::StrCat("loading kernel ", kernel.name(), " onto ", context_.name());
  };
  const Driver& driver = context_.driver();
  int limit = 0;
  absl::Status status = ToStatus(health_, driver.FuncLoad(entry.function_), what);
  if (status.ok()) {
    status = ToStatus(health_,
                      driver.FuncGetAttribute(&limit, kSharedLimit, entry.function_), what);
  }
  if (!status.ok()) {
    if (entry.library_ != nullptr && cudaLibraryUnload(entry.library_) != cudaSuccess) {
      cudaGetLastError();
    }
    entry.library_ = nullptr;
    return status;
  }
  entry.shared_limit_.store(static_cast<uint32_t>(limit), std::memory_order_relaxed);
  return absl::OkStatus();
}

absl::Status KernelLoader::AllowShared(LoadedKernel& kernel, uint32_t shared_bytes) {
  if (kernel.Allows(shared_bytes)) return absl::OkStatus();
  ContextScope current(context_);
  RelaxedScope relaxed(context_);
  const Driver& driver = context_.driver();
  const auto what = [&] {
    return absl::StrCat("allowing kernel ", kernel.name_, " ", shared_bytes,
                        " bytes of dynamic shared memory on ", context_.name());
  };
  // Two kernels may stand for one function: the limit only ever rises.
  std::lock_guard<std::mutex> lock(mutex_);
  int limit = 0;
  GRAPHTREE_RETURN_IF_ERROR(ToStatus(
      health_, driver.FuncGetAttribute(&limit, kSharedLimit, kernel.function_), what));
  if (static_cast<uint32_t>(limit) < shared_bytes) {
    limit = static_cast<int>(shared_bytes);
    GRAPHTREE_RETURN_IF_ERROR(
        ToStatus(health_, driver.FuncSetAttribute(kernel.function_, kSharedLimit, limit), what));
  }
  kernel.shared_limit_.store(static_cast<uint32_t>(limit), std::memory_order_relaxed);
  return absl::OkStatus();
}

std::string KernelLoader::NameOf(CUfunction function) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = names_.find(function);
  return found != names_.end() ? found->second : "";
}

void KernelLoader::UnloadAll() {
  std::lock_guard<std::mutex> lock(mutex_);
  for (auto& [id, entry] : by_id_) {
    if (entry->library_ != nullptr && cudaLibraryUnload(entry->library_) != cudaSuccess) {
      cudaGetLastError();
    }
  }
  by_id_.clear();
  names_.clear();
}

}  // namespace graphtree
