// The main function of every bench binary: runs its rows, prints the table, writes JSON.
//
//   x_bench [NAME...] [--json FILE] [--list] [--smoke]
//
// Exit codes: 0 every goal met, 1 a goal missed or a row failed, 2 wrong use, 3 cannot write FILE.
#include <algorithm>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "tools/benching/report.h"
#include "tools/benching/row.h"
#include "tools/benching/timing.h"
#include "tools/cli/arguments.h"
#include "tools/cli/verb.h"

namespace graphtree::bench {
namespace {

cli::Verb CommandLine() {
  return {.name = "bench",
          .operands = {{.name = "NAME",
                        .help = "Only rows whose name contains it.",
                        .optional = true,
                        .repeats = true}},
          .options = {{.name = "--json",
                       .kind = cli::ValueKind::kText,
                       .value_name = "FILE",
                       .help = "Write the rows there, too."},
                      {.name = "--list", .help = "Print the names of the rows and stop."},
                      {.name = "--smoke",
                       .help = "Run every row a few times, to see that it runs; judge nothing."}}};
}

bool Wanted(const Row& row, const std::vector<std::string>& names) {
  return names.empty() || std::any_of(names.begin(), names.end(), [&](const std::string& name) {
           return absl::StrContains(row.spec.name, name);
         });
}

std::vector<Result> RunRows(const std::vector<Row>& rows) {
  std::vector<Result> results;
  for (const Row& row : rows) {
    std::cerr << "measuring " << row.spec.name << std::endl;
    results.push_back(RunRow(row));
  }
  return results;
}

bool AnyOf(const std::vector<Result>& results, Verdict verdict) {
  return std::any_of(results.begin(), results.end(),
                     [&](const Result& result) { return result.verdict == verdict; });
}

int CannotWrite(const std::string& path) {
  std::cerr << "cannot write the rows to " << path << "\n";
  return cli::kBadInput;
}

int Main(const std::vector<std::string>& args) {
  const absl::StatusOr<cli::Arguments> arguments = cli::ParseArguments(CommandLine(), args);
  if (!arguments.ok()) {
    std::cerr << arguments.status().message() << "\n"
              << "Usage: bench [NAME...] [--json FILE] [--list] [--smoke]\n";
    return cli::kWrongUse;
  }
  std::vector<Row> rows;
  for (const Row& row : RegisteredRows()) {
    if (Wanted(row, arguments->operands())) rows.push_back(row);
  }
  if (arguments->Has("--list")) {
    for (const Row& row : rows) std::cout << row.spec.name << "\n";
    return cli::kFine;
  }
  const std::string path = arguments->Text("--json");
  std::ofstream file;
  if (!path.empty()) {
    file.open(path);  // before the measuring, which takes a while and would be for nothing
    if (!file) return CannotWrite(path);
  }
  SetSmoke(arguments->Has("--smoke"));
  const std::vector<Result> results = RunRows(rows);
  std::cout << Table(results);
#ifndef NDEBUG
  std::cout << "These numbers are not from an optimised build.\n";
#endif
  if (!path.empty() && !(file << Json(results)).flush()) return CannotWrite(path);
  if (AnyOf(results, Verdict::kFailed)) return cli::kFoundSomething;
  return AnyOf(results, Verdict::kMissed) && !Smoke() ? cli::kFoundSomething : cli::kFine;
}

}  // namespace
}  // namespace graphtree::bench

int main(int argc, char** argv) { return graphtree::bench::Main({argv + 1, argv + argc}); }
