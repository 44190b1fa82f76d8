// Lists the rungs, and cuts.
#include "tools/demo_model/ladder.h"

#include <algorithm>
#include <utility>

#include "device/base/check.h"
#include "device/executable_bytes.h"
#include "tools/demo_model/model.h"
#include "tools/demo_model/scheduler.h"

namespace graphtree::demo {
namespace {

class Ladder {
 public:
  explicit Ladder(int most_requests) : most_requests_(most_requests) {}

  void Decode(int requests, int context) {
    Add({false, {.tokens = requests, .requests = requests, .context = context}});
  }
  // Sizes first * 1, first * 2, ... below the most, the largest first.
  void DecodeDoubling(int first, int context) {
    std::vector<int> sizes;
    for (int size = first; size < most_requests_; size *= 2) sizes.push_back(size);
    for (auto size = sizes.rbegin(); size != sizes.rend(); ++size) Decode(*size, context);
  }
  void Prefill(int tokens) {
    const int requests = std::min(kPrefillRequests, most_requests_);
    Add({true, {.tokens = tokens, .requests = requests, .context = kShortContext}});
  }

  std::vector<Rung> Take(size_t most) && {
    if (rungs_.size() > most) rungs_.resize(most);
    return std::move(rungs_);
  }

 private:
  void Add(const Rung& rung) { rungs_.push_back(rung); }

  const int most_requests_;
  std::vector<Rung> rungs_;
};

}  // namespace

// The runtime's graph has one op more, which brings the inputs in.
uint64_t RungBytes() { return ExecutableBytes(1 + kStepLaunches); }

std::vector<Rung> LadderUnder(uint64_t budget_bytes, int most_requests) {
  GRAPHTREE_CHECK(most_requests >= 1 && most_requests <= kMostRequests)
      << most_requests << " requests";
  Ladder ladder(most_requests);
  ladder.Decode(most_requests, kLongContext);
  ladder.Prefill(kPrefillTokens);
  ladder.Decode(most_requests, kShortContext);
  ladder.DecodeDoubling(1, kShortContext);
  for (int tokens : {64, 32, 16}) ladder.Prefill(tokens);
  ladder.DecodeDoubling(1, kLongContext);
  ladder.DecodeDoubling(3, kShortContext);
  return std::move(ladder).Take(budget_bytes / RungBytes());
}

}  // namespace graphtree::demo
