// Lanes of one runtime on a thread each, of which one gives its kept outputs to the others, while
// all of them warm up and record.
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/kernels/launches.h"
#include "tests/runtime/runtime_fixture.h"

namespace graphtree {
namespace {

class LanesGiveTest : public RuntimeTest {
 protected:
  static constexpr int kSteps = 30;
  static constexpr int32_t kRows = 8;

  struct Given {
    Tensor tensor;
    Ids ids;
  };

  // Doubles its ids, in the lane. Its body, which others' calls come into the middle of, takes its
  // time while it is recorded.
  ProgramId AddSlow(uint32_t lane) {
    ProgramOptions options = DoubleOptions("lane " + std::to_string(lane));
    options.lane = lane;
    if (lane == 0) options.kept_outputs = {0};
    options.body = [this](Launcher& on, const ProgramInputs& in) {
      Values outputs = DoubleBody(on, in);
      const int seen = passed_;
      for (int i = 0; i < 200 && passed_ < seen + 2; ++i) std::this_thread::yield();
      return outputs;
    };
    const absl::StatusOr<ProgramId> program = runtime().AddProgram(std::move(options));
    EXPECT_THAT(program, IsOk());
    std::vector<Key> keys;
    for (int32_t tokens = kRows; tokens <= kMost; tokens += kRows) {
      keys.push_back({.tokens = tokens});
    }
    EXPECT_THAT(runtime().AddShapes(*program, keys), IsOk());
    return *program;
  }
  static int32_t TokensOf(int step) { return kRows * (1 + step / 3 % (kMost / kRows)); }

  absl::Status Run(ProgramId program, const Given& from, bool from_host, Stream& stream,
                   Values* outputs) {
    const auto tokens = static_cast<int32_t>(from.ids.size());
    absl::StatusOr<Step> step = runtime().Begin(program, {.tokens = tokens}, stream);
    if (!step.ok()) return step.status();
    absl::Status status = from_host
                              ? step->Stage(0, HostRows{from.ids.data(), DType::kI32, tokens})
                              : step->Stage(0, from.tensor);
    if (status.ok()) status = step->Run(outputs);
    ++passed_;
    return status;
  }
  // The ids that the first output should have; an error if it has others.
  static absl::Status Check(Stream& stream, const Value& output, const Ids& expected) {
    Ids found(expected.size());
    absl::Status status = stream.Copy(AddressOf(found.data()), output.word(), 4 * found.size());
    if (status.ok()) status = stream.Synchronize();
    if (status.ok() && found != expected) status = absl::InternalError("wrong ids");
    return status;
  }

  void Give(ProgramId program, Stream& stream) {
    for (int step = 0; step < kSteps && failure().ok(); ++step) {
      Given given{Tensor(), IdsFrom(100 * step, TokensOf(step))};
      Values outputs;
      absl::Status status = Run(program, given, true, stream, &outputs);
      given.ids = Doubled(given.ids, given.ids.size());
      if (status.ok()) status = Check(stream, outputs[0], given.ids);
      if (!status.ok()) return Fail(status);
      given.tensor = Tensor::From(outputs[0]);
      const std::lock_guard<std::mutex> lock(mutex_);
      given_.push_back(std::move(given));
    }
    gives_ = false;
  }
  void Take(ProgramId program, Stream& stream) {
    for (int step = 0; failure().ok(); ++step) {
      const bool is_last = !gives_;
      std::optional<Given> taken;
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (!given_.empty()) {
          taken = std::move(given_.back());
          given_.pop_back();
        }
      }
      if (!taken.has_value() && is_last) return;
      if (!taken.has_value()) continue;
      Values outputs;
      absl::Status status = Run(program, *taken, false, stream, &outputs);
      taken->tensor = {};
      if (status.ok()) status = Check(stream, outputs[0], Doubled(taken->ids, taken->ids.size()));
      if (!status.ok()) return Fail(status);
    }
  }
  void Fail(const absl::Status& status) {
    const std::lock_guard<std::mutex> lock(mutex_);
    failure_.Update(status);
  }
  absl::Status failure() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return failure_;
  }

  std::atomic<int> passed_{0};
  std::atomic<bool> gives_{true};
  std::mutex mutex_;
  std::vector<Given> given_;  // guarded by mutex_
  absl::Status failure_;      // guarded by mutex_
};
GRAPHTREE_ON_EVERY_DEVICE(LanesGiveTest);

TEST_P(LanesGiveTest, KeptOutputsWhileAllRecord) {
  ASSERT_OK_AND_ASSIGN(const auto third, device().NewStream());
  for (int round = 0; round < 5 && failure().ok(); ++round) {
    OpenRuntime({});
    gives_ = true;
    const std::vector<ProgramId> programs = {AddSlow(0), AddSlow(1), AddSlow(2)};
    std::thread second([&] { Take(programs[1], b()); });
    std::thread other([&] { Take(programs[2], *third); });
    Give(programs[0], a());
    gives_ = false;
    second.join();
    other.join();
    given_.clear();
    ASSERT_THAT(failure(), IsOk()) << "round " << round;
    uint64_t recordings = 0;
    for (uint32_t lane = 0; lane < 3; ++lane) {
      recordings += runtime().tree(lane)->stats().recordings;
    }
    EXPECT_GT(recordings, 0u);
  }
  EXPECT_THAT(device().health(), IsOk());
}

}  // namespace
}  // namespace graphtree
