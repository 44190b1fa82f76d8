// Shapes that shift under a small budget, for long: the budgets hold at every step, memory is flat,
// results are right, and most calls are replays all the same.
//
//   working set   8 of 256 sizes, most calls to few of them; now and then one is exchanged
//   beside it     one step in 16 with a size out of the blue
//
// A few seconds by default; GRAPHTREE_SOAK_SECONDS=N runs for N seconds.
#include <malloc.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "device/base/status_matchers.h"
#include "device/device.h"
#include "device/host/host_device.h"
#include "graphs/tree.h"
#include "graphs/tree_stats.h"
#include "gtest/gtest.h"
#include "tests/kernels/kernels.h"
#include "tests/tree/bodies.h"
#include "tests/tree/flat.h"

namespace graphtree {
namespace {

// REQUIRES: there is a value.
template <typename T>
T Made(absl::StatusOr<T> made) {
  EXPECT_THAT(made, IsOk());
  return *std::move(made);
}

constexpr int kSizes = 256;
constexpr int kWorkingSet = 8;
constexpr int kStepsByDefault = 6000;
// The share of calls that must be replays; the default run comes to 0.93.
constexpr double kHitRate = 0.90;

constexpr TreeBudget kBudget = {.nodes = 24,
                                .executables = 14,
                                .executable_bytes = 14 * (120 << 10),
                                .siblings = 4,
                                .shapes_of_function = 14,
                                .shapes = 26,
                                .half_life = 512,
                                .retry_after = 256};

class SoakTest : public testing::Test {
 protected:
  void SetUp() override {
    device_ = Made(OpenHostDevice({}));
    stream_ = Made(device_->NewStream());
    Memory& memory = device_->memory();
    bytes_ = memory.granularity();
    range_ = Made(memory.Reserve(bytes_, {}));
    physical_ = Made(memory.Create(bytes_));
    ASSERT_THAT(memory.Map(range_.base, *physical_), IsOk());
    ASSERT_THAT(memory.SetAccess(range_, MemoryAccess::kReadWrite), IsOk());
    memory.NoteLive(range_, "the caller's own memory");
    ASSERT_THAT(stream_->Fill(range_.base, 3, 4, kSizes), IsOk());
    for (int size = 1; size <= kSizes; ++size) WordsLayout(size);
    TreeOptions options;
    options.pool_bytes = 64 << 20;
    options.budget = kBudget;
    tree_ = Made(Tree::Create(*device_, options));
    first_ = tree_->Register("first", {}, Twice);
    second_ = tree_->Register("second", {}, ConsumeTwice);
  }
  void TearDown() override {
    outputs_.clear();
    tree_.reset();
    if (physical_ != nullptr) {
      EXPECT_THAT(device_->memory().Unmap(range_), IsOk());
      EXPECT_THAT(device_->memory().Release(range_), IsOk());
    }
    physical_ = nullptr;
    stream_.reset();
    EXPECT_THAT(device_->Close(), IsOk());
  }

  void Step(int size, bool look) {
    tree_->BeginStep();
    Value input = Tensor::Foreign(range_.base, WordsLayout(size));
    ASSERT_THAT(tree_->Run(first_, absl::MakeSpan(&input, 1), *stream_, &outputs_), IsOk());
    ASSERT_THAT(tree_->Run(second_, absl::MakeSpan(outputs_), *stream_, &outputs_), IsOk());
    if (!look) return;
    Words found(size);
    ASSERT_THAT(stream_->Copy(AddressOf(found.data()), outputs_[0].word(), 4 * size), IsOk());
    ASSERT_THAT(stream_->Synchronize(), IsOk());
    ASSERT_EQ(found, Words(size, 12));
  }
  void CheckBudget(const TreeStats& stats) {
    ASSERT_LE(stats.nodes, kBudget.nodes);
    ASSERT_LE(stats.executables, kBudget.executables);
    ASSERT_LE(stats.executable_bytes, kBudget.executable_bytes);
    ASSERT_LE(stats.shapes, kBudget.shapes);
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
  uint64_t bytes_ = 0;
  AddressRange range_;
  std::unique_ptr<PhysicalMemory> physical_;
  std::unique_ptr<Tree> tree_;
  FunctionId first_ = 0;
  FunctionId second_ = 0;
  Values outputs_;
};

TEST_F(SoakTest, ShapesThatShift) {
  std::mt19937 random(20);
  std::vector<int> working_set;
  for (int i = 0; i < kWorkingSet; ++i) working_set.push_back(1 + random() % kSizes);
  const SoakProgress progress(kStepsByDefault);
  Flat heap, device, mapped;
  TreeStats begun;
  int64_t steps = 0;
  for (; progress.share(steps) < 1 && !HasFatalFailure(); ++steps) {
    if (steps % 400 == 399) working_set[random() % kWorkingSet] = 1 + random() % kSizes;
    const int often = std::min(random() % kWorkingSet, random() % kWorkingSet);
    const int size = random() % 16 == 0 ? 1 + random() % kSizes : working_set[often];
    Step(size, steps % 64 == 0);
    const TreeStats stats = tree_->stats();
    CheckBudget(stats);
    const double share = progress.share(steps);
    if (share < 0.2) begun = stats;
    if (steps % 16 != 0) continue;
    ASSERT_THAT(stream_->Synchronize(), IsOk());
    heap.Note(share, mallinfo2().uordblks);
    const absl::StatusOr<MemoryInfo> info = device_->memory().Info();
    device.Note(share, info->total_bytes - info->free_bytes);
    mapped.Note(share, stats.pool_reserved_bytes);
  }
  const TreeStats end = tree_->stats();
  const double hits = static_cast<double>(end.replays - begun.replays) /
                      static_cast<double>(end.calls - begun.calls);
  std::printf("%lld steps, %.3f of the calls replayed, %llu recordings, %llu executables back, "
              "heap %llu -> %llu KiB, device %llu -> %llu KiB\n",
              static_cast<long long>(steps), hits, static_cast<unsigned long long>(end.recordings),
              static_cast<unsigned long long>(end.instantiated_again),
              static_cast<unsigned long long>(heap.early() >> 10),
              static_cast<unsigned long long>(heap.late() >> 10),
              static_cast<unsigned long long>(device.early() >> 10),
              static_cast<unsigned long long>(device.late() >> 10));
  EXPECT_GE(hits, kHitRate);
  EXPECT_GT(end.reasons[static_cast<size_t>(Reason::kShapeEvicted)], 0u);
  EXPECT_GT(end.instantiated_again, 0u);
  EXPECT_LE(heap.late(), heap.early() + heap.early() / 10);
  EXPECT_LE(device.late(), device.early() + device.early() / 10);
  EXPECT_LE(mapped.late(), mapped.early());
}

}  // namespace
}  // namespace graphtree
