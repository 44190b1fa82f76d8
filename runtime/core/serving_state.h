// The mode that steps are served in, as it may change while other threads serve (serving.h).
//
// Threads: Set by one thread at a time; read by any. A step reads the mode once, when it begins.
#ifndef GRAPHTREE_RUNTIME_CORE_SERVING_STATE_H_
#define GRAPHTREE_RUNTIME_CORE_SERVING_STATE_H_

#include <atomic>
#include <cstdint>

#include "runtime/serving.h"

namespace graphtree {

class ServingState {
 public:
  explicit ServingState(const ServingMode& mode) { Set(mode); }
  ServingState(const ServingState&) = delete;
  ServingState& operator=(const ServingState&) = delete;

  void Set(const ServingMode& mode) {
    absolute_.store(mode.tolerance.absolute, std::memory_order_relaxed);
    relative_.store(mode.tolerance.relative, std::memory_order_relaxed);
    word_.store(uint64_t{mode.parity_every} << 8 | static_cast<uint64_t>(mode.serving),
                std::memory_order_release);
  }
  ServingMode get() const {
    const uint64_t word = word_.load(std::memory_order_acquire);
    return {static_cast<Serving>(word & 0xff), static_cast<uint32_t>(word >> 8), tolerance()};
  }
  Serving serving() const {
    return static_cast<Serving>(word_.load(std::memory_order_relaxed) & 0xff);
  }
  uint32_t parity_every() const {
    return static_cast<uint32_t>(word_.load(std::memory_order_relaxed) >> 8);
  }
  Tolerance tolerance() const {
    return {absolute_.load(std::memory_order_relaxed), relative_.load(std::memory_order_relaxed)};
  }

 private:
  std::atomic<uint64_t> word_{0};
  std::atomic<double> absolute_{0};
  std::atomic<double> relative_{0};
};

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_CORE_SERVING_STATE_H_
