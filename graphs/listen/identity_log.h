// Notes what the ops of a graph are while it is captured: one identity for each op that a launcher
// captures, at the op's place in the graph.
//
//   captured   ingest  norm  attend  (a library's)  copy  (to a kept output's place)
//   place        0      1      2       3, 4          5      6
//   counted      0      1      2       ?             5*
//
// A place is counted, as ops get their ids in the order in which they are captured. Where the body
// may have put others in between (it has asked for the stream) the stream is asked how many there
// are (*). At the end the graph's number of ops must fit: where it does not, what was counted may
// be wrong, and is taken back. So an op that nobody has told is unknown, and no op has the name of
// another one.
//
// Threads: the capture's. Cost: some strings for each op.
#ifndef GRAPHTREE_GRAPHS_LISTEN_IDENTITY_LOG_H_
#define GRAPHTREE_GRAPHS_LISTEN_IDENTITY_LOG_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "device/op_identity.h"
#include "graphs/body/op_watch.h"

namespace graphtree {

// Writes what the op is. `scopes` are those around the launcher's own.
void Identify(const OpLaunch& op, absl::string_view scopes, OpIdentity* identity);

class IdentityLog {
 public:
  static constexpr size_t kNotKnown = ~size_t{0};

  // A section's capture has begun, and the library has captured so many ops that bring inputs in.
  void BeginSection(size_t ingest);
  // The launcher has captured an op. `place` is what was captured before it: kNotKnown if nobody
  // can say, nothing if it follows the op before.
  void Add(OpIdentity&& identity, std::optional<size_t> place);
  // The section's graph has so many ops, of which the library has captured the last `egress`, that
  // take outputs out. `may_have_others`: somebody else may have captured some. `is` says what the
  // graph is for, and gets its ops.
  std::shared_ptr<const GraphIdentity> EndSection(size_t op_count, size_t egress,
                                                  bool may_have_others, GraphIdentity is);

 private:
  static constexpr size_t kUsualOps = 128;  // to make room for at once

  // Says what the op is at a place for which no identity was added.
  void NameNotTold(size_t place, size_t op_count, size_t egress, OpIdentity* identity) const;

  std::vector<OpIdentity> ops_;  // by their places in the graph
  size_t ingest_ = 0;
  size_t next_ = 0;        // place of the op that is captured next, if nobody else captures one
  bool is_wrong_ = false;  // the stream says that there are fewer ops than were counted
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_LISTEN_IDENTITY_LOG_H_
