// A day of a server's: which requests come when, and what each of them wants.
//
//   # step  prompt  output  temperature  seed
//       0      24      40  greedy           7
//       3     130      16     0.8           8
//
// One request on each line: the step before which it comes, the tokens of its prompt, the tokens
// that it wants, how they are picked, and a number from which its prompt and its draws are made.
// The rest of a line behind # is a remark. Time is counted in steps, so that every way of serving
// the day has the same batches, and tokens can be compared.
//
// Pure and deterministic.
#ifndef GRAPHTREE_TOOLS_DEMO_MODEL_TRACE_H_
#define GRAPHTREE_TOOLS_DEMO_MODEL_TRACE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace graphtree::demo {

struct Request {
  int arrival = 0;  // the step before which it comes
  int prompt = 0;   // tokens
  int output = 0;   // tokens
  float temperature = 0;  // 0: greedy
  int64_t seed = 0;

  int length() const { return prompt + output; }
};

// The token of the prompt at this position.
int PromptToken(const Request& request, int position);

// OK, or what is wrong with a request.
absl::Status CheckRequest(const Request& request);

// The requests in the order of their lines. InvalidArgument, with the line's number, if a line is
// no request, requests do not stand in the order in which they come, or there is none.
absl::StatusOr<std::vector<Request>> ParseTrace(absl::string_view text);
// The inverse of ParseTrace.
std::string TraceText(const std::vector<Request>& requests);

// The built-in trace: a day of about `steps` steps, in which about half of `most_requests` places
// are taken. Some requests draw their tokens, and a few, not the first, have a long prompt.
std::vector<Request> MakeTrace(uint64_t seed, int steps, int most_requests);

}  // namespace graphtree::demo

#endif  // GRAPHTREE_TOOLS_DEMO_MODEL_TRACE_H_
