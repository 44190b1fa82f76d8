// Continuous batching: requests come, share steps while they run, and go.
//
//   step        0     1    2    3     4    5    6
//   request A   A A A A    A    .     A    A            3 tokens of prompt; 5 are picked
//   request B                   B B   B    B    B       comes before step 3
//               prefill         prefill
//
// A step either reads prompts or decodes. Prompts come first: requests that wait, have a place, and
// find room in the cache are read together, each prompt whole, and every one of them gets its first
// token from that step. In all other steps each running request gets its next token.
//
// A request gets the blocks of the cache that it will ever need when it starts, and gives them back
// when it ends; who comes next gets those that were given back last.
//
// Pure and deterministic: which batches there are depends on the trace alone, and not on tokens.
#ifndef GRAPHTREE_TOOLS_DEMO_MODEL_SCHEDULER_H_
#define GRAPHTREE_TOOLS_DEMO_MODEL_SCHEDULER_H_

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

#include "tools/demo_model/trace.h"

namespace graphtree::demo {

// What one step works on, as it goes to the device. Request r has the ids [starts[r], starts[r+1]).
struct Batch {
  bool is_prefill = false;
  std::vector<int64_t> ids;
  std::vector<int> starts;   // one more than requests
  std::vector<int> lengths;  // tokens of the request, with those of this step
  std::vector<int> tables;   // kTableBlocks for each request
  std::vector<float> temperatures;
  std::vector<int64_t> seeds;
  std::vector<int> numbers;  // of the requests in the trace

  int tokens() const { return static_cast<int>(ids.size()); }
  int requests() const { return static_cast<int>(lengths.size()); }
  int context() const { return *std::max_element(lengths.begin(), lengths.end()); }
};

// Of one step that reads prompts. A longer prompt is read alone.
inline constexpr int kPrefillRequests = 4;
inline constexpr int kPrefillTokens = 128;

class Scheduler {
 public:
  // REQUIRES: CheckRequest of each; 1 <= most_requests <= kMostRequests.
  Scheduler(const std::vector<Request>& requests, int most_requests);

  // False when all requests are done. Time in which nothing runs is skipped.
  bool Next(Batch* batch);
  // What was picked for the requests of the last batch, in its order. REQUIRES: as many.
  void Take(const std::vector<int>& picked);

 private:
  struct Running {
    int number;
    Request request;
    std::vector<int> blocks;
    int picked = 0;
    int last_picked = 0;
  };

  // Requests that are read in this step; running_ from `first` on.
  size_t Admit();
  void Append(const Running& running, bool is_prefill, Batch* batch) const;

  const size_t most_requests_;
  std::deque<Running> waiting_;
  std::vector<Running> running_;
  std::vector<int> free_blocks_;
  size_t first_ = 0;  // of running_, in the last batch
  int clock_ = 0;
};

}  // namespace graphtree::demo

#endif  // GRAPHTREE_TOOLS_DEMO_MODEL_SCHEDULER_H_
