// A server of two lanes that parks, wakes, lends and records beside its steps, for long: results
// are right, budgets hold, and memory is flat.
//
//   lane 0, tag "graphs"    ids + the words of "cache", a tag that comes back written anew
//   lane 1, tag "others"    ids + ids
//
// The sizes that are asked for shift. A few seconds by default; GRAPHTREE_SOAK_SECONDS=N runs for N
// seconds.
#include <malloc.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "device/address.h"
#include "device/base/status_matchers.h"
#include "device/device.h"
#include "device/host/host_device.h"
#include "graphs/tensor.h"
#include "gtest/gtest.h"
#include "runtime/lending.h"
#include "runtime/metrics.h"
#include "runtime/parking.h"
#include "runtime/progress.h"
#include "runtime/runtime.h"
#include "tests/runtime/adding_program.h"
#include "tests/tree/flat.h"

namespace graphtree {
namespace {

constexpr int64_t kMost = 96;
constexpr int32_t kMostRecorded = 64;  // larger steps run eagerly, in memory that is idle then
constexpr int64_t kRoundsByDefault = 4000;
constexpr uint64_t kPoolBytes = uint64_t{24} << 20;
constexpr Share kShared = {.nodes = 12, .executables = 8, .executable_bytes = 8 * (120 << 10)};

// REQUIRES: there is a value.
template <typename T>
T Made(absl::StatusOr<T> made) {
  EXPECT_THAT(made, IsOk());
  return *std::move(made);
}

class ParkSoakTest : public testing::Test {
 protected:
  void SetUp() override {
    device_ = Made(OpenHostDevice({}));
    stream_ = Made(device_->NewStream());
    RuntimeOptions options;
    options.pool_bytes = kPoolBytes;
    options.shared = kShared;
    options.tree.budget.retry_after = 16;
    runtime_ = Made(Runtime::Create(*device_, options));
    cache_ = Made(runtime_->AddMemory({.tag = "cache", .name = "cache", .bytes = 4 * kMost}));
    FillCache();
    ProgramOptions reads = AddingProgram("graphs", "graphs", 0, kMost, cache_);
    reads.needs = {"cache"};
    programs_[0] = Made(runtime_->AddProgram(reads));
    programs_[1] = Made(runtime_->AddProgram(AddingProgram("others", "others", 1, kMost)));
    std::vector<Key> keys;
    for (int32_t size = 8; size <= kMostRecorded; size += 8) keys.push_back({.tokens = size});
    for (const ProgramId program : programs_) {
      ASSERT_THAT(runtime_->AddShapes(program, keys), IsOk());
    }
  }
  void TearDown() override {
    outputs_.clear();
    loan_ = Loan();
    runtime_ = nullptr;
    stream_ = nullptr;
    EXPECT_THAT(device_->Close(), IsOk());
  }

  void FillCache() {
    cache_word_ += 1000;
    ASSERT_THAT(stream_->Fill(cache_.base, static_cast<uint32_t>(cache_word_), 4, kMost), IsOk());
  }
  void StepOf(size_t which, int32_t tokens, int32_t first) {
    outputs_.clear();
    absl::StatusOr<Step> step = runtime_->Begin(programs_[which], {.tokens = tokens}, *stream_);
    ASSERT_THAT(step, IsOk());
    std::vector<int32_t> ids(static_cast<size_t>(tokens));
    for (int32_t i = 0; i < tokens; ++i) ids[i] = first + i;
    ASSERT_THAT(step->Stage(0, HostRows{ids.data(), DType::kI32, tokens}), IsOk());
    ASSERT_THAT(step->Run(&outputs_), IsOk());
    ASSERT_THAT(stream_->Synchronize(), IsOk());
    const AddressRange found = Tensor::From(outputs_[0]).raw_bytes();
    for (int32_t i = 0; i < tokens; ++i) {
      const int32_t other = which == 0 ? cache_word_ : ids[i];
      ASSERT_EQ(PointerTo<int32_t>(found.base)[i], ids[i] + other) << "program " << which;
    }
  }
  void ParkAndWake(uint32_t random) {
    const char* const tag = random % 3 == 0 ? "cache" : random % 3 == 1 ? "graphs" : "others";
    const Contents contents = random / 3 % 2 == 0 ? Contents::kDrop : Contents::kKeep;
    loan_ = Loan();
    outputs_.clear();
    ASSERT_THAT(runtime_->Park(tag, contents), IsOk());
    ASSERT_THAT(runtime_->Wake(tag), IsOk());
    if (random % 3 == 0 && contents == Contents::kDrop) FillCache();
    parks_ += 1;
  }
  // What is idle is lent, and written to.
  void Lend(uint32_t random) {
    absl::StatusOr<Loan> loan = runtime_->Lend(
        {.bytes = uint64_t{1} << (10 + random % 10),
         .until = random % 2 == 0 ? LoanUntil::kNextStep : LoanUntil::kGivenBack,
         .lane = random / 2 % 2},
        *stream_);
    if (!loan.ok()) {
      ASSERT_THAT(loan.status(), FailsWith(absl::StatusCode::kResourceExhausted, "idle"));
      return;
    }
    ASSERT_THAT(stream_->Fill(loan->range().base, 7, 1, loan->range().bytes), IsOk());
    loan_ = *std::move(loan);
    loans_ += 1;
  }
  void Record() {
    outputs_.clear();
    ASSERT_THAT(runtime_->Progress(*stream_, {.ends_steps = true}), IsOk());
  }
  void Note(double share) {
    ASSERT_THAT(stream_->Synchronize(), IsOk());
    uint64_t nodes = 0, executables = 0, pool = 0;
    const Metrics metrics = runtime_->metrics();
    for (const LaneMetrics& lane : metrics.lanes) {
      nodes += lane.tree.nodes;
      executables += lane.tree.executables;
      pool += lane.tree.pool_reserved_bytes;
    }
    ASSERT_LE(nodes, kShared.nodes);
    ASSERT_LE(executables, kShared.executables);
    ASSERT_LE(pool, kPoolBytes);
    heap_.Note(share, mallinfo2().uordblks);
    const MemoryInfo info = Made(device_->memory().Info());
    used_.Note(share, info.total_bytes - info.free_bytes);
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Runtime> runtime_;
  AddressRange cache_;
  int32_t cache_word_ = 0;
  ProgramId programs_[2];
  Values outputs_;
  Loan loan_;
  int parks_ = 0, loans_ = 0;
  Flat heap_, used_;
};

TEST_F(ParkSoakTest, MemoryIsFlat) {
  std::mt19937 random(21);
  const SoakProgress progress(kRoundsByDefault);
  int32_t center = 40;
  int64_t round = 0;
  for (; progress.share(round) < 1 && !HasFatalFailure(); ++round) {
    if (round % 200 == 199) center = 8 + static_cast<int32_t>(random() % (kMost - 16));
    const uint32_t what = random() % 100;
    if (what < 6) {
      ParkAndWake(random());
    } else if (what < 12) {
      Lend(random());
    } else if (what < 18) {
      Record();
    } else {
      StepOf(random() % 2, center + static_cast<int32_t>(random() % 8),
             static_cast<int32_t>(random() % 1000));
    }
    if (round % 16 == 0) Note(progress.share(round));
  }
  uint64_t replays = 0, recordings = 0;
  for (const LaneMetrics& lane : runtime_->metrics().lanes) {
    replays += lane.tree.replays;
    recordings += lane.tree.recordings;
  }
  std::printf("%lld rounds, %llu replays, %llu recordings, %d parks, %d loans, "
              "heap %llu -> %llu KiB, device %llu -> %llu KiB\n",
              static_cast<long long>(round), static_cast<unsigned long long>(replays),
              static_cast<unsigned long long>(recordings), parks_, loans_,
              static_cast<unsigned long long>(heap_.early() >> 10),
              static_cast<unsigned long long>(heap_.late() >> 10),
              static_cast<unsigned long long>(used_.early() >> 10),
              static_cast<unsigned long long>(used_.late() >> 10));
  EXPECT_GT(parks_, round / 40);
  EXPECT_GT(loans_, round / 100);
  EXPECT_GT(replays, static_cast<uint64_t>(round) / 4);
  EXPECT_LE(heap_.late(), heap_.early() + heap_.early() / 10);
  EXPECT_LE(used_.late(), used_.early() + used_.early() / 10);
}

}  // namespace
}  // namespace graphtree
