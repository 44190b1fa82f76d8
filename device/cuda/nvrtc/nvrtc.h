// NVRTC, NVIDIA's compiler as a library, loaded at run time and only when asked for.
//
// Its few entry points are declared here: a build needs no NVRTC, and no CUDA driver is needed to
// compile. Where it is looked for, in this order: the folder given, the system loader's path, the
// folder of the toolkit that this program was built with. By absolute path it does not find its own
// builtins library, so that one is loaded first.
//
// Threads: safe from all; compilations run side by side. Loading costs some tens of milliseconds,
// once.
#ifndef GRAPHTREE_DEVICE_CUDA_NVRTC_NVRTC_H_
#define GRAPHTREE_DEVICE_CUDA_NVRTC_NVRTC_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace graphtree {

class Nvrtc {
 public:
  // The folders are tried in order; "" stands for the system loader's path.
  static absl::StatusOr<std::unique_ptr<Nvrtc>> Load(const std::vector<std::string>& folders);
  Nvrtc(const Nvrtc&) = delete;
  Nvrtc& operator=(const Nvrtc&) = delete;

  const std::string& version() const { return version_; }  // "13.0"
  const std::string& path() const { return path_; }

  struct Compiled {
    std::string cubin;
    std::string lowered_name;  // of the entry, as the linker knows it
    std::string log;           // warnings, empty if there were none
  };
  // Compiles to machine code. `architecture` is "sm_90". The error carries the compiler's log.
  absl::StatusOr<Compiled> Compile(const std::string& name, const std::string& text,
                                   const std::string& entry, const std::string& architecture,
                                   const std::vector<std::string>& options) const;

 private:
  struct Api;
  Nvrtc(std::unique_ptr<Api> api, std::string version, std::string path);

 public:
  ~Nvrtc();

 private:
  const std::unique_ptr<Api> api_;
  const std::string version_;
  const std::string path_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_CUDA_NVRTC_NVRTC_H_
