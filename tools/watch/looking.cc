// A loop of looks.
#include "tools/watch/looking.h"

#include <unistd.h>

#include <chrono>
#include <cmath>
#include <ctime>
#include <iostream>
#include <optional>
#include <ostream>
#include <thread>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "device/base/status_macros.h"
#include "tools/cli/registry.h"
#include "tools/memory/text.h"
#include "tools/watch/door_client.h"

namespace graphtree::watch {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kEvery = 1;
constexpr double kLeastEvery = 0.05;
constexpr double kMostEvery = 86400;

absl::StatusOr<Samples> SamplesOf(const std::string& path, const std::string& target) {
  GRAPHTREE_ASSIGN_OR_RETURN(const std::string text, PageOf(path, target));
  return Samples::Parse(text);
}

// The server is there, and says that it cannot answer now.
bool IsBusy(const absl::Status& status) { return absl::IsAborted(status); }

}  // namespace

cli::Operand SocketOperand() {
  return {.name = "SOCKET", .help = "The path of the server's door: RuntimeOptions::door, or "
                                    "GRAPHTREE_DOOR in its environment."};
}

std::vector<cli::Option> LookOptions() {
  return {{.name = "--every",
           .kind = cli::ValueKind::kNumber,
           .value_name = "SECONDS",
           .help = "Between two looks; 1."},
          {.name = "--count",
           .kind = cli::ValueKind::kInteger,
           .value_name = "N",
           .help = "Stop after so many."}};
}

absl::StatusOr<std::string> PageOf(const std::string& path, absl::string_view target) {
  GRAPHTREE_ASSIGN_OR_RETURN(DoorAnswer answer, AskDoor(path, target));
  if (answer.code == 200) return std::move(answer.body);
  const std::string words =
      memory::Safe(absl::StripSuffix(absl::string_view(answer.body).substr(0, 2000), "\n"));
  if (answer.code == 503) return absl::AbortedError(words);
  return absl::InvalidArgumentError(words);
}

int Look(const Looks& looks, const cli::Arguments& arguments, cli::Console& console) {
  const std::string path = arguments.OperandAt(0);
  const double every = arguments.Number("--every", kEvery);
  const int64_t count = arguments.Integer("--count", static_cast<int64_t>(looks.count));
  if (!(every >= kLeastEvery && every <= kMostEvery)) {
    console.err << "graphtree " << looks.verb << ": --every " << every << " is not between "
                << kLeastEvery << " and " << kMostEvery << " seconds\n";
    return cli::kWrongUse;
  }
  if (count < 0 || (count == 0 && arguments.Has("--count"))) {
    console.err << "graphtree " << looks.verb << ": --count " << count << " is not 1 or more\n";
    return cli::kWrongUse;
  }
  const auto pause = std::chrono::nanoseconds(std::llround(every * 1e9));
  std::optional<Samples> before;
  Clock::time_point last = Clock::now();
  int64_t shown = 0;
  bool is_first = true;
  for (Clock::time_point next = Clock::now();; next += pause) {
    std::this_thread::sleep_until(next);
    absl::StatusOr<Samples> now = SamplesOf(path, looks.target);
    const Clock::time_point at = Clock::now();
    if (next + pause < at) next = at;  // it took its time: what was missed is not made up for
    if (!now.ok()) {
      if (!IsBusy(now.status()) && is_first) {
        return cli::BadInput(console, looks.verb, now.status());
      }
      console.err << (IsBusy(now.status()) ? ClockText() + " " : "") << now.status().message()
                  << "\n";
      if (!IsBusy(now.status())) return shown > 0 ? cli::kFine : cli::kBadInput;
      // A server that hangs is asked as often as one that was to be shown so often.
      if (count != 0 && ++shown == count) return cli::kFoundSomething;
      continue;
    }
    if (!is_first || looks.shows_first) {
      looks.show(before.has_value() ? &*before : nullptr, *now,
                 std::chrono::duration<double>(at - last).count());
      console.out << std::flush;
      if (!console.out || (count != 0 && ++shown == count)) return cli::kFine;
      if (count == 0) shown = 1;
    }
    is_first = false;
    before = *std::move(now);
    last = at;
  }
}

bool IsTerminal(const std::ostream& out) {
  return &out == &std::cout && isatty(STDOUT_FILENO) == 1;
}

std::string ClockText() {
  const std::time_t now = std::time(nullptr);
  std::tm parts = {};
  localtime_r(&now, &parts);
  return absl::StrFormat("%02d:%02d:%02d", parts.tm_hour, parts.tm_min, parts.tm_sec);
}

}  // namespace graphtree::watch
