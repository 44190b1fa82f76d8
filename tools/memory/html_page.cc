// Puts the page together.
#include "tools/memory/html_page.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "device/base/json_writer.h"
#include "device/base/version.h"
#include "tools/memory/history_text.h"
#include "tools/memory/html_columns.h"
#include "tools/memory/html_facts.h"
#include "tools/memory/html_lane.h"
#include "tools/memory/html_stacks.h"
#include "tools/memory/html_tables.h"
#include "tools/memory/text.h"
#include "tools/snapshot/analysis/history.h"

namespace graphtree::memory {
namespace {

using snapshot::DeviceHistory;
using snapshot::Side;
using snapshot::Snapshot;

// The version of the data that tools/memory/page/source/payload.js reads.
constexpr int kDataVersion = 1;

// Browsers hold a text of at most 512 MB; the columns are the page's largest.
constexpr size_t kMostColumnBytes = size_t{380} << 20;

void WriteWarnings(const Snapshot& snapshot, const std::vector<DeviceHistory>& histories,
                   JsonWriter& json) {
  json.Key("warnings").BeginArray();
  for (const DeviceHistory& history : histories) {
    const std::string text = LossesText(snapshot, history, Look());
    if (text.empty()) continue;
    const std::vector<std::string> words =
        absl::StrSplit(text, absl::ByAnyChar(" \n"), absl::SkipEmpty());
    json.String(absl::StrJoin(words, " "));
  }
  json.EndArray();
}

std::string LaneName(const DeviceHistory& history) {
  if (history.device == snapshot::kHostDevice) return "Pinned host memory";
  return absl::StrCat("GPU ", history.device);
}

void WriteLanes(const HtmlShared& shared, const Side& side,
                const std::vector<DeviceHistory>& histories, JsonWriter& json) {
  for (const DeviceHistory& history : histories) {
    WriteHtmlLane(shared, side, history, LaneName(history), json);
  }
}

void WriteSource(const HtmlSource& source, HtmlColumns& columns, JsonWriter& json) {
  const Snapshot& snapshot = *source.snapshot;
  HtmlTexts texts;
  HtmlStacks stacks(snapshot, texts);
  HtmlTables tables(snapshot);
  const HtmlShared shared{snapshot, texts, stacks, tables, columns};
  const std::vector<DeviceHistory> gpu = BuildHistories(snapshot, snapshot.gpu);
  const std::vector<DeviceHistory> host = BuildHistories(snapshot, snapshot.host);
  json.BeginObject().Key("file").String(source.name);
  WriteWarnings(snapshot, gpu, json);
  WriteHtmlFacts(snapshot, json);
  json.Key("lanes").BeginArray();
  WriteLanes(shared, snapshot.gpu, gpu, json);
  WriteLanes(shared, snapshot.host, host, json);
  json.EndArray();
  tables.Write(json);
  texts.Write("strings", json);
  json.Key("columns").BeginObject();
  stacks.Write(columns, json);
  json.EndObject().EndObject();
}

std::string EscapeHtml(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}});
}

}  // namespace

HtmlData RenderHtmlData(const std::vector<HtmlSource>& sources) {
  HtmlColumns columns;
  JsonWriter json;
  json.BeginObject().Key("version").Integer(kDataVersion);
  json.Key("made_by").String(absl::StrCat("graphtree ", kVersion));
  json.Key("snapshots").BeginArray();
  for (const HtmlSource& source : sources) WriteSource(source, columns, json);
  json.EndArray().EndObject();
  return {json.text(), columns.bytes()};
}

absl::StatusOr<std::string> RenderHtml(const std::vector<HtmlSource>& sources,
                                       const PageParts& parts) {
  if (!parts.missing.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("this graphtree was built without its page: ", parts.missing,
                     ". Then build graphtree again (bazel shutdown, as a server that runs does not "
                     "look again; bazel build //tools:graphtree)"));
  }
  const HtmlData data = RenderHtmlData(sources);
  if (data.columns.size() > kMostColumnBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the page would hold ", Bytes(data.columns.size()),
                     " of columns, and browsers open at most ", Bytes(kMostColumnBytes),
                     ": write a part of the history with `graphtree memory query`"));
  }
  std::vector<std::string> names;
  for (const HtmlSource& source : sources) names.push_back(source.name);
  // Inside a script element only "</script" and "<!--" mean anything: no "<" is left in the JSON.
  const std::string directory = absl::StrReplaceAll(data.directory, {{"<", "\\u003c"}});
  const std::string columns = absl::Base64Escape(data.columns);
  return absl::StrReplaceAll(parts.html, {{"@TITLE@", EscapeHtml(absl::StrJoin(names, " and "))},
                                          {"@STYLE@", parts.style},
                                          {"@DIRECTORY@", directory},
                                          {"@COLUMNS@", columns},
                                          {"@SCRIPT@", parts.script}});
}

}  // namespace graphtree::memory
