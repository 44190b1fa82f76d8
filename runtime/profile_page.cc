// Reads what is asked for, takes a window, writes it.
#include "runtime/profile_page.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "profiler/profile_options.h"
#include "profiler/profile_window.h"
#include "profiler/trace/json_trace_writer.h"
#include "profiler/trace/sink.h"
#include "profiler/trace/store.h"
#include "profiler/trace/tables.h"
#include "runtime/pool_counters.h"

namespace graphtree {
namespace {

constexpr uint64_t kDefaultReplays = 100;
constexpr uint64_t kMostReplays = 1'000'000;
constexpr uint64_t kDefaultMs = 1'000;
constexpr uint64_t kMostMs = 3'000;  // the door gives a page five seconds
constexpr size_t kMostRecords = 400'000;

// From 1 to `most`; none for anything else.
std::optional<uint64_t> Positive(const HttpRequest& request, absl::string_view name,
                                 uint64_t fallback, uint64_t most) {
  const absl::string_view text = request.Find(name);
  if (text.empty()) return fallback;
  uint64_t number = 0;
  if (!absl::SimpleAtoi(text, &number) || number == 0 || number > most) return std::nullopt;
  return number;
}

}  // namespace

HttpResponse ProfilePage(Device& device, const std::function<Metrics()>& metrics,
                         const HttpRequest& request) {
  const absl::StatusOr<ProfileMode> mode = ProfileModeFrom(request.Find("mode", "full"));
  if (!mode.ok()) return PlainResponse(400, mode.status().message());
  const auto replays = Positive(request, "replays", kDefaultReplays, kMostReplays);
  const absl::string_view force = request.Find("force", "0");
  if (force != "0" && force != "1") return PlainResponse(400, "force is to be 0 or 1");
  const auto ms = Positive(request, "ms", kDefaultMs, kMostMs);
  if (!replays.has_value() || !ms.has_value()) {
    return PlainResponse(400, absl::StrCat("replays is to be a number from 1 to ", kMostReplays,
                                           ", and ms one from 1 to ", kMostMs));
  }
  WindowOptions options;
  options.mode = *mode;
  options.most_replays = *replays;
  options.most_time = std::chrono::milliseconds(*ms);
  options.counters = PoolCounters(metrics);
  options.forces_out = force == "1";
  trace::TraceTables tables;
  trace::TraceStore store(kMostRecords);
  const absl::StatusOr<ProfileReport> report = ProfileWindow(device, options, tables, store);
  if (!report.ok()) return PlainResponse(409, report.status().message());
  HttpResponse response;
  response.type = "application/json";
  trace::TextSink sink(&response.body);
  trace::JsonTraceWriter writer(tables, sink);
  store.Replay(writer);
  writer.Flush();
  return response;
}

}  // namespace graphtree
