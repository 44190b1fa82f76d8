// A table of pages, each with what it may be asked for.
#include "runtime/runtime_pages.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "graphs/reports/tree_snapshot.h"
#include "runtime/configuration.h"
#include "runtime/core/collect_metrics.h"
#include "runtime/ledger_text.h"
#include "runtime/metrics.h"
#include "runtime/plan/ledger.h"
#include "runtime/profile_page.h"
#include "runtime/watch/watch.h"
#include "runtime/watch_json.h"

namespace graphtree {
namespace {

constexpr char kJson[] = "application/json";
constexpr char kPrometheus[] = "text/plain; version=0.0.4; charset=utf-8";
constexpr char kProfilePage[] = "/profile";
constexpr char kPickle[] = "application/octet-stream";

constexpr uint64_t kDefaultSteps = 10;
constexpr uint64_t kMostSteps = 1000;

struct Source {
  const Runtime& runtime;
  const RuntimeCore& core;
};

struct Page {
  const char* path;
  const char* help;
  std::vector<absl::string_view> query;  // what it may be asked for
  bool is_quick;                         // waits for nobody
  HttpResponse (*make)(const Source& source, const HttpRequest& request);
};
const std::vector<Page>& Pages();

HttpResponse Json(std::string body) { return {.type = kJson, .body = std::move(body)}; }

// The number that the query gives, or the fallback. None if it gives no number, or one that is
// larger.
std::optional<uint64_t> NumberOf(const HttpRequest& request, absl::string_view name,
                                 uint64_t fallback, uint64_t most) {
  const absl::string_view text = request.Find(name);
  if (text.empty()) return fallback;
  uint64_t number = 0;
  if (!absl::SimpleAtoi(text, &number) || number > most) return std::nullopt;
  return number;
}

bool WantsJson(const HttpRequest& request) { return request.Find("format") == "json"; }

// A sentence, if there is no such program.
std::optional<HttpResponse> CheckProgram(const Source& source, const HttpRequest& request) {
  const absl::string_view name = request.Find("program");
  if (name.empty()) return std::nullopt;
  std::vector<absl::string_view> names;
  const std::vector<WatchedProgram> programs = source.core.watch().programs();
  for (const WatchedProgram& program : programs) {
    if (program.watch != nullptr) names.push_back(program.name);
  }
  if (absl::c_linear_search(names, name)) return std::nullopt;
  return PlainResponse(404, absl::StrCat("there is no program \"", name, "\"; there ",
                                         names.empty() ? "is none at all" : "are: ",
                                         absl::StrJoin(names, ", ")));
}

// None, with a refusal, where the query makes no sense.
std::optional<ExplainOptions> ExplainOf(const Source& source, const HttpRequest& request,
                                        HttpResponse* refusal) {
  const std::optional<uint64_t> steps = NumberOf(request, "steps", kDefaultSteps, kMostSteps);
  if (!steps.has_value()) {
    *refusal = PlainResponse(400, absl::StrCat("steps is to be a number up to ", kMostSteps));
    return std::nullopt;
  }
  if (std::optional<HttpResponse> unknown = CheckProgram(source, request)) {
    *refusal = *std::move(unknown);
    return std::nullopt;
  }
  return ExplainOptions{.program = std::string(request.Find("program")), .steps = *steps};
}

HttpResponse IndexPage(const Source&, const HttpRequest&) {
  std::string text = "The door of a Graphtree runtime, for tools. Pages:\n\n";
  for (const Page& page : Pages()) {
    absl::StrAppendFormat(&text, "  %-16s %s\n", page.path, page.help);
    if (page.query.empty()) continue;
    absl::StrAppendFormat(&text, "  %-16s   asked with: %s\n", "", absl::StrJoin(page.query, ", "));
  }
  return {.body = std::move(text)};
}

HttpResponse MetricsPage(const Source& source, const HttpRequest&) {
  return {.type = kPrometheus, .body = MetricsAsPrometheus(source.runtime.metrics())};
}

HttpResponse MemoryPage(const Source& source, const HttpRequest&) {
  return {.type = kPrometheus, .body = LedgerAsPrometheus(source.runtime.ledger())};
}

HttpResponse GraphsPage(const Source& source, const HttpRequest& request) {
  HttpResponse refusal;
  const std::optional<ExplainOptions> options = ExplainOf(source, request, &refusal);
  return options.has_value() ? Json(source.runtime.DebugJson(*options)) : refusal;
}

// With the text's last lines for what runs now, as that may be why somebody asks.
HttpResponse ExplainPage(const Source& source, const HttpRequest& request) {
  HttpResponse refusal;
  std::optional<ExplainOptions> options = ExplainOf(source, request, &refusal);
  if (!options.has_value()) return refusal;
  options->trees = false;
  const Explanation explanation = source.runtime.Explain(*options);
  if (WantsJson(request)) return Json(ExplanationAsJson(explanation));
  std::string text = ToString(explanation, options->steps);
  if (explanation.programs.empty()) absl::StrAppend(&text, "there are no programs yet\n");
  for (const LaneAtWork& lane : LanesAtWork(source.core.watch())) {
    absl::StrAppend(&text, "at this moment device ", lane.device, " lane ", lane.lane, " ",
                    ToString(lane.now), "\n");
  }
  return {.body = std::move(text)};
}

HttpResponse DotPage(const Source& source, const HttpRequest&) {
  return {.body = ExplanationAsGraphviz(source.runtime.Explain({.steps = 0, .trees = false}))};
}

HttpResponse LedgerPage(const Source& source, const HttpRequest& request) {
  const MemoryLedger ledger = source.runtime.ledger();
  if (WantsJson(request)) return Json(LedgerAsJson(ledger));
  return {.body = LedgerText(ledger)};
}

HttpResponse SettingsPage(const Source& source, const HttpRequest&) {
  return {.body = ToString(source.runtime.Settings())};
}

HttpResponse SnapshotPage(const Source& source, const HttpRequest& request) {
  constexpr uint64_t kMost = std::numeric_limits<uint32_t>::max();
  const std::optional<uint64_t> device = NumberOf(request, "device", 0, kMost);
  const std::optional<uint64_t> number = NumberOf(request, "lane", 0, kMost);
  if (!device.has_value() || !number.has_value()) {
    return PlainResponse(400, "device and lane are to be numbers, from 0 on");
  }
  for (const WatchedLane& lane : source.core.watch().lanes()) {
    if (lane.device != *device || lane.lane != *number) continue;
    absl::StatusOr<std::string> bytes = TreeSnapshotPickle(*lane.tree);
    if (!bytes.ok()) return PlainResponse(500, bytes.status().message());
    return {.type = kPickle, .body = *std::move(bytes)};
  }
  return PlainResponse(404, absl::StrCat("there is no lane ", *number, " of device ", *device));
}

HttpResponse ProfileOf(const Source& source, const HttpRequest& request) {
  const Runtime& runtime = source.runtime;
  Device& first = *source.core.lanes().all_devices().front();
  return ProfilePage(first, [&runtime] { return runtime.metrics(); }, request);
}

const std::vector<Page>& Pages() {
  static const auto* const pages = new std::vector<Page>{
      {"/", "this list", {}, true, IndexPage},
      {"/metrics", "counts and bytes, for Prometheus", {}, false, MetricsPage},
      {"/metrics/memory", "who holds the memory, for Prometheus", {}, false, MemoryPage},
      {"/debug/graphs", "all of it as JSON", {"program", "steps"}, false, GraphsPage},
      {"/debug/explain", "why steps ran as they did; format=json",
       {"program", "steps", "format"}, true, ExplainPage},
      {"/debug/dot", "lanes, programs and shapes, for Graphviz", {}, true, DotPage},
      {"/debug/ledger", "who holds the memory; format=json", {"format"}, false, LedgerPage},
      {"/debug/settings", "what is in force, and where it came from", {}, true, SettingsPage},
      {"/snapshot", "memory of a lane, as a pickle for `graphtree memory`", {"device", "lane"},
       false, SnapshotPage},
      {kProfilePage, "a window of what runs, as a trace for `graphtree profile`",
       {"mode", "replays", "ms", "force"}, false, ProfileOf},
  };
  return *pages;
}

// Null, with a refusal, if there is no such page, or it is asked for something that it has not.
const Page* Find(const HttpRequest& request, HttpResponse* refusal) {
  for (const Page& page : Pages()) {
    if (request.path != page.path) continue;
    for (const auto& [name, value] : request.query) {
      if (absl::c_linear_search(page.query, name)) continue;
      *refusal = PlainResponse(
          400, absl::StrCat(page.path, " is not asked with \"", name, "\"",
                            page.query.empty() ? "" : "; it is asked with: ",
                            absl::StrJoin(page.query, ", ")));
      return nullptr;
    }
    const absl::string_view format = request.Find("format", "text");
    if (format == "text" || format == "json") return &page;
    *refusal = PlainResponse(400, "format is to be text or json");
    return nullptr;
  }
  *refusal = PlainResponse(404, "there is no such page; / lists all of them");
  return nullptr;
}

// Pages are made one after the other, and a profile's window takes seconds.
HttpResponse LateText(const RuntimeCore& core, const HttpRequest* before) {
  if (before != nullptr && before->path == kProfilePage) {
    return PlainResponse(503, "somebody else's window of a profile is being taken (/profile), and "
                              "this page waits for it; ask again.\n"
                              "/debug/explain waits for nobody.");
  }
  std::string text = "the runtime's trees are in use, and this page waits for them.\n";
  for (const LaneAtWork& lane : LanesAtWork(core.watch())) {
    absl::StrAppend(&text, "device ", lane.device, " lane ", lane.lane, " ", ToString(lane.now),
                    "\n");
  }
  absl::StrAppend(&text, "/debug/explain waits for nobody.");
  return PlainResponse(503, text);
}

}  // namespace

DoorPages PagesOf(const Runtime& runtime, const RuntimeCore& core) {
  const Source source = {runtime, core};
  return {.quick = [source](const HttpRequest& request) -> std::optional<HttpResponse> {
            HttpResponse refusal;
            const Page* const page = Find(request, &refusal);
            if (page == nullptr) return refusal;
            if (!page->is_quick) return std::nullopt;
            return page->make(source, request);
          },
          .slow =
              [source](const HttpRequest& request) {
                HttpResponse refusal;
                const Page* const page = Find(request, &refusal);
                return page == nullptr ? refusal : page->make(source, request);
              },
          .late = [&core](const HttpRequest* before) { return LateText(core, before); }};
}

}  // namespace graphtree
