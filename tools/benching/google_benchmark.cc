// Runs Benchmark functions from within a row and collects their repetitions.
#include "tools/benching/google_benchmark.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tools/benching/statistics.h"

namespace graphtree::bench {
namespace {

constexpr char kOurs[] = "ours";
constexpr char kBaseline[] = "baseline";

// Keeps the time of every repetition instead of printing it.
class Collector : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }

  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      // A body that called SkipWithError has no time; how else it shows differs between versions.
      if (run.run_type != Run::RT_Iteration || run.real_accumulated_time == 0) continue;
      samples_[run.run_name.function_name].push_back(run.GetAdjustedRealTime());
    }
  }

  const std::vector<double>& samples(const std::string& name) { return samples_[name]; }

 private:
  std::map<std::string, std::vector<double>> samples_;
};

// Once for each process: without it Benchmark runs the repetitions of one function in a row.
void AskForShuffledOrder() {
  static const bool once = [] {
    std::string program = "bench";
    std::string shuffled = "--benchmark_enable_random_interleaving=true";
    char* argv[] = {program.data(), shuffled.data(), nullptr};
    int argc = 2;
    benchmark::Initialize(&argc, argv);
    return true;
  }();
  static_cast<void>(once);
}

void Register(const char* name, const BenchmarkBody& body) {
  benchmark::RegisterBenchmark(name, body)
      ->UseRealTime()
      ->Unit(benchmark::kNanosecond)
      ->MinTime(Smoke() ? 1e-6 : 0.02)
      ->Repetitions(Smoke() ? 1 : 21);
}

absl::StatusOr<Measurement> Run(const std::vector<std::pair<const char*, BenchmarkBody>>& sides) {
  AskForShuffledOrder();
  for (const auto& [name, body] : sides) Register(name, body);
  Collector collector;
  benchmark::RunSpecifiedBenchmarks(&collector, ".*");
  benchmark::ClearRegisteredBenchmarks();
  for (const auto& side : sides) {
    if (collector.samples(side.first).empty()) {
      return absl::InternalError(
          absl::StrCat("the body of \"", side.first, "\" ended with SkipWithError"));
    }
  }
  Measurement measurement = {.ours = Median(collector.samples(kOurs)),
                             .spread = Spread(collector.samples(kOurs))};
  if (sides.size() > 1) measurement.baseline = Median(collector.samples(kBaseline));
  return measurement;
}

}  // namespace

absl::StatusOr<Measurement> CompareBenchmarks(BenchmarkBody ours, BenchmarkBody baseline) {
  return Run({{kOurs, std::move(ours)}, {kBaseline, std::move(baseline)}});
}

absl::StatusOr<Measurement> MeasureBenchmark(BenchmarkBody ours) {
  return Run({{kOurs, std::move(ours)}});
}

}  // namespace graphtree::bench
