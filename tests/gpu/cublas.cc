// Loading the library, and its calls in the order that it asks for.
#include "tests/gpu/cublas.h"

#include <dlfcn.h>

#include <cstddef>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "device/base/loaded_library.h"
#include "device/base/status_macros.h"

namespace graphtree {
namespace {

using Handle = void*;
using Result = int;  // 0 is success
constexpr int kNotTransposed = 0;

// Null, with the loader's words in `tried`, if there is none. Never closed: kernels of it may be in
// graphs, and it keeps threads.
void* Open(const std::string& folder, const char* version, std::vector<std::string>* tried) {
  const std::string prefix = folder.empty() ? "" : absl::StrCat(folder, "/");
  // By its own name the other one then finds this one, wherever it lies.
  dlopen(absl::StrCat(prefix, "libcublasLt.so.", version).c_str(), RTLD_NOW | RTLD_GLOBAL);
  void* library =
      dlopen(absl::StrCat(prefix, "libcublas.so.", version).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) tried->push_back(LoaderWords());
  return library;
}

}  // namespace

struct Cublas::Api {
  Result (*create)(Handle*);
  Result (*destroy)(Handle);
  Result (*set_stream)(Handle, void* stream);
  Result (*set_workspace)(Handle, void* workspace, size_t bytes);
  Result (*sgemm)(Handle, int transpose_a, int transpose_b, int m, int n, int k,
                  const float* alpha, const float* a, int lda, const float* b, int ldb,
                  const float* beta, float* c, int ldc);
  const char* (*status_string)(Result);

  bool FindAll(void* library) {
    return FindSymbol(library, "cublasCreate_v2", &create) &&
           FindSymbol(library, "cublasDestroy_v2", &destroy) &&
           FindSymbol(library, "cublasSetStream_v2", &set_stream) &&
           FindSymbol(library, "cublasSetWorkspace_v2", &set_workspace) &&
           FindSymbol(library, "cublasSgemm_v2", &sgemm) &&
           FindSymbol(library, "cublasGetStatusString", &status_string);
  }
};

absl::StatusOr<std::unique_ptr<Cublas>> Cublas::Load() {
  std::vector<std::string> folders;
  if (const char* named = std::getenv("GRAPHTREE_CUBLAS")) folders.push_back(named);
  folders.push_back("");
  std::vector<std::string> tried;
  for (const std::string& folder : folders) {
    for (const char* version : {"13", "12"}) {
      void* library = Open(folder, version, &tried);
      if (library == nullptr) continue;
      auto api = std::make_unique<Api>();
      if (api->FindAll(library)) return std::unique_ptr<Cublas>(new Cublas(std::move(api)));
      tried.push_back(absl::StrCat("libcublas.so.", version, " lacks an entry point"));
    }
  }
  return absl::NotFoundError(absl::StrCat("cuBLAS cannot be loaded (GRAPHTREE_CUBLAS names its "
                                          "folder): ",
                                          absl::StrJoin(tried, "; ")));
}

Cublas::Cublas(std::unique_ptr<Api> api) : api_(std::move(api)) {}

Cublas::~Cublas() {
  if (handle_ != nullptr) api_->destroy(handle_);
}

absl::Status Cublas::Passed(const char* call, int result) const {
  if (result == 0) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat(call, ": ", api_->status_string(result), " (", result, ")"));
}

absl::Status Cublas::Multiply(void* stream, AddressRange workspace, const Product& product) {
  if (handle_ == nullptr) {
    GRAPHTREE_RETURN_IF_ERROR(Passed("cublasCreate", api_->create(&handle_)));
    ++handles_;
  }
  GRAPHTREE_RETURN_IF_ERROR(Passed("cublasSetStream", api_->set_stream(handle_, stream)));
  // Behind the stream: setting that puts the library's own workspace back.
  GRAPHTREE_RETURN_IF_ERROR(
      Passed("cublasSetWorkspace",
             api_->set_workspace(handle_, PointerTo<void>(workspace.base), workspace.bytes)));
  const float alpha = 1;
  return Passed("cublasSgemm",
                api_->sgemm(handle_, kNotTransposed, kNotTransposed, product.m, product.n,
                            product.k, &alpha, PointerTo<const float>(product.a), product.m,
                            PointerTo<const float>(product.b), product.k, &product.beta,
                            PointerTo<float>(product.c), product.m));
}

}  // namespace graphtree
