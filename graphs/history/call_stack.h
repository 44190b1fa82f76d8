// Where calls came from: the program's own stack is taken when something happens, and written out
// when an error needs it.
//
//   Here()          a walk over the frames, microseconds   ->  an id; equal stacks share one
//   Told(what, id)  symbols are looked up only now         ->  lines
//
//     made by the call at:
//       App::Decode() (server+0x73bf)       a function that the program names, and where it is
//       main (server+0x7189)
//
// Frames of the library's inside are left out (stack_marks.h), and those that called main. A
// stripped program names no functions: then all frames are there, each with its file and the offset
// in it, which `addr2line -f -e` resolves with an unstripped one.
//
// Frames are found by the tables that every binary has for unwinding, so no frame pointers are
// needed. For checked mode only. At most `most_stacks` different stacks are kept; later ones get id
// 0.
//
// Threads: any, at the same time.
#ifndef GRAPHTREE_GRAPHS_HISTORY_CALL_STACK_H_
#define GRAPHTREE_GRAPHS_HISTORY_CALL_STACK_H_

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"

namespace graphtree {

// 0: no stack was taken.
using StackId = uint32_t;

// Where a body launched an op.
struct OpSite {
  std::string op;
  StackId at = 0;
};

class CallStacks {
 public:
  static constexpr size_t kMostFrames = 32;
  static constexpr size_t kDefaultMostStacks = 4096;

  explicit CallStacks(size_t most_stacks = kDefaultMostStacks) : most_stacks_(most_stacks) {}
  CallStacks(const CallStacks&) = delete;
  CallStacks& operator=(const CallStacks&) = delete;

  // The id of the calling thread's stack.
  StackId Here();
  // "\n  WHAT:" and a line for each frame, innermost first; empty for 0.
  std::string Told(absl::string_view what, StackId id) const;
  // "\n  'attend' was launched at:" and its frames, for each.
  std::string Told(const std::vector<OpSite>& sites) const;

  size_t size() const;

 private:
  using Frames = std::vector<const void*>;

  Frames FramesOf(StackId id) const;

  const size_t most_stacks_;
  mutable std::mutex mutex_;
  std::vector<Frames> stacks_;                 // guarded by mutex_; id 1 is the first
  absl::flat_hash_map<Frames, StackId> known_;  // guarded by mutex_
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_HISTORY_CALL_STACK_H_
