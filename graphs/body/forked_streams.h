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

namespace graphtree {

class ForkedStreams {
 public:
  // `own` outlives this object.
  explicit ForkedStreams(Stream& own) : own_(own) {}
  ForkedStreams(const ForkedStreams&) = delete;
  ForkedStreams& operator=(const ForkedStreams&) = delete;

  // An error, and nothing is forked, for the body's own stream and one of another device.
  absl::Status Fork(Stream& side);
  // Joins all of them. If a side can neither be ordered nor awaited, the others join all the same,
  // and the first such error is returned.
  absl::Status Join();

 private:
  absl::Status MakeOrder();
  absl::Status GoOnAfter(StreamLife& side);

  Stream& own_;
  StreamLives forks_;             // that are not joined yet
  std::unique_ptr<Event> order_;  // of forks and joins; null: none yet
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_BODY_FORKED_STREAMS_H_
