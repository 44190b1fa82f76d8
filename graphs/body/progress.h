// How far a body has come, and what failed in it. Errors are sticky: the first one stays.
//
//   Passed("norm")   Passed("attend")   FailAt("sample", ...)    at op 3 of its body ('sample')
//                                       Fail(...)                after op 2 of its body ('attend')
//
// Threads: the one that runs the body.
#ifndef GRAPHTREE_GRAPHS_BODY_PROGRESS_H_
#define GRAPHTREE_GRAPHS_BODY_PROGRESS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace graphtree {

class BodyProgress {
 public:
  bool ok() const { return status_.ok(); }
  const absl::Status& status() const { return status_; }
  // OK changes nothing.
  void Fail(absl::Status status);
  // The op could not be launched.
  void FailAt(absl::string_view op, absl::Status status);
  // The op was launched.
  void Passed(absl::string_view op);
  // Ops that were launched so far.
  uint64_t ops() const { return ops_; }
  // Where a body that failed had come to: "at op 3 of its body ('attend')" if that op could not be
  // launched, "after op 3 of its body ('attend')" if something else failed after it.
  std::string Place() const;

 private:
  uint64_t ops_ = 0;
  std::string last_op_;
  std::string failed_op_;  // that could not be launched; else empty
  absl::Status status_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_BODY_PROGRESS_H_
