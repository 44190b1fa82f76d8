// Streams that bodies have forked off their own and whose work could neither be ordered before what
// comes next nor be awaited: nobody knows when that work ends, and what it still writes. A tree
// that has such a stream is lost (run/entrance.h), and is not closed before the work has ended.
//
//   fork --event fails--> wait for an event --fails--> wait for the stream --fails--> stray
//
// Threads: the tree's caller, and whoever closes the tree.
#ifndef GRAPHTREE_GRAPHS_MEMORY_STRAY_FORKS_H_
#define GRAPHTREE_GRAPHS_MEMORY_STRAY_FORKS_H_

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "device/base/insist.h"
#include "device/stream_life.h"

namespace graphtree {

class StrayForks {
 public:
  StrayForks() = default;
  StrayForks(const StrayForks&) = delete;
  StrayForks& operator=(const StrayForks&) = delete;

  // REQUIRES: `why` is a failure.
  void Add(std::shared_ptr<StreamLife> fork, const absl::Status& why) {
    forks_.push_back(std::move(fork));
    why_.Update(why);
  }
  // Why the first one could not be ordered; OK if there never was one.
  const absl::Status& why() const { return why_; }
  const StreamLives& forks() const { return forks_; }
  // The host waits for them, and forgets those whose work is done. A stream that has ended without
  // an event is given up: it cannot be awaited at any later time either.
  absl::Status Await() {
    absl::Status first;
    const auto is_over = [&first](const std::shared_ptr<StreamLife>& fork) {
      const absl::Status done = Insist([&fork] { return fork->Synchronize(); });
      const bool stays = !done.ok() && !fork->has_ended();
      if (stays) first.Update(done);
      return !stays;
    };
    forks_.erase(std::remove_if(forks_.begin(), forks_.end(), is_over), forks_.end());
    return first;
  }

 private:
  StreamLives forks_;
  absl::Status why_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_MEMORY_STRAY_FORKS_H_
