// Compiles a CudaSource to machine code: looks into the disk cache first, and asks NVRTC where that
// has no entry.
//
// Threads: safe from all. The first call loads NVRTC, even where the cache has an entry: NVRTC's
// version is part of the cache's key.
#ifndef GRAPHTREE_DEVICE_CUDA_NVRTC_SOURCE_COMPILER_H_
#define GRAPHTREE_DEVICE_CUDA_NVRTC_SOURCE_COMPILER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "device/cuda/nvrtc/compile_cache.h"
#include "device/cuda/nvrtc/nvrtc.h"
#include "device/kernel.h"

namespace graphtree {

class SourceCompiler {
 public:
  struct Options {
    std::string architecture;   // "sm_90"
    std::string nvrtc_folder;   // see CudaOptions
    std::string cache_folder;
  };
  explicit SourceCompiler(const Options& options)
      : options_(options), cache_(options.cache_folder) {}

  // OK, or why source cannot be compiled here. Loads NVRTC.
  absl::Status Available();

  absl::StatusOr<CompiledSource> Compile(const std::string& name, const CudaSource& source);

  // How often NVRTC ran, and how often the disk had the answer.
  uint64_t compilations() const { return compilations_.load(); }
  uint64_t found_on_disk() const { return found_on_disk_.load(); }

 private:
  absl::StatusOr<const Nvrtc*> Loaded();

  const Options options_;
  const CompileCache cache_;
  std::mutex mutex_;
  std::unique_ptr<Nvrtc> nvrtc_;
  std::atomic<uint64_t> compilations_{0};
  std::atomic<uint64_t> found_on_disk_{0};
};

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_CUDA_NVRTC_SOURCE_COMPILER_H_
