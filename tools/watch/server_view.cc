// Sums of samples, and how they grew.
#include "tools/watch/server_view.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "device/base/json_writer.h"
#include "runtime/why.h"
#include "tools/cli/wrap.h"
#include "tools/memory/text.h"

namespace graphtree::watch {
namespace {

using memory::Bytes;
using memory::Clip;
using memory::Count;
using memory::Percent;

// How much a counter grew. A server that was started anew counts from 0 again.
double Grown(double before, double after) { return after < before ? after : after - before; }

struct Rate {
  double steps = 0;     // between the looks
  double replays = 0;   // of these
  uint64_t in_all = 0;  // since the start
};

struct Reason {
  std::string name;
  double lately = 0;
  uint64_t in_all = 0;
};

struct Program {
  std::string name;
  Rate rate;
  std::vector<Reason> reasons;  // the most frequent first
};

struct View {
  std::string mode = "?";
  double ready = 0;
  uint64_t recordings = 0;
  uint64_t graphs = 0;
  uint64_t executables = 0;
  std::vector<std::string> now;
  Rate rate;
  std::vector<Program> programs;
  std::vector<Reason> reasons;
  uint64_t parity_same = 0;
  uint64_t parity_differs = 0;
  // Bytes.
  uint64_t executable_bytes = 0;
  uint64_t live = 0;
  uint64_t cached = 0;
  uint64_t parked = 0;
  uint64_t slots = 0;
  uint64_t workspaces = 0;
  uint64_t page_locked = 0;
};

uint64_t Whole(double value) { return value < 0 ? 0 : static_cast<uint64_t>(std::llround(value)); }

void SortReasons(std::vector<Reason>* reasons) {
  std::stable_sort(reasons->begin(), reasons->end(), [](const Reason& a, const Reason& b) {
    return std::pair(a.lately, a.in_all) > std::pair(b.lately, b.in_all);
  });
}

// Of one program, or of all if there is no name.
std::vector<Reason> ReasonsOf(const TwoLooks& looks, const std::string* program) {
  constexpr absl::string_view kFamily = "graphtree_program_not_replayed_total";
  std::map<std::string, std::pair<double, double>> sums;  // before, after
  const auto add = [&](const Samples& samples, bool is_after) {
    for (const Sample& sample : samples.all()) {
      if (sample.name != kFamily) continue;
      if (program != nullptr && sample.Label("program") != *program) continue;
      auto& [before, after] = sums[std::string(sample.Label("reason"))];
      (is_after ? after : before) += sample.value;
    }
  };
  add(looks.before, false);
  add(looks.after, true);
  std::vector<Reason> reasons;
  for (const auto& [name, sum] : sums) {
    reasons.push_back({name, Grown(sum.first, sum.second), Whole(sum.second)});
  }
  SortReasons(&reasons);
  return reasons;
}

Rate RateOf(const TwoLooks& looks, const std::string& program) {
  const auto grown = [&](absl::string_view name) {
    return Grown(looks.before.Sum(name, "program", program),
                 looks.after.Sum(name, "program", program));
  };
  return {grown("graphtree_program_steps_total"), grown("graphtree_program_replays_total"),
          Whole(looks.after.Sum("graphtree_program_steps_total", "program", program))};
}

std::string NowOf(const Sample& sample) {
  const absl::string_view shape = sample.Label("shape");
  return absl::StrCat("device ", sample.Label("device"), " lane ", sample.Label("lane"), " ",
                      sample.Label("doing") == "record" ? "records " : "runs ",
                      sample.Label("program"), shape.empty() ? "" : ", ", shape);
}

void AddBytes(const Samples& samples, View* view) {
  const auto sum = [&](absl::string_view name) { return Whole(samples.Sum(name)); };
  const auto pool = [&](absl::string_view state) {
    return Whole(samples.Sum("graphtree_pool_bytes", "state", state));
  };
  view->executable_bytes = sum("graphtree_exec_bytes_estimate");
  view->live = pool("live");
  view->cached = pool("cached");
  view->parked = pool("parked");
  view->slots = sum("graphtree_slot_bytes");
  view->workspaces = sum("graphtree_workspace_bytes");
  view->page_locked = sum("graphtree_staging_bytes");
}

View ViewOf(const TwoLooks& looks) {
  const Samples& after = looks.after;
  View view;
  for (const Sample& sample : after.all()) {
    if (sample.name == "graphtree_serving_mode" && sample.value > 0) {
      view.mode = std::string(sample.Label("mode"));
    }
    if (sample.name == "graphtree_lane_now") view.now.push_back(NowOf(sample));
    if (sample.name != "graphtree_program_steps_total") continue;
    const std::string program(sample.Label("program"));
    view.programs.push_back({program, RateOf(looks, program), ReasonsOf(looks, &program)});
    view.rate.steps += view.programs.back().rate.steps;
    view.rate.replays += view.programs.back().rate.replays;
    view.rate.in_all += view.programs.back().rate.in_all;
  }
  view.reasons = ReasonsOf(looks, nullptr);
  view.ready = after.Sum("graphtree_ready_ratio");
  view.recordings = Whole(Grown(looks.before.Sum("graphtree_recordings_total"),
                                after.Sum("graphtree_recordings_total")));
  view.graphs = Whole(after.Sum("graphtree_graphs_live"));
  view.executables = Whole(after.Sum("graphtree_execs_live"));
  view.parity_same = Whole(after.Sum("graphtree_parity_total", "result", "same"));
  view.parity_differs = Whole(after.Sum("graphtree_parity_total", "result", "differs"));
  AddBytes(after, &view);
  return view;
}

std::string Share(const Rate& rate) {
  return rate.steps > 0 ? Percent(rate.replays / rate.steps) : "-";
}

const char* SentenceOf(const std::string& reason) {
  for (size_t i = 0; i < kWhyCount; ++i) {
    if (reason == WhyName(static_cast<Why>(i))) return WhySentence(static_cast<Why>(i));
  }
  return "";
}

std::string HeadText(const View& view, const TwoLooks& looks, const std::string& clock) {
  std::string text = absl::StrFormat("%s   mode %s, %.0f %% of the shapes have their graphs\n",
                                     clock, memory::Safe(view.mode), 100 * view.ready);
  const double rate = looks.seconds > 0 ? view.rate.steps / looks.seconds : 0;
  absl::StrAppendFormat(&text, "steps    %.1f a second, %s of them replayed; %s in all\n", rate,
                        Share(view.rate), Count(view.rate.in_all));
  absl::StrAppendFormat(&text, "graphs   %s recordings, %s executables; %s recorded since the last "
                        "look\n", Count(view.graphs), Count(view.executables),
                        Count(view.recordings));
  absl::StrAppendFormat(&text, "memory   %s executables, %s pool (%s live, %s parked), %s slots,\n",
                        Bytes(view.executable_bytes), Bytes(view.live + view.cached),
                        Bytes(view.live), Bytes(view.parked), Bytes(view.slots));
  absl::StrAppendFormat(&text, "         %s workspaces; page-locked on the host: %s\n",
                        Bytes(view.workspaces), Bytes(view.page_locked));
  if (view.parity_same + view.parity_differs > 0) {
    absl::StrAppendFormat(&text, "parity   %s compared, %s differ\n",
                          Count(view.parity_same + view.parity_differs),
                          Count(view.parity_differs));
  }
  for (const std::string& now : view.now) {
    absl::StrAppend(&text, "now      ", Clip(now, 70), "\n");
  }
  return text;
}

std::string ProgramsText(const View& view, double seconds) {
  if (view.programs.empty()) return "\nThe server has no programs yet.\n";
  std::string text = absl::StrFormat("\n%-20s %9s %9s %11s   %s\n", "program", "steps/s",
                                     "replayed", "in all", "not replayed, most often");
  for (const Program& program : view.programs) {
    std::vector<std::string> words;
    for (size_t i = 0; i < std::min<size_t>(program.reasons.size(), 2); ++i) {
      const Reason& reason = program.reasons[i];
      words.push_back(absl::StrCat(reason.name, " ", Count(reason.in_all)));
    }
    absl::StrAppendFormat(&text, "%-20s %9.1f %9s %11s%s%s\n", Clip(program.name, 20),
                          seconds > 0 ? program.rate.steps / seconds : 0, Share(program.rate),
                          Count(program.rate.in_all), words.empty() ? "" : "   ",
                          Clip(absl::StrJoin(words, ", "), 60));
  }
  return text;
}

std::string ReasonsText(const View& view, double seconds) {
  constexpr size_t kWhyColumn = 43;
  if (view.reasons.empty()) return "";
  std::string text =
      absl::StrFormat("\n%-20s %9s %9s   %s\n", "not replayed", "steps/s", "in all", "why");
  for (const Reason& reason : view.reasons) {
    absl::StrAppendFormat(&text, "%-20s %9.1f %9s   %s\n", Clip(reason.name, 20),
                          seconds > 0 ? reason.lately / seconds : 0, Count(reason.in_all),
                          cli::Wrap(SentenceOf(reason.name), kWhyColumn, kWhyColumn));
  }
  return text;
}

void WriteRate(const Rate& rate, double seconds, JsonWriter& json) {
  json.Key("steps_per_second").Number(seconds > 0 ? rate.steps / seconds : 0);
  json.Key("replay_share");
  rate.steps > 0 ? json.Number(rate.replays / rate.steps) : json.Null();
  json.Key("steps").Unsigned(rate.in_all);
}

void WriteReasons(const std::vector<Reason>& reasons, JsonWriter& json) {
  json.Key("not_replayed").BeginObject();
  for (const Reason& reason : reasons) json.Key(reason.name).Unsigned(reason.in_all);
  json.EndObject();
}

}  // namespace

std::string TopText(const TwoLooks& looks, const std::string& clock) {
  const View view = ViewOf(looks);
  return absl::StrCat(HeadText(view, looks, clock), ProgramsText(view, looks.seconds),
                      ReasonsText(view, looks.seconds));
}

std::string TopJson(const TwoLooks& looks) {
  const View view = ViewOf(looks);
  JsonWriter json;
  json.BeginObject().Key("mode").String(view.mode).Key("ready_ratio").Number(view.ready);
  WriteRate(view.rate, looks.seconds, json);
  json.Key("recorded").Unsigned(view.recordings).Key("graphs").Unsigned(view.graphs);
  json.Key("executables").Unsigned(view.executables).Key("now").BeginArray();
  for (const std::string& now : view.now) json.String(now);
  json.EndArray().Key("bytes").BeginObject().Key("executables").Unsigned(view.executable_bytes);
  json.Key("pool_live").Unsigned(view.live).Key("pool_cached").Unsigned(view.cached);
  json.Key("pool_parked").Unsigned(view.parked).Key("slots").Unsigned(view.slots);
  json.Key("workspaces").Unsigned(view.workspaces);
  json.Key("page_locked").Unsigned(view.page_locked).EndObject();
  WriteReasons(view.reasons, json);
  json.Key("programs").BeginArray();
  for (const Program& program : view.programs) {
    json.BeginObject().Key("name").String(program.name);
    WriteRate(program.rate, looks.seconds, json);
    WriteReasons(program.reasons, json);
    json.EndObject();
  }
  return json.EndArray().EndObject().text();
}

}  // namespace graphtree::watch
