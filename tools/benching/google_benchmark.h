// Rows whose numbers come from Google Benchmark functions.
//
// For code that wants Benchmark's own loop (PauseTiming, several threads, a fixture for each run).
// Everything else is shorter with timing.h. Both functions run many times in an order that
// Benchmark shuffles, and the medians of the repetitions are what counts.
//
//   GRAPHTREE_ROW(Sort, {...}) {
//     return CompareBenchmarks([](benchmark::State& state) { for (auto _ : state) ...; },
//                              [](benchmark::State& state) { for (auto _ : state) ...; });
//   }
#ifndef GRAPHTREE_TOOLS_BENCHING_GOOGLE_BENCHMARK_H_
#define GRAPHTREE_TOOLS_BENCHING_GOOGLE_BENCHMARK_H_

#include <functional>

#include "absl/status/statusor.h"
#include "benchmark/benchmark.h"
#include "tools/benching/timing.h"

namespace graphtree::bench {

using BenchmarkBody = std::function<void(benchmark::State&)>;

// Wall time for one iteration, in nanoseconds. Fails with the text of SkipWithError.
absl::StatusOr<Measurement> CompareBenchmarks(BenchmarkBody ours, BenchmarkBody baseline);
absl::StatusOr<Measurement> MeasureBenchmark(BenchmarkBody ours);

}  // namespace graphtree::bench

#endif  // GRAPHTREE_TOOLS_BENCHING_GOOGLE_BENCHMARK_H_
