// Brings a Kernel's CUDA body onto a device, once, and remembers it.
//
//   Kernel (by id) --> LoadedKernel { CUfunction, the shared memory it may use }
//     symbol: asked from the Runtime
//     image:  checked, then loaded as a library
//     source: compiled by NVRTC (or read from the disk cache), then loaded
//
// Everything is loaded to the end here, never lazily at a launch: loading code waits for other
// launches, and a capture may be open. Loading works while captures are open; it is not part of
// them.
//
// Threads: safe from all. While one thread loads a kernel, others find theirs. Cost when loaded: a
// lock and a look into a hash table.
#ifndef GRAPHTREE_DEVICE_CUDA_KERNEL_LOADER_H_
#define GRAPHTREE_DEVICE_CUDA_KERNEL_LOADER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include <cuda_runtime_api.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "device/cuda/health.h"
#include "device/cuda/nvrtc/source_compiler.h"
#include "device/cuda/primary_context.h"
#include "device/kernel.h"

namespace graphtree {

class LoadedKernel {
 public:
  CUfunction function() const { return function_; }
  const std::string& name() const { return name_; }
  // True if a launch may ask for so much dynamic shared memory without AllowShared.
  bool Allows(uint32_t shared_bytes) const {
    return shared_bytes <= shared_limit_.load(std::memory_order_relaxed);
  }

 private:
  friend class KernelLoader;
  std::mutex mutex_;  // held while it is loaded
  std::string name_;
  CUfunction function_ = nullptr;
  cudaLibrary_t library_ = nullptr;
  std::string jit_log_;  // the driver may write here for as long as the library lives
  std::atomic<uint32_t> shared_limit_{0};
  std::atomic<bool> loaded_{false};
};

class KernelLoader {
 public:
  KernelLoader(const PrimaryContext& context, Health& health,
               const SourceCompiler::Options& options)
      : context_(context), health_(health), compiler_(options) {}

  // The pointer is valid until UnloadAll.
  absl::StatusOr<LoadedKernel*> Get(const Kernel& kernel);

  // Raises the kernel's limit of dynamic shared memory, which is 48 KiB unless asked for.
  absl::Status AllowShared(LoadedKernel& kernel, uint32_t shared_bytes);

  // The name of the Kernel that was loaded as `function`; empty if it was not loaded here.
  std::string NameOf(CUfunction function);

  // REQUIRES: nothing that was launched or recorded is used again.
  void UnloadAll();

 private:
  absl::Status Load(const Kernel& kernel, LoadedKernel& entry);
  absl::Status LoadSymbol(const Kernel& kernel, const CudaSymbol& body, LoadedKernel& entry);
  absl::Status LoadImage(const Kernel& kernel, const std::string& bytes,
                         const std::string& entry_name, LoadedKernel& entry);
  absl::Status Finish(const Kernel& kernel, LoadedKernel& entry);

  const PrimaryContext& context_;
  Health& health_;
  SourceCompiler compiler_;
  std::mutex mutex_;
  std::unordered_map<uint64_t, std::unique_ptr<LoadedKernel>> by_id_;
  std::unordered_map<CUfunction, std::string> names_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_CUDA_KERNEL_LOADER_H_
