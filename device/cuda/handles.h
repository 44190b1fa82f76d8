// Owners for CUDA's handles, so that whoever works with native handles gives each back once.
//
//   StreamHandle stream(native);            // destroys it
//   cudaStream_t raw = stream.release();    // hands it on
//
// A handle is a plain pointer or number in C: 0 and nullptr would pass for one, so constructing an
// owner from a literal does not compile. Moving leaves the source empty. The current device is not
// changed: make the handle's device current before destroying one that needs it.
//
// View a handle that somebody else owns as its native type; there is nothing to wrap.
#ifndef GRAPHTREE_DEVICE_CUDA_HANDLES_H_
#define GRAPHTREE_DEVICE_CUDA_HANDLES_H_

#include <cstddef>
#include <utility>

#include <cuda.h>
#include <cuda_runtime_api.h>

#include "device/cuda/driver.h"

namespace graphtree {

// Traits: Native, Close(Native).
template <typename Traits>
class Handle {
 public:
  using Native = typename Traits::Native;

  Handle() = default;
  explicit Handle(Native native) : native_(native) {}
  Handle(int) = delete;             // NOLINT(google-explicit-constructor): deleted
  Handle(std::nullptr_t) = delete;  // NOLINT(google-explicit-constructor): deleted
  Handle(Handle&& other) noexcept : native_(other.release()) {}
  Handle& operator=(Handle&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { reset(); }

  Native get() const { return native_; }
  explicit operator bool() const { return native_ != Native{}; }

  // The handle, which is now the caller's to give back.
  [[nodiscard]] Native release() { return std::exchange(native_, Native{}); }
  void reset(Native native = Native{}) {
    const Native old = std::exchange(native_, native);
    if (old != Native{}) Traits::Close(old);
  }

 private:
  Native native_{};
};

// A destructor can do nothing about a failed close. Clears the thread's last error, so that other
// users of the Runtime do not find ours.
inline void ClearIfFailed(cudaError_t error) {
  if (error != cudaSuccess) cudaGetLastError();
}

struct StreamTraits {
  using Native = cudaStream_t;
  static void Close(Native native) { ClearIfFailed(cudaStreamDestroy(native)); }
};
struct EventTraits {
  using Native = cudaEvent_t;
  static void Close(Native native) { ClearIfFailed(cudaEventDestroy(native)); }
};
struct GraphTraits {
  using Native = cudaGraph_t;
  static void Close(Native native) { ClearIfFailed(cudaGraphDestroy(native)); }
};
struct GraphExecTraits {
  using Native = cudaGraphExec_t;
  static void Close(Native native) { ClearIfFailed(cudaGraphExecDestroy(native)); }
};
struct LibraryTraits {
  using Native = cudaLibrary_t;
  static void Close(Native native) { ClearIfFailed(cudaLibraryUnload(native)); }
};

using StreamHandle = Handle<StreamTraits>;
using EventHandle = Handle<EventTraits>;
using GraphHandle = Handle<GraphTraits>;
using GraphExecHandle = Handle<GraphExecTraits>;
using LibraryHandle = Handle<LibraryTraits>;

// Physical memory. The driver's handle is a number, so its owner carries the table that closes it.
class MemHandle {
 public:
  MemHandle() = default;
  MemHandle(const Driver& driver, CUmemGenericAllocationHandle native)
      : driver_(&driver), native_(native) {}
  MemHandle(const Driver& driver, int) = delete;
  MemHandle(const Driver& driver, std::nullptr_t) = delete;
  MemHandle(MemHandle&& other) noexcept : driver_(other.driver_), native_(other.release()) {}
  MemHandle& operator=(MemHandle&& other) noexcept;
  MemHandle(const MemHandle&) = delete;
  MemHandle& operator=(const MemHandle&) = delete;
  ~MemHandle() { reset(); }

  CUmemGenericAllocationHandle get() const { return native_; }
  explicit operator bool() const { return native_ != 0; }
  [[nodiscard]] CUmemGenericAllocationHandle release() { return std::exchange(native_, 0); }
  void reset() {
    if (native_ != 0) driver_->MemRelease(release());
  }

 private:
  const Driver* driver_ = nullptr;
  CUmemGenericAllocationHandle native_ = 0;
};

inline MemHandle& MemHandle::operator=(MemHandle&& other) noexcept {
  if (this != &other) {
    reset();
    driver_ = other.driver_;
    native_ = other.release();
  }
  return *this;
}

// Reserved addresses. REQUIRES: nothing is mapped in them when the owner gives them back.
class AddressReservation {
 public:
  AddressReservation() = default;
  AddressReservation(const Driver& driver, CUdeviceptr base, size_t bytes)
      : driver_(&driver), base_(base), bytes_(bytes) {}
  AddressReservation(const Driver& driver, int, size_t) = delete;
  AddressReservation(const Driver& driver, std::nullptr_t, size_t) = delete;
  AddressReservation(AddressReservation&& other) noexcept
      : driver_(other.driver_), base_(other.base_), bytes_(std::exchange(other.bytes_, 0)) {}
  AddressReservation& operator=(AddressReservation&& other) noexcept {
    if (this != &other) {
      reset();
      driver_ = other.driver_;
      base_ = other.base_;
      bytes_ = std::exchange(other.bytes_, 0);
    }
    return *this;
  }
  AddressReservation(const AddressReservation&) = delete;
  AddressReservation& operator=(const AddressReservation&) = delete;
  ~AddressReservation() { reset(); }

  CUdeviceptr base() const { return base_; }
  size_t bytes() const { return bytes_; }
  explicit operator bool() const { return bytes_ != 0; }
  // The base, which is now the caller's to give back.
  [[nodiscard]] CUdeviceptr release() {
    bytes_ = 0;
    return base_;
  }
  void reset() {
    if (bytes_ != 0) driver_->MemAddressFree(base_, std::exchange(bytes_, 0));
  }

 private:
  const Driver* driver_ = nullptr;
  CUdeviceptr base_ = 0;
  size_t bytes_ = 0;
};

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_CUDA_HANDLES_H_
