// Whether a sanitizer watches this build.
//
//   for (uint32_t size = 1; size <= 2000; size += kSanitized ? 7 : 1) { ... }
//
// A sanitizer makes a test five to ten times slower, and what a sanitizer finds, it finds in any
// part of the work. So tests that repeat something thousands of times repeat it less often there;
// the plain build does all of it.
#ifndef GRAPHTREE_DEVICE_BASE_SANITIZED_H_
#define GRAPHTREE_DEVICE_BASE_SANITIZED_H_

#include "absl/base/config.h"

namespace graphtree {

#if defined(ABSL_HAVE_ADDRESS_SANITIZER) || defined(ABSL_HAVE_THREAD_SANITIZER)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_BASE_SANITIZED_H_
