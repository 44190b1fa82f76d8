// What tests say about a Status: that it is fine, or that it failed with a code and a sentence.
#ifndef GRAPHTREE_DEVICE_BASE_STATUS_MATCHERS_H_
#define GRAPHTREE_DEVICE_BASE_STATUS_MATCHERS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"

namespace graphtree {

inline const absl::Status& StatusOf(const absl::Status& status) { return status; }
template <typename T>
const absl::Status& StatusOf(const absl::StatusOr<T>& or_value) {
  return or_value.status();
}

// EXPECT_THAT(memory.Release(range), IsOk());
MATCHER(IsOk, "is OK") {
  *result_listener << StatusOf(arg).ToString();
  return StatusOf(arg).ok();
}

// EXPECT_THAT(memory.Release(range), FailsWith(absl::StatusCode::kFailedPrecondition, "mapped"));
MATCHER_P2(FailsWith, code, text, "fails with the code and mentions the text") {
  const absl::Status& status = StatusOf(arg);
  *result_listener << status.ToString();
  return status.code() == code && std::string(status.message()).find(text) != std::string::npos;
}

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_BASE_STATUS_MATCHERS_H_
