// Reads, writes and makes traces.
#include "tools/demo_model/trace.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "device/base/status_macros.h"
#include "graphs/random/philox.h"
#include "tools/demo_model/kernels/dims.h"

namespace graphtree::demo {
namespace {

constexpr int kMostArrival = 1'000'000'000;
constexpr float kMostTemperature = 100;
constexpr const char* kForm = "STEP PROMPT OUTPUT greedy|TEMPERATURE SEED";

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

absl::StatusOr<Request> ParseLine(absl::string_view line) {
  const std::vector<absl::string_view> words =
      absl::StrSplit(line, absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
  if (words.size() != 5) {
    return absl::InvalidArgumentError(
        absl::StrCat(words.size(), " words where 5 belong: ", kForm));
  }
  Request request;
  const auto number = [](absl::string_view word, auto* value) {
    if (absl::SimpleAtoi(word, value)) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("\"", word, "\" is no whole number: ", kForm));
  };
  GRAPHTREE_RETURN_IF_ERROR(number(words[0], &request.arrival));
  GRAPHTREE_RETURN_IF_ERROR(number(words[1], &request.prompt));
  GRAPHTREE_RETURN_IF_ERROR(number(words[2], &request.output));
  if (words[3] != "greedy" && !absl::SimpleAtof(words[3], &request.temperature)) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", words[3], "\" is neither \"greedy\" nor a temperature: ", kForm));
  }
  GRAPHTREE_RETURN_IF_ERROR(number(words[4], &request.seed));
  GRAPHTREE_RETURN_IF_ERROR(CheckRequest(request));
  return request;
}

// The short text where it is exact; nine digits always are.
std::string TemperatureText(float temperature) {
  if (temperature == 0) return "greedy";
  std::string text = absl::StrFormat("%g", temperature);
  float read = 0;
  if (absl::SimpleAtof(text, &read) && read == temperature) return text;
  return absl::StrFormat("%.9g", temperature);
}

}  // namespace

int PromptToken(const Request& request, int position) {
  // Other numbers than those from which the request draws its tokens.
  return static_cast<int>(RandomWord(~static_cast<uint64_t>(request.seed), position) % kVocabulary);
}

absl::Status CheckRequest(const Request& request) {
  const auto refuse = [](auto... words) {
    return absl::InvalidArgumentError(absl::StrCat(words...));
  };
  if (request.arrival < 0 || request.arrival > kMostArrival) {
    return refuse("a request comes at step ", request.arrival, "; steps count from 0 to ",
                  kMostArrival);
  }
  if (request.prompt < 1) return refuse("a prompt of ", request.prompt, " tokens; at least 1");
  if (request.output < 1) return refuse("an output of ", request.output, " tokens; at least 1");
  if (int64_t{request.prompt} + request.output > kPositions) {
    return refuse("a prompt of ", request.prompt, " and an output of ", request.output,
                  " tokens; the model reads at most ", kPositions, " together");
  }
  if (!(request.temperature >= 0 && request.temperature <= kMostTemperature)) {
    return refuse("a temperature of ", request.temperature, "; from 0 to ", kMostTemperature);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Request>> ParseTrace(absl::string_view text) {
  std::vector<Request> requests;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = line.substr(0, line.find('#'));
    if (line.find_first_not_of(" \t\r") == absl::string_view::npos) continue;
    absl::StatusOr<Request> request = ParseLine(line);
    if (!request.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", number, ": ", request.status().message()));
    }
    if (!requests.empty() && request->arrival < requests.back().arrival) {
      return absl::InvalidArgumentError(absl::StrCat(
          "line ", number, ": a request of step ", request->arrival, " behind one of step ",
          requests.back().arrival, "; they stand in the order in which they come"));
    }
    requests.push_back(*request);
  }
  if (requests.empty()) return absl::InvalidArgumentError("there is no request in it");
  return requests;
}

std::string TraceText(const std::vector<Request>& requests) {
  std::string text = "# step  prompt  output  temperature  seed\n";
  for (const Request& request : requests) {
    absl::StrAppendFormat(&text, "%6d  %6d  %6d  %11s  %4d\n", request.arrival, request.prompt,
                          request.output, TemperatureText(request.temperature), request.seed);
  }
  return text;
}

std::vector<Request> MakeTrace(uint64_t seed, int steps, int most_requests) {
  Draws draws(seed);
  std::vector<Request> requests;
  // A request runs for about 28 steps, and one comes in each `gap` of them: half of the places are
  // taken.
  const int gap = std::max(1, 56 / most_requests);
  int arrival = 0;
  while (arrival < std::max(1, steps - 30)) {
    Request request;
    request.arrival = arrival;
    const bool is_long = draws.Between(0, 15) == 0 && !requests.empty();
    request.prompt = is_long ? draws.Between(130, 180) : draws.Between(3, 40);
    request.output = std::min(draws.Between(8, 48), std::max(1, steps - arrival));
    request.temperature = draws.Between(0, 3) == 0 ? 0.8f : 0.0f;
    request.seed = draws.Between(0, 999'999);
    requests.push_back(request);
    // Some come together.
    if (draws.Between(0, 2) > 0) arrival += draws.Between(1, 3 * gap - 1);
  }
  return requests;
}

}  // namespace graphtree::demo
