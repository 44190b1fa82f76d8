// The primary context of one GPU, and the two scopes in which calls are made.
//
// ContextScope makes the context current for a few lines and puts back what was there, be it
// another device's context or none. It asks first which is current (one load in the driver), so the
// usual case costs no switch. Setting the Runtime's device instead would create a context on the
// device that is put back.
//
// RelaxedScope lets calls pass that CUDA forbids while a capture is open on this thread or, in
// global mode, on another. None of the calls made under it is part of a capture.
#ifndef GRAPHTREE_DEVICE_CUDA_PRIMARY_CONTEXT_H_
#define GRAPHTREE_DEVICE_CUDA_PRIMARY_CONTEXT_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "device/cuda/driver.h"

namespace graphtree {

// Holds the primary context for as long as it lives. PyTorch, cuBLAS and the Runtime's own kernels
// use the same one.
class PrimaryContext {
 public:
  static absl::StatusOr<std::unique_ptr<PrimaryContext>> Retain(int ordinal);
  ~PrimaryContext();
  PrimaryContext(const PrimaryContext&) = delete;
  PrimaryContext& operator=(const PrimaryContext&) = delete;

  const Driver& driver() const { return driver_; }
  CUcontext native() const { return native_; }
  int ordinal() const { return ordinal_; }
  const std::string& name() const { return name_; }  // "cuda:0"

 private:
  PrimaryContext(const Driver& driver, int ordinal, CUdevice device, CUcontext native);

  const Driver& driver_;
  const int ordinal_;
  const CUdevice device_;
  const CUcontext native_;
  const std::string name_;
};

class ContextScope {
 public:
  explicit ContextScope(const PrimaryContext& context) : driver_(context.driver()) {
    CUcontext current = nullptr;
    driver_.CtxGetCurrent(&current);
    if (__builtin_expect(current != context.native(), 0)) {
      pushed_ = driver_.CtxPushCurrent(context.native()) == CUDA_SUCCESS;
    }
  }
  ~ContextScope() {
    if (__builtin_expect(pushed_, 0)) {
      CUcontext popped = nullptr;
      driver_.CtxPopCurrent(&popped);
    }
  }
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

 private:
  const Driver& driver_;
  bool pushed_ = false;
};

class RelaxedScope {
 public:
  explicit RelaxedScope(const PrimaryContext& context) : driver_(context.driver()) {
    driver_.ThreadExchangeStreamCaptureMode(&mode_);
  }
  ~RelaxedScope() { driver_.ThreadExchangeStreamCaptureMode(&mode_); }
  RelaxedScope(const RelaxedScope&) = delete;
  RelaxedScope& operator=(const RelaxedScope&) = delete;

 private:
  const Driver& driver_;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_CUDA_PRIMARY_CONTEXT_H_
