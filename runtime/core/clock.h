// The runtime's clock: the caller's (RuntimeOptions::clock_ns), or the steady one.
#ifndef GRAPHTREE_RUNTIME_CORE_CLOCK_H_
#define GRAPHTREE_RUNTIME_CORE_CLOCK_H_

#include <chrono>
#include <cstdint>

#include "runtime/runtime_options.h"

namespace graphtree {

inline int64_t NowNs(const RuntimeOptions& options) {
  if (options.clock_ns) return options.clock_ns();
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_CORE_CLOCK_H_
