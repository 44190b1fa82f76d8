// Tries a call several times: one that failed once may work the next time, and nobody would make up
// for it later.
//
//   Insist([&] { return stream.Synchronize(); })   // OK if one of the tries is, or the last error
#ifndef GRAPHTREE_DEVICE_BASE_INSIST_H_
#define GRAPHTREE_DEVICE_BASE_INSIST_H_

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace graphtree {

inline absl::Status Insist(absl::FunctionRef<absl::Status()> call) {
  constexpr int kAttempts = 3;
  absl::Status status = call();
  for (int more = 1; more < kAttempts && !status.ok(); ++more) status = call();
  return status;
}

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_BASE_INSIST_H_
