// The streams that a body has forked off its own, until they join it again.
//
//   own   --a--*---------b----------*--c--     Fork: what the side is given next comes after a
//               \                  /           Join: c comes after the side's work
//   side         *------x------y--*
//
// In a recording the side captures from Fork to Join.
//
// Threads: the one that runs the body. Cost: an event for all forks and joins of a run.
#ifndef GRAPHTREE_GRAPHS_BODY_FORKED_STREAMS_H_
#define GRAPHTREE_GRAPHS_BODY_FORKED_STREAMS_H_

#include <memory>

#include "absl/status/status.h"
#include "device/stream.h"
#include "device/stream_life.h"
#include "graphs/body/body_allocator.h"

namespace graphtree {

class ForkedStreams {
 public:
  // `own` outlives this object.
  explicit ForkedStreams(Stream& own) : own_(own) {}
  ForkedStreams(const ForkedStreams&) = delete;
  ForkedStreams& operator=(const ForkedStreams&) = delete;

  // An error, and nothing is forked, for the body's own stream and one of another device.
  absl::Status Fork(Stream& side);
  // Joins all of them, also after a failure: what is put back then is put back after the work on
  // the sides. A side that cannot be ordered is awaited. If that fails, too, `allocator` is told,
  // the others join all the same, and the first such error is returned. Captured work that is not
  // joined fails its capture and never runs, so nobody waits for it.
  absl::Status Join(bool is_captured, BodyAllocator& allocator);

 private:
  absl::Status MakeOrder();
  absl::Status GoOnAfter(StreamLife& side);
  // Whether the host has waited for the side's work.
  bool HasAwaited(StreamLife& side);

  Stream& own_;
  StreamLives forks_;             // that are not joined yet
  std::unique_ptr<Event> order_;  // of forks and joins; null: none yet
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_BODY_FORKED_STREAMS_H_
