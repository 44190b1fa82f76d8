// Walks over the addresses of each lane, and counts who uses them.
#include "runtime/plan/ledger.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace graphtree {
namespace {

using Recording = LedgerInput::Recording;

struct Used {
  uint64_t alone = 0;
  uint64_t shared = 0;
};

struct Split {
  std::vector<Used> groups;
  uint64_t shared_once = 0;
};

// A range begins or ends for a group.
struct Edge {
  Address at;
  int change;
  uint32_t group;
};

// By lane and group: which bytes only one group uses. `group_of` numbers the recordings' groups.
std::vector<Split> SplitByLane(const LedgerInput& input, const std::vector<uint32_t>& group_of,
                               uint32_t groups) {
  std::vector<Split> lanes(input.lanes.size());
  for (uint32_t lane = 0; lane < lanes.size(); ++lane) {
    std::vector<Edge> edges;
    for (size_t i = 0; i < input.recordings.size(); ++i) {
      if (input.recordings[i].lane != lane) continue;
      for (const AddressRange& range : input.recordings[i].ranges) {
        if (range.empty()) continue;
        edges.push_back({range.base, 1, group_of[i]});
        edges.push_back({range.end(), -1, group_of[i]});
      }
    }
    std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.at < b.at; });
    Split& split = lanes[lane];
    split.groups.resize(groups);
    std::map<uint32_t, int> users;  // that use the bytes from here on, by group
    for (size_t i = 0; i < edges.size(); ++i) {
      const Edge& edge = edges[i];
      if ((users[edge.group] += edge.change) == 0) users.erase(edge.group);
      if (i + 1 == edges.size() || users.empty()) continue;
      const uint64_t bytes = edges[i + 1].at - edge.at;
      if (users.size() == 1) split.groups[users.begin()->first].alone += bytes;
      if (users.size() < 2) continue;
      split.shared_once += bytes;
      for (const auto& [group, count] : users) split.groups[group].shared += bytes;
    }
  }
  return lanes;
}

// Numbers what is equal alike, from 0 on, in the order of the keys.
template <typename KeyOf>
std::vector<uint32_t> GroupsBy(const std::vector<Recording>& recordings, const KeyOf& key_of,
                               uint32_t* count) {
  std::map<decltype(key_of(recordings[0])), uint32_t> numbers;
  for (const Recording& one : recordings) numbers.emplace(key_of(one), 0);
  *count = 0;
  for (auto& [key, number] : numbers) number = (*count)++;
  std::vector<uint32_t> groups;
  for (const Recording& one : recordings) groups.push_back(numbers.at(key_of(one)));
  return groups;
}

std::string ProgramOf(const LedgerInput& input, const Recording& recording) {
  return recording.program == LedgerInput::kNoProgram ? ""
                                                      : input.programs[recording.program].name;
}

// A row for each group, with all that its recordings have of their own.
std::vector<LedgerRow> RowsOf(const LedgerInput& input, const std::vector<uint32_t>& group_of,
                              uint32_t groups) {
  std::vector<LedgerRow> rows(groups);
  for (size_t i = 0; i < input.recordings.size(); ++i) {
    const Recording& recording = input.recordings[i];
    LedgerRow& row = rows[group_of[i]];
    row.program = ProgramOf(input, recording);
    row.function = recording.function;
    row.recording = recording.id;
    row.lane = recording.lane;
    row.bytes.executables += recording.executable_bytes;
    row.bytes.host += recording.host_bytes;
  }
  const std::vector<Split> lanes = SplitByLane(input, group_of, groups);
  for (const Split& split : lanes) {
    for (uint32_t group = 0; group < groups; ++group) {
      rows[group].bytes.alone += split.groups[group].alone;
      rows[group].bytes.shared += split.groups[group].shared;
    }
  }
  return rows;
}

std::vector<LedgerRow> ProgramRows(const LedgerInput& input) {
  // Functions beside programs count as others, each for itself.
  std::vector<uint32_t> group_of;
  auto groups = static_cast<uint32_t>(input.programs.size());
  for (const Recording& one : input.recordings) {
    group_of.push_back(one.program == LedgerInput::kNoProgram ? groups++ : one.program);
  }
  std::vector<LedgerRow> rows = RowsOf(input, group_of, groups);
  rows.resize(input.programs.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    const LedgerInput::Program& program = input.programs[i];
    rows[i].program = program.name;
    rows[i].function.clear();
    rows[i].recording = 0;
    rows[i].lane = program.lane;
    rows[i].bytes.code = program.code_bytes;
    rows[i].bytes.workspace = program.workspace_bytes;
    rows[i].bytes.host += program.staging_bytes;
  }
  return rows;
}

std::vector<LaneLedger> LanesOf(const LedgerInput& input, const std::vector<Split>& splits) {
  std::vector<LaneLedger> lanes;
  for (size_t i = 0; i < input.lanes.size(); ++i) {
    LaneLedger lane = {.device = input.lanes[i].device,
                       .number = input.lanes[i].number,
                       .parked = input.lanes[i].parked_bytes,
                       .is_from_before = input.lanes[i].is_from_before};
    for (const Used& used : splits[i].groups) lane.alone += used.alone;
    lane.shared = splits[i].shared_once;
    const uint64_t used = lane.alone + lane.shared;
    lane.idle = std::max(input.lanes[i].mapped_bytes, used) - used;
    lanes.push_back(lane);
  }
  return lanes;
}

std::string Mib(uint64_t bytes) {
  return absl::StrFormat("%10.2f", static_cast<double>(bytes) / (1 << 20));
}

std::string RowText(int width, const std::string& name, const LedgerBytes& bytes) {
  return absl::StrFormat("%-*s", width, name) + Mib(bytes.alone) + Mib(bytes.shared) +
         Mib(bytes.executables) + Mib(bytes.code) + Mib(bytes.workspace) + Mib(bytes.host) + "\n";
}

}  // namespace

uint64_t MemoryLedger::device() const {
  uint64_t bytes = slots + executables + code + tagged;
  for (const LaneLedger& lane : lanes) bytes += lane.mapped();
  return bytes;
}

MemoryLedger LedgerOf(const LedgerInput& input) {
  MemoryLedger ledger;
  std::vector<uint32_t> each;
  for (uint32_t i = 0; i < input.recordings.size(); ++i) each.push_back(i);
  const auto recordings = static_cast<uint32_t>(each.size());
  ledger.recordings = RowsOf(input, each, recordings);
  ledger.lanes = LanesOf(input, SplitByLane(input, each, recordings));
  uint32_t functions = 0;
  const std::vector<uint32_t> by_function = GroupsBy(
      input.recordings,
      [](const Recording& one) { return std::tuple(one.program, one.function, one.lane); },
      &functions);
  ledger.functions = RowsOf(input, by_function, functions);
  ledger.programs = ProgramRows(input);
  for (const Recording& one : input.recordings) {
    ledger.executables += one.executable_bytes;
    ledger.host += one.host_bytes;
  }
  ledger.workspaces = input.workspace_bytes;
  ledger.tagged = input.tagged_bytes;
  ledger.host += input.saved_bytes;
  for (const LedgerInput::Program& program : input.programs) {
    ledger.slots += program.slot_bytes;
    ledger.code += program.code_bytes;
    ledger.host += program.staging_bytes;
  }
  return ledger;
}

std::string LedgerText(const MemoryLedger& ledger) {
  int width = 0;
  for (const LedgerRow& row : ledger.functions) {
    width = std::max(width, 2 + static_cast<int>(row.function.size()));
  }
  for (const LedgerRow& row : ledger.programs) {
    width = std::max(width, static_cast<int>(row.program.size()));
  }
  std::string text = absl::StrFormat("%-*s%10s%10s%10s%10s%10s%10s\n", width, "MiB", "alone",
                                     "shared", "execs", "code", "workspace", "host");
  const auto functions_of = [&](const std::string& program) {
    for (const LedgerRow& row : ledger.functions) {
      if (row.program != program) continue;
      absl::StrAppend(&text, RowText(width, "  " + row.function, row.bytes));
    }
  };
  for (const LedgerRow& program : ledger.programs) {
    absl::StrAppend(&text, RowText(width, program.program, program.bytes));
    functions_of(program.program);
  }
  functions_of("");
  for (const LaneLedger& lane : ledger.lanes) {
    absl::StrAppend(&text, "lane ", lane.number, " of device ", lane.device, ": ",
                    Mib(lane.mapped()), " mapped, ", Mib(lane.idle), " of these idle",
                    lane.parked == 0 ? "" : absl::StrCat("; ", Mib(lane.parked), " parked"),
                    "\n");
  }
  absl::StrAppend(&text, "device: ", Mib(ledger.device()), ", of these slots ", Mib(ledger.slots),
                  ledger.tagged == 0 ? "" : absl::StrCat(", memory with tags ",
                                                         Mib(ledger.tagged)),
                  "\n");
  return text;
}

}  // namespace graphtree
