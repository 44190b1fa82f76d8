// What a replay waits for while another thread records with another tree: beside bare launches
// while another thread captures, instantiates and destroys the same graphs. The driver has locks of
// its own, so the figure is the longest wait but for one in a thousand, on both sides.
#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "tests/bare/shapes_world.h"
#include "tests/bare/tree_bench_world.h"
#include "tools/benching/row.h"
#include "tools/benching/statistics.h"

namespace graphtree {
namespace {

using bench::Measurement;
using bench::Median;
using bench::NowNs;
using bench::Outcome;
using bench::Skipped;

constexpr uint32_t kShapes = 24;
constexpr uint32_t kResident = 8;  // recordings, or bare graphs, that are there at a time
constexpr uint32_t kKernels = 100;
constexpr int kBurst = 16;

// Runs `work` on a thread of its own, again and again, until it is destroyed.
class Beside {
 public:
  explicit Beside(std::function<absl::Status()> work)
      : thread_([this, work = std::move(work)] {
          while (!stop_ && status_.ok()) {
            status_ = work();
            ++rounds_;
          }
        }) {}
  // How often it ran; an error if it failed or never ran.
  absl::Status Stop() {
    stop_ = true;
    thread_.join();
    if (status_.ok() && rounds_ == 0) return absl::InternalError("nothing was recorded beside");
    return status_;
  }

 private:
  std::atomic<bool> stop_{false};
  absl::Status status_;
  uint64_t rounds_ = 0;
  std::thread thread_;
};

// The wait that one call in a thousand exceeds.
template <typename Call, typename Drain>
double LongWait(Call call, Drain drain) {
  std::vector<double> waits;
  const double end = NowNs() + (bench::Smoke() ? 2e7 : 4e8);
  while (NowNs() < end) {
    for (int i = 0; i < kBurst; ++i) {
      const double start = NowNs();
      call();
      waits.push_back(NowNs() - start);
    }
    drain();
  }
  const size_t at = waits.size() * 999 / 1000;
  std::nth_element(waits.begin(), waits.begin() + at, waits.end());
  return waits[at];
}

// Both threads' worlds; every call of the other's tree is a recording, as it has too few places.
Outcome WaitBeside(const char* device) {
  auto replaying = BenchWorld::Make(device, {.statics = 1});
  if (!replaying.ok()) return Skipped(std::string(replaying.status().message()));
  auto recording = ShapesWorld::Make(device, kShapes, kKernels);
  if (!recording.ok()) return recording.status();
  BenchWorld& replays = **replaying;
  ShapesWorld& records = **recording;
  GRAPHTREE_RETURN_IF_ERROR(replays.WarmUp());
  TreeBudget budget;
  budget.nodes = kResident;
  GRAPHTREE_RETURN_IF_ERROR(records.OpenTree(budget));
  for (uint32_t i = 0; i < 2 * kShapes; ++i) GRAPHTREE_RETURN_IF_ERROR(records.Call(i % kShapes));
  uint32_t next = 0;
  const auto record = [&] {
    GRAPHTREE_RETURN_IF_ERROR(records.Call(next++ % kShapes));
    return records.Drain();
  };
  const auto record_bare = [&] {
    GRAPHTREE_RETURN_IF_ERROR(records.RecordBare(next++ % kShapes));
    GRAPHTREE_RETURN_IF_ERROR(records.Drain());
    if (next % kResident == 0) records.ForgetBare();
    return absl::OkStatus();
  };
  std::vector<double> ours, bare;
  absl::Status status;
  for (int round = 0; round < (bench::Smoke() ? 1 : 5) && status.ok(); ++round) {
    const uint64_t recordings = records.stats().recordings;
    Beside tree(record);
    ours.push_back(LongWait([&] { status.Update(replays.Step()); }, [&] { replays.Drain(); }));
    status.Update(tree.Stop());
    if (status.ok() && records.stats().recordings == recordings) {
      status = absl::InternalError("the other tree replayed instead of recording");
    }
    Beside calls(record_bare);
    bare.push_back(LongWait([&] { replays.BareStep(); }, [&] { replays.Drain(); }));
    status.Update(calls.Stop());
    records.ForgetBare();
  }
  if (!status.ok()) return status;
  return Measurement{.ours = Median(ours), .baseline = Median(bare)};
}

GRAPHTREE_ROW(WaitBesideARecording, {.name = "tree.cuda.wait_beside_recording",
                                     .ours = "p99.9 of a replay while another tree records",
                                     .against = "of a bare launch beside bare recordings",
                                     .goal = "ratio <= 1.1"}) {
  return WaitBeside("cuda");
}

}  // namespace
}  // namespace graphtree
