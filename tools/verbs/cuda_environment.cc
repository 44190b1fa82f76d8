// Reads the environment.
#include "tools/verbs/cuda_environment.h"

#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"

namespace graphtree {
namespace {

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::string KernelCacheFolder() {
  if (const char* asked = std::getenv("GRAPHTREE_KERNEL_CACHE")) return asked;
  const std::string caches = Variable("XDG_CACHE_HOME");
  if (!caches.empty()) return absl::StrCat(caches, "/graphtree/kernels");
  const std::string home = Variable("HOME");
  return home.empty() ? "" : absl::StrCat(home, "/.cache/graphtree/kernels");
}

}  // namespace

CudaOptions CudaOptionsOfEnvironment() {
  return {Variable("GRAPHTREE_NVRTC"), KernelCacheFolder()};
}

}  // namespace graphtree
