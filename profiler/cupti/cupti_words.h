// What CUPTI's codes mean for whoever wants to profile, and what can be done.
//
// Pure.
#ifndef GRAPHTREE_PROFILER_CUPTI_CUPTI_WORDS_H_
#define GRAPHTREE_PROFILER_CUPTI_CUPTI_WORDS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace graphtree::cupti {

// "cuptiSubscribe: another tool has CUPTI (code 39, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS...): ...".
// `name` is what CUPTI calls the code. OK for 0.
absl::Status CuptiError(absl::string_view call, int code, absl::string_view name);

// The one that says who has CUPTI; `holder` may be empty.
absl::Status HeldError(absl::string_view call, absl::string_view holder);

// Code 39, of which the two above are one.
inline constexpr int kMultipleSubscribers = 39;

// "13.0" for 130001, "12.9" for 27; "before 12.0" for what is older.
std::string VersionWords(uint32_t api_version);

// OK if this version can come and go beside graphs.
absl::Status CheckVersion(uint32_t api_version, absl::string_view library);

}  // namespace graphtree::cupti

#endif  // GRAPHTREE_PROFILER_CUPTI_CUPTI_WORDS_H_
