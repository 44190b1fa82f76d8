// One rank of a server with two, in a process of its own: it votes over a socket before each step,
// runs what both agreed on, and compares its history with the other's after each step.
//
//   rank 0                                 rank 1
//   MakeVote  --- 16 bytes --------------> Agree
//   Agree    <--- 16 bytes --------------- MakeVote
//   Begin, Stage, Run                      Begin, Stage, Run
//   count, digest <----------------------> count, digest        they differ: both histories travel
//
// A rank that gets no answer in time says so and ends; and it ends whatever happens once its time
// is up, so that nobody who waits for it can hang.
#ifndef GRAPHTREE_TESTS_RUNTIME_SOCKET_RANK_H_
#define GRAPHTREE_TESTS_RUNTIME_SOCKET_RANK_H_

#include <cstdint>
#include <string>

namespace graphtree {

constexpr unsigned kRankSeconds = 100;

struct RankOptions {
  uint32_t rank = 0;
  int socket = -1;
  std::string device = "host";
  uint32_t steps = 300;
  // In this step the rank goes its own way; steps: never.
  uint32_t parts_at = 300;
};

// The process's exit code: 0 if all was as it should be. What it has to say goes to stdout: the
// figures of its steps, and both histories if the ranks parted.
int RunRank(const RankOptions& options);

}  // namespace graphtree

#endif  // GRAPHTREE_TESTS_RUNTIME_SOCKET_RANK_H_
