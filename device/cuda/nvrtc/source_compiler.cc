// Joins the disk cache and NVRTC.
#include "device/cuda/nvrtc/source_compiler.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "device/base/status_macros.h"

namespace graphtree {
namespace {

std::vector<std::string> FoldersToTry(const std::string& asked) {
  std::vector<std::string> folders;
  if (!asked.empty()) folders.push_back(asked);
  folders.push_back("");
#ifdef GRAPHTREE_CUDA_LIB
  folders.push_back(GRAPHTREE_CUDA_LIB);
#endif
  return folders;
}

}  // namespace

absl::StatusOr<const Nvrtc*> SourceCompiler::Loaded() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (nvrtc_ == nullptr) {
    GRAPHTREE_ASSIGN_OR_RETURN(nvrtc_, Nvrtc::Load(FoldersToTry(options_.nvrtc_folder)));
  }
  return nvrtc_.get();
}

absl::Status SourceCompiler::Available() { return Loaded().status(); }

absl::StatusOr<CompiledSource> SourceCompiler::Compile(const std::string& name,
                                                       const CudaSource& source) {
  GRAPHTREE_ASSIGN_OR_RETURN(const Nvrtc* nvrtc, Loaded());
  const std::string key = CompileKey(source.text, source.entry, source.options,
                                     options_.architecture, nvrtc->version());
  if (std::optional<CompiledSource> found = cache_.Find(key)) {
    found_on_disk_.fetch_add(1);
    return *std::move(found);
  }
  compilations_.fetch_add(1);
  GRAPHTREE_ASSIGN_OR_RETURN(
      Nvrtc::Compiled compiled,
      nvrtc->Compile(name, source.text, source.entry, options_.architecture, source.options));
  CompiledSource result{std::move(compiled.cubin), std::move(compiled.lowered_name)};
  cache_.Put(key, result);
  return result;
}

}  // namespace graphtree
