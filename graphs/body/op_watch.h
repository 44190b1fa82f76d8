// An OpWatch stands around each launch that a launcher makes: it may refuse the launch, and hears
// how the launch went.
//
//   Launcher::Launch --> checks, AccessObserver --> Before --> the stream --> After
//
// It is apart from the AccessObserver, who is told what ops access: a watch sees the op as a whole,
// right before and right after it is put on the stream, in every kind of run.
//
// Threads: the body's thread. Cost: without a watch, one branch for each launch.
#ifndef GRAPHTREE_GRAPHS_BODY_OP_WATCH_H_
#define GRAPHTREE_GRAPHS_BODY_OP_WATCH_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "device/graph.h"
#include "device/kernel.h"
#include "device/stream.h"

namespace graphtree {

class Arg;

// Valid during the watch's call.
struct OpLaunch {
  OpKind kind = OpKind::kOther;
  absl::string_view name;
  const Kernel* kernel = nullptr;      // of a kernel
  const LaunchShape* shape = nullptr;  // likewise
  absl::Span<const Arg> arguments = {};  // a copy has its target first, and then its source
  absl::string_view scope = {};  // of the launcher, the inner first
  Stream* stream = nullptr;
  bool is_nothing = false;  // a copy or fill of no bytes: no op comes of it
  bool may_follow_others = false;  // the body may have put ops on the stream without the launcher
};

class OpWatch {
 public:
  virtual ~OpWatch() = default;
  // An error stops the launch: the launcher fails with it, and After is not called.
  virtual absl::Status Before(const OpLaunch& op) = 0;
  virtual void After(const OpLaunch& op, const absl::Status& launched) = 0;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_BODY_OP_WATCH_H_
