// cuBLAS as a program uses it, loaded at run time: one handle, a stream, a workspace, a product.
//
// Its few entry points are declared here, so that a build needs no cuBLAS. It is looked for in the
// folder that GRAPHTREE_CUBLAS names, then on the loader's path; libcublasLt, which it needs, in
// the same place.
//
// Threads: one at a time, as with the library's own handles.
#ifndef GRAPHTREE_TESTS_GPU_CUBLAS_H_
#define GRAPHTREE_TESTS_GPU_CUBLAS_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "device/address.h"

namespace graphtree {

// c = a b + beta c. Matrices of floats, column by column: a is m x k, b is k x n.
struct Product {
  int m = 0, n = 0, k = 0;
  Address a = 0, b = 0, c = 0;
  float beta = 0;
};

class Cublas {
 public:
  // The error says where it was looked for and what the loader said.
  static absl::StatusOr<std::unique_ptr<Cublas>> Load();
  Cublas(const Cublas&) = delete;
  Cublas& operator=(const Cublas&) = delete;
  ~Cublas();

  // Makes the handle at its first call, in which the library allocates and waits for the device.
  // `stream` is a cudaStream_t.
  absl::Status Multiply(void* stream, AddressRange workspace, const Product& product);

  int handles() const { return handles_; }  // that were ever made

 private:
  struct Api;
  explicit Cublas(std::unique_ptr<Api> api);
  absl::Status Passed(const char* call, int result) const;

  const std::unique_ptr<Api> api_;
  void* handle_ = nullptr;
  int handles_ = 0;
};

}  // namespace graphtree

#endif  // GRAPHTREE_TESTS_GPU_CUBLAS_H_
