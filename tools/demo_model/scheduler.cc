// Draws the requests and shares out the steps.
#include "tools/demo_model/scheduler.h"

#include <algorithm>
#include <utility>

#include "device/base/check.h"
#include "graphs/random/philox.h"
#include "tools/demo_model/kernels/dims.h"

namespace graphtree::demo {
namespace {

// Numbers in order, as from a stream.
class Draws {
 public:
  explicit Draws(uint64_t seed) : seed_(seed) {}
  int Between(int low, int high) {
    return low + static_cast<int>(RandomWord(seed_, next_++) % (high - low + 1));
  }

 private:
  const uint64_t seed_;
  uint64_t next_ = 0;
};

}  // namespace

std::vector<Request> MakeRequests(uint64_t seed, int steps, int most_rows) {
  Draws draws(seed);
  std::vector<Request> requests;
  // A request runs for about 30 steps, so that this many keep half of the rows busy.
  const int gap = std::max(1, 60 / most_rows);
  for (int arrival = 0; arrival < std::max(1, steps - 30); arrival += draws.Between(1, 2 * gap)) {
    Request request;
    request.arrival = arrival;
    request.prompt.resize(draws.Between(2, 12));
    for (int& token : request.prompt) token = draws.Between(0, kVocabulary - 1);
    request.wanted = std::min(draws.Between(8, 40), std::max(1, steps - arrival));
    request.temperature = draws.Between(0, 3) == 0 ? 0.8f : 0.0f;
    requests.push_back(std::move(request));
  }
  return requests;
}

Scheduler::Scheduler(std::vector<Request> requests, int most_rows)
    : waiting_(requests.begin(), requests.end()) {
  GRAPHTREE_CHECK(most_rows >= 1 && most_rows <= kSlots) << most_rows << " rows";
  for (const Request& request : waiting_) {
    const size_t length = request.prompt.size() + request.wanted;
    GRAPHTREE_CHECK(!request.prompt.empty() && request.wanted > 0 && length <= kPositions)
        << "a request of " << request.prompt.size() << " + " << request.wanted << " tokens";
  }
  for (int slot = most_rows; slot-- > 0;) free_slots_.push_back(slot);
}

void Scheduler::Admit() {
  if (running_.empty() && !waiting_.empty()) clock_ = std::max(clock_, waiting_.front().arrival);
  while (!waiting_.empty() && waiting_.front().arrival <= clock_ && !free_slots_.empty()) {
    running_.push_back({std::move(waiting_.front()), free_slots_.back()});
    waiting_.pop_front();
    free_slots_.pop_back();
  }
}

bool Scheduler::Next(Batch* batch) {
  Admit();
  *batch = Batch();
  for (const Running& running : running_) {
    const std::vector<int>& prompt = running.request.prompt;
    const size_t position = running.position;
    batch->tokens.push_back(position < prompt.size() ? prompt[position] : running.last_picked);
    batch->positions.push_back(running.position);
    batch->slots.push_back(running.slot);
    batch->temperatures.push_back(running.request.temperature);
    if (running.reads_prompt()) continue;
    batch->picks = true;
    batch->samples |= running.request.temperature > 0;
  }
  return !running_.empty();
}

void Scheduler::Take(const std::vector<int>& picked) {
  ++clock_;
  ++step_;
  for (size_t row = 0; row < running_.size(); ++row) {
    Running& running = running_[row];
    if (!running.reads_prompt()) {
      GRAPHTREE_CHECK(row < picked.size()) << "row " << row << " of " << picked.size();
      running.last_picked = picked[row];
      ++running.picked;
      ++generated_;
    }
    ++running.position;
    if (running.picked == running.request.wanted) free_slots_.push_back(running.slot);
  }
  const auto done = [](const Running& r) { return r.picked == r.request.wanted; };
  running_.erase(std::remove_if(running_.begin(), running_.end(), done), running_.end());
}

}  // namespace graphtree::demo
