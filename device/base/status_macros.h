// Two macros that return a failure to the caller's caller. Debian's Abseil has none.
//
//   GRAPHTREE_RETURN_IF_ERROR(stream.Synchronize());
//   GRAPHTREE_ASSIGN_OR_RETURN(AddressRange range, memory.Reserve(bytes));
#ifndef GRAPHTREE_DEVICE_BASE_STATUS_MACROS_H_
#define GRAPHTREE_DEVICE_BASE_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define GRAPHTREE_RETURN_IF_ERROR(expression)              \
  do {                                                     \
    absl::Status graphtree_status = (expression);          \
    if (!graphtree_status.ok()) return graphtree_status;   \
  } while (false)

#define GRAPHTREE_STATUS_JOIN_(a, b) a##b
#define GRAPHTREE_STATUS_JOIN(a, b) GRAPHTREE_STATUS_JOIN_(a, b)

#define GRAPHTREE_ASSIGN_OR_RETURN(target, expression) \
  GRAPHTREE_ASSIGN_OR_RETURN_(GRAPHTREE_STATUS_JOIN(graphtree_or_, __LINE__), target, expression)

#define GRAPHTREE_ASSIGN_OR_RETURN_(holder, target, expression) \
  auto holder = (expression);                                   \
  if (!holder.ok()) return std::move(holder).status();          \
  target = std::move(holder).value()

#endif  // GRAPHTREE_DEVICE_BASE_STATUS_MACROS_H_
