// A small server's day: requests come, share steps while they run, and go.
//
//   step     0    1    2    3    4    5    6
//   slot 0   A*   A*   A    A    A    B*   B*      * the prompt is read, nothing is picked
//   slot 1        C*   C*   C    C    C    C
//   rows     1    2    2    2    2    2    2
//
// Each step takes one token of every running request: the next one of its prompt, or the one that
// was picked for it in the step before. So the number of rows changes as requests come and go,
// steps in which all requests read their prompts pick nothing, and steps with a request that has a
// temperature draw random numbers: the calls take different paths.
//
// Pure and deterministic: the same seed and the same picked tokens give the same day.
#ifndef GRAPHTREE_TOOLS_DEMO_MODEL_SCHEDULER_H_
#define GRAPHTREE_TOOLS_DEMO_MODEL_SCHEDULER_H_

#include <cstdint>
#include <deque>
#include <vector>

namespace graphtree::demo {

struct Request {
  int arrival = 0;  // the step before which it comes
  std::vector<int> prompt;
  int wanted = 0;  // tokens to generate
  float temperature = 0;
};

// The requests of a day that lasts about `steps` steps.
std::vector<Request> MakeRequests(uint64_t seed, int steps, int most_rows);

// What one step works on: one row for each running request.
struct Batch {
  std::vector<int> tokens;
  std::vector<int> positions;
  std::vector<int> slots;
  std::vector<float> temperatures;
  bool picks = false;    // some row needs its next token
  bool samples = false;  // ... and one of those draws it at random

  int rows() const { return static_cast<int>(tokens.size()); }
};

class Scheduler {
 public:
  Scheduler(std::vector<Request> requests, int most_rows);

  // False when all requests are done. Steps without a running request are skipped.
  bool Next(Batch* batch);
  // What was picked for the rows of the last batch. REQUIRES: as many as its rows, if it picks.
  void Take(const std::vector<int>& picked);

  int steps() const { return step_; }
  int generated() const { return generated_; }

 private:
  struct Running {
    Request request;
    int slot;
    int position = 0;     // of the token that goes next
    int last_picked = 0;
    int picked = 0;

    bool reads_prompt() const { return position + 1 < static_cast<int>(request.prompt.size()); }
  };

  void Admit();

  std::deque<Request> waiting_;
  std::vector<Running> running_;
  std::vector<int> free_slots_;
  int clock_ = 0;
  int step_ = 0;
  int generated_ = 0;
};

}  // namespace graphtree::demo

#endif  // GRAPHTREE_TOOLS_DEMO_MODEL_SCHEDULER_H_
