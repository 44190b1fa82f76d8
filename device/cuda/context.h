// All objects made from one CUDA device share a Context: the primary context, the driver's table,
// the device's health, its open captures, its kernels, and the count of the objects alive.
//
//   CudaDevice --+
//   CudaStream --+--> Context --> PrimaryContext
//   CudaGraph  --+       |
//      ...               +--> released when Close was called and the last of them is gone
//
// The objects own the Context together, so a device that is closed too early takes nothing from
// under them.
//
// Threads: safe from all.
#ifndef GRAPHTREE_DEVICE_CUDA_CONTEXT_H_
#define GRAPHTREE_DEVICE_CUDA_CONTEXT_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "device/cuda/cuda_options.h"
#include "device/cuda/driver.h"
#include "device/cuda/health.h"
#include "device/cuda/kernel_loader.h"
#include "device/cuda/open_captures.h"
#include "device/cuda/primary_context.h"
#include "device/cuda/stream_roster.h"

namespace graphtree {

enum class Kind : uint8_t {
  kStream,
  kEvent,
  kGraph,
  kExecutable,
  kReservation,
  kPhysicalMemory,
  kHostBuffer,
  kCount,
};

class Context {
 public:
  static absl::StatusOr<std::shared_ptr<Context>> Open(int ordinal, const std::string& architecture,
                                                       const CudaOptions& options);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  const PrimaryContext& primary() const { return *primary_; }
  const Driver& driver() const { return primary_->driver(); }
  const std::string& name() const { return primary_->name(); }
  Health& health() { return health_; }
  OpenCaptures& captures() { return captures_; }
  StreamRoster& streams() { return streams_; }
  KernelLoader& kernels() { return kernels_; }

  // OK, or the error that new work gets: the device is lost or closed.
  absl::Status Usable() const;

  void Made(Kind kind) { alive_[static_cast<int>(kind)].fetch_add(1); }
  void Gone(Kind kind) { alive_[static_cast<int>(kind)].fetch_sub(1); }

  // Waits for the device's own streams, refuses new objects, and says what is left.
  absl::Status Close();

 private:
  Context(std::unique_ptr<PrimaryContext> primary, const std::string& architecture,
          const CudaOptions& options);
  std::string Leftovers() const;

  const std::unique_ptr<PrimaryContext> primary_;  // outlives the members below
  Health health_;
  OpenCaptures captures_;
  StreamRoster streams_;
  KernelLoader kernels_;
  std::array<std::atomic<int>, static_cast<int>(Kind::kCount)> alive_{};
  std::atomic<bool> closed_{false};
};

// A member of every object of a device: counts the object while it lives, and holds the context.
class Membership {
 public:
  Membership(std::shared_ptr<Context> context, Kind kind)
      : context_(std::move(context)), kind_(kind) {
    context_->Made(kind_);
  }
  ~Membership() { context_->Gone(kind_); }
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;
  Context& operator*() const { return *context_; }
  Context* operator->() const { return context_.get(); }
  const std::shared_ptr<Context>& shared() const { return context_; }

 private:
  const std::shared_ptr<Context> context_;
  const Kind kind_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_CUDA_CONTEXT_H_
