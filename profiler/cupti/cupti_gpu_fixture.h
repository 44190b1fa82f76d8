// The fixture of CUPTI's tests on a GPU: the device, and a source over the real library; or a skip
// with the reason.
#ifndef GRAPHTREE_PROFILER_CUPTI_CUPTI_GPU_FIXTURE_H_
#define GRAPHTREE_PROFILER_CUPTI_CUPTI_GPU_FIXTURE_H_

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "device/base/status_matchers.h"
#include "device/cuda/gpu_fixture.h"
#include "device/graph.h"
#include "device/stream.h"
#include "gtest/gtest.h"
#include "profiler/activity/activity_source.h"
#include "profiler/cupti/cupti_source.h"

namespace graphtree::cupti {

class CuptiGpuTest : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    auto source = OpenCuptiSource(OptionsOf([](const char* name) { return std::getenv(name); }));
    if (!source.ok()) GTEST_SKIP() << "needs CUPTI: " << source.status().message();
    source_ = std::move(source).value();
  }
  void TearDown() override {
    source_.reset();
    GpuTest::TearDown();
  }

  std::unique_ptr<Graph> CaptureKernels(Stream& stream, int kernels, int word) {
    EXPECT_THAT(stream.BeginCapture(CaptureMode::kThreadLocal), IsOk());
    for (int i = 0; i < kernels; ++i) EXPECT_THAT(AddTo(stream, word, 1), IsOk());
    auto graph = stream.EndCapture();
    EXPECT_THAT(graph, IsOk());
    return graph.ok() ? *std::move(graph) : nullptr;
  }

  // The median of many launches, in ns of the host's time.
  double LaunchCost(Executable& executable) {
    std::vector<double> times;
    for (int i = 0; i < 2000; ++i) {
      const auto start = std::chrono::steady_clock::now();
      EXPECT_THAT(executable.Launch(*stream_), IsOk());
      const auto end = std::chrono::steady_clock::now();
      times.push_back(std::chrono::duration<double, std::nano>(end - start).count());
      if (i % 8 != 7) continue;
      EXPECT_THAT(stream_->Synchronize(), IsOk());
    }
    std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
    return times[times.size() / 2];
  }

  std::unique_ptr<activity::ActivitySource> source_;
};

}  // namespace graphtree::cupti

#endif  // GRAPHTREE_PROFILER_CUPTI_CUPTI_GPU_FIXTURE_H_
