// CUPTI's functions that are called, found in a loaded library.
//
// Threads: the table is made once and never changes.
#ifndef GRAPHTREE_PROFILER_CUPTI_CUPTI_FUNCTIONS_H_
#define GRAPHTREE_PROFILER_CUPTI_CUPTI_FUNCTIONS_H_

#include <cupti.h>

#include <string>

#include "absl/status/statusor.h"

// FUNCTION(name without "cupti")
#define GRAPHTREE_CUPTI_FUNCTIONS(FUNCTION)   \
  FUNCTION(ActivityDisable)                   \
  FUNCTION(ActivityEnable)                    \
  FUNCTION(ActivityFlushAll)                  \
  FUNCTION(ActivityGetNextRecord)             \
  FUNCTION(ActivityGetNumDroppedRecords)      \
  FUNCTION(ActivityRegisterCallbacks)         \
  FUNCTION(EnableCallback)                    \
  FUNCTION(Finalize)                          \
  FUNCTION(GetGraphExecId)                    \
  FUNCTION(GetResultString)                   \
  FUNCTION(GetStreamIdEx)                     \
  FUNCTION(GetTimestamp)                      \
  FUNCTION(GetVersion)                        \
  FUNCTION(Subscribe)                         \
  FUNCTION(Unsubscribe)

namespace graphtree::cupti {

struct CuptiFunctions {
#define GRAPHTREE_CUPTI_MEMBER(name) decltype(&cupti##name) name = nullptr;
  GRAPHTREE_CUPTI_FUNCTIONS(GRAPHTREE_CUPTI_MEMBER)
#undef GRAPHTREE_CUPTI_MEMBER
#if CUPTI_API_VERSION >= 130000
  decltype(&cuptiSubscribe_v2) Subscribe_v2 = nullptr;  // null in an older library
#endif
  uint32_t version = 0;
  std::string path;
};

// Loads the library at the first of the places where it is, and checks its version.
absl::StatusOr<CuptiFunctions> FindCupti(const std::string& library, const std::string& cuda_home);

}  // namespace graphtree::cupti

#endif  // GRAPHTREE_PROFILER_CUPTI_CUPTI_FUNCTIONS_H_
