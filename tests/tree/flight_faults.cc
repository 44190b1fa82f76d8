// Calls that fail while their work is in flight: whoever waits for the stream of the call has
// waited for all of it, and what was taken back stays so. Where that cannot be had the tree says
// that it is lost.
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "device/base/status_matchers.h"
#include "device/error.h"
#include "graphs/random/generator.h"
#include "graphs/random/random_source.h"
#include "graphs/random/uniform.h"
#include "graphs/tree_stats.h"
#include "gtest/gtest.h"
#include "tests/kernels/launches.h"
#include "tests/tree/fault_caller.h"

namespace graphtree {
namespace {

using absl::StatusCode;

constexpr int64_t kWords = 1024;
constexpr uint64_t kBytes = kWords * sizeof(uint32_t);

// A device with a tree, two streams, and memory of the caller's that it looks at and writes by
// itself, as a caller may that has waited for the stream of its last call.
class Flight {
 public:
  explicit Flight(const TreeOptions& options = {}, uint64_t seed = 1)
      : device_(OpenHostDevice({.seed = seed}).value()) {
    for (auto& stream : streams_) stream = device_.NewStream().value();
    buffer_ = device_.memory().AllocateHost(kBytes).value();
    tree_ = Tree::Create(device_, options).value();
    Put(0);
  }
  ~Flight() {
    device_.plan().Clear();
    tree_.reset();
    for (auto& stream : streams_) stream.reset();
    buffer_.reset();
    EXPECT_THAT(device_.Close(), IsOk());
  }

  FaultPlan& plan() { return device_.plan(); }
  FaultDevice& device() { return device_; }
  Tree& tree() { return *tree_; }
  void Close() { tree_.reset(); }
  Stream& stream(size_t i = 0) { return *streams_[i]; }
  Tensor input() const { return Tensor::Foreign(buffer_->range().base, WordsLayout(kWords)); }
  void Put(uint32_t first) {
    for (uint32_t i = 0; i < kWords; ++i) words()[i] = first + i;
  }
  // The first of the words; all must follow from it.
  uint32_t Held() {
    for (uint32_t i = 1; i < kWords; ++i) {
      EXPECT_EQ(words()[i], words()[0] + i) << "torn at " << i;
      if (words()[i] != words()[0] + i) break;
    }
    return words()[0];
  }
  absl::Status Run(FunctionId function, size_t stream = 0) {
    Values inputs = {input()}, outputs;
    tree_->BeginStep();
    return tree_->Run(function, absl::MakeSpan(inputs), *streams_[stream], &outputs);
  }

 private:
  uint32_t* words() { return static_cast<uint32_t*>(buffer_->data()); }

  FaultDevice device_;
  std::array<std::unique_ptr<Stream>, 2> streams_;
  std::unique_ptr<HostBuffer> buffer_;
  std::unique_ptr<Tree> tree_;
};

Values BumpsIt(Launcher& on, Values& inputs) {
  Bump(on, inputs[0], 1);
  return {};
}

// Adds 111 in three places, the second of them a part that waits.
Values BumpsAroundAPart(Launcher& on, Values& inputs) {
  const Tensor x = Tensor::From(inputs[0]);
  Bump(on, x, 1);
  on.Break("waits", {InOut(x)}, [](Launcher& part, absl::Span<const Tensor> tensors) {
    part.Fail(part.stream().Synchronize());
    Bump(part, tensors[0], 10);
    part.Fail(part.stream().Synchronize());
  });
  Bump(on, x, 100);
  return {};
}

TEST(FlightFaultTest, WhereNoEventCanBeHadTheHostWaits) {
  for (const char* call : {"Stream.Record", "Stream.Wait"}) {
    for (uint64_t n = 1; n <= 3; ++n) {
      SCOPED_TRACE(absl::StrCat(call, " ", n));
      Flight flight;
      const FunctionId function = flight.tree().Register("f", {}, BumpsIt);
      flight.plan().FailCallOf(call, n, ErrorCode::kUnknown);
      EXPECT_THAT(flight.Run(function), IsOk());
      EXPECT_EQ(flight.plan().fired(), n <= 2 ? 1u : 0u);
      EXPECT_THAT(flight.stream().Synchronize(), IsOk());
      EXPECT_EQ(flight.Held(), 1u);
      flight.Put(7);
      flight.Close();
      EXPECT_EQ(flight.Held(), 7u) << "something of the call ran behind its stream";
    }
  }
}

// The body has run when neither an event nor a wait can be had.
TEST(FlightFaultTest, ATreeWhoseWorkCannotBeOrderedIsLost) {
  Flight flight;
  bool fails = true;
  const FunctionId function =
      flight.tree().Register("f", {}, [&](Launcher& on, Values& inputs) {
        if (fails) {
          flight.plan().FailEveryCallOf("Stream.Record", ErrorCode::kUnknown);
          flight.plan().FailEveryCallOf("Stream.Synchronize", ErrorCode::kUnknown);
        }
        return BumpsIt(on, inputs);
      });
  const absl::Status first = flight.Run(function);
  EXPECT_THAT(first, FailsWith(StatusCode::kUnknown, "the tree is lost since a call of 'f'"));
  EXPECT_THAT(first, FailsWith(StatusCode::kUnknown, "cannot be ordered"));
  EXPECT_EQ(ErrorCodeOf(first), ErrorCode::kUnknown);
  flight.plan().Clear();
  fails = false;
  for (int i = 0; i < 2; ++i) EXPECT_EQ(flight.Run(function), first) << "the first error stays";
  flight.Close();
  EXPECT_EQ(flight.Held(), 1u) << "closing waits";
}

// The side's work still reads what the call made, and the next call is given that memory.
TEST(FlightFaultTest, AForkThatCannotBeJoinedIsAwaitedOnTheHost) {
  Flight flight;
  const auto twice_on_side = [&flight](Launcher& on, Values& inputs) {
    const Tensor x = Sum(on, inputs[0], inputs[0]);
    const Tensor y = on.Empty(x.layout());
    on.Reads(x);
    on.Writes(y);
    Stream& side = flight.stream(1);
    on.Fork(side);
    if (!on.ok()) return Values{};
    on.Fail(Add(side, y.raw_bytes(), x.raw_bytes(), x.raw_bytes()));
    flight.plan().FailCallOf("Stream.Record", 1, ErrorCode::kOutOfMemory);
    flight.plan().FailCallOf("Stream.Synchronize", 1, ErrorCode::kOutOfMemory);
    on.JoinForks();
    flight.plan().Clear();
    return Values{y};
  };
  const FunctionId forks = flight.tree().Register("forks", {.exclude = true}, twice_on_side);
  const FunctionId next = flight.tree().Register("next", {.exclude = true}, Thrice);
  for (int round = 0; round < 4; ++round) {
    Values inputs = {flight.input()}, outputs;
    EXPECT_THAT(flight.tree().Run(forks, absl::MakeSpan(inputs), flight.stream(), &outputs),
                IsOk());
    outputs.clear();
    inputs = {flight.input()};
    EXPECT_THAT(flight.tree().Run(next, absl::MakeSpan(inputs), flight.stream(), &outputs), IsOk());
    EXPECT_THAT(flight.stream().Synchronize(), IsOk());
  }
  EXPECT_THAT(flight.device().health(), IsOk());
}

// Adds 1 on a stream that the body forks, behind a kernel that takes its time.
class Forking {
 public:
  // In the body, in an eager part of it, or there in a part of the part.
  enum class Where : uint8_t { kBody, kPart, kPartOfPart };

  Forking(Flight& flight, Where where, const FunctionOptions& options)
      : flight_(flight),
        function_(flight.tree().Register("forks", options, [this, where](Launcher& on, Values& in) {
          const Tensor x = Tensor::From(in[0]);
          if (where == Where::kBody) {
            on.Writes(x);
            BumpOnFork(on, x);
          } else {
            on.Break("forks", {InOut(x)}, [this, where](Launcher& part, auto tensors) {
              if (where == Where::kPart) return BumpOnFork(part, tensors[0]);
              part.Break("inside", {InOut(tensors[0])}, [this](Launcher& inner, auto same) {
                BumpOnFork(inner, same[0]);
              });
            });
          }
          return Values{};
        })) {}

  absl::Status Run() { return flight_.Run(function_); }
  // These calls fail at every time from the next fork on.
  void FailAfterFork(std::vector<const char*> calls) { failing_ = std::move(calls); }

 private:
  void BumpOnFork(Launcher& on, const Tensor& x) {
    Stream& side = flight_.stream(1);
    on.Fork(side);
    if (!on.ok()) return;
    on.Fail(Delay(side, 100));
    on.Fail(Increment(side, x.raw_bytes(), 1));
    for (const char* call : failing_) flight_.plan().FailEveryCallOf(call, ErrorCode::kUnknown);
  }

  Flight& flight_;
  std::vector<const char*> failing_;
  const FunctionId function_;
};

constexpr Forking::Where kEverywhere[] = {Forking::Where::kBody, Forking::Where::kPart,
                                          Forking::Where::kPartOfPart};

// What was put on the fork can be waited for all the same. Whoever waits for the call's stream has
// waited for it, in every kind of run and whether the call fails or not.
TEST(FlightFaultTest, WhereNoStreamSaysWhetherItCapturesForksAreAwaited) {
  for (const Forking::Where where : kEverywhere) {
    for (const bool is_eager : {false, true}) {
      for (const int before : {0, 1, 2, 3}) {
        SCOPED_TRACE(absl::StrCat("in ", static_cast<int>(where), is_eager ? ", eagerly" : "",
                                  ", behind ", before, " calls"));
        Flight flight;
        Forking forking(flight, where, {.static_inputs = {0}, .exclude = is_eager});
        for (int i = 0; i < before; ++i) ASSERT_THAT(forking.Run(), IsOk());
        flight.plan().FailEveryCallOf("Stream.Capture", ErrorCode::kUnknown);
        for (int i = 0; i < 3; ++i) {
          const absl::Status status = forking.Run();
          EXPECT_FALSE(absl::StrContains(status.message(), "is lost")) << status;
          ASSERT_THAT(flight.stream().Synchronize(), IsOk());
          flight.Put(7);
        }
        flight.plan().Clear();
        EXPECT_THAT(forking.Run(), IsOk());
        ASSERT_THAT(flight.stream().Synchronize(), IsOk());
        EXPECT_EQ(flight.Held(), 8u);
        flight.Close();
        EXPECT_EQ(flight.Held(), 8u) << "something of the calls ran behind them";
        EXPECT_THAT(flight.device().health(), IsOk());
      }
    }
  }
}

TEST(FlightFaultTest, ATreeIsLostWhoseForkCanBeNeitherOrderedNorAwaited) {
  for (const Forking::Where where : kEverywhere) {
    for (const char* order : {"Stream.Capture", "Stream.Record"}) {
      // A body is captured in the second call, and a part runs in it at once.
      for (const int before : {0, 1, 2}) {
        const bool is_eager = where == Forking::Where::kBody;
        SCOPED_TRACE(absl::StrCat(order, " in ", static_cast<int>(where), " behind ", before));
        Flight flight;
        Forking forking(flight, where, {.static_inputs = {0}, .exclude = is_eager});
        for (int i = 0; i < before; ++i) ASSERT_THAT(forking.Run(), IsOk());
        forking.FailAfterFork({order, "Stream.Synchronize", "Event.Synchronize"});
        const absl::Status first = forking.Run();
        // Where a warm-up's part forks, the warm-up's own work cannot be ordered either.
        const bool is_warm_up = before == 0 && !is_eager;
        for (const char* told : {"the tree is lost since a call of 'forks' failed",
                                 is_warm_up ? "its work cannot be ordered"
                                            : "a stream that it forked", "injected fault"}) {
          EXPECT_TRUE(absl::StrContains(first.message(), told)) << told << ": " << first;
        }
        flight.plan().Clear();
        forking.FailAfterFork({});
        for (int i = 0; i < 2; ++i) EXPECT_EQ(forking.Run(), first) << "the first error stays";
        flight.Close();
        const uint32_t held = flight.Held();
        EXPECT_THAT(flight.stream(1).Synchronize(), IsOk());
        EXPECT_EQ(flight.Held(), held) << "closing waits";
      }
    }
  }
}

// Faults anywhere around a function that breaks and changes its caller's memory, on two streams, in
// all routes. After each call its caller waits for its stream, looks, and writes anew.
TEST(FlightFaultTest, NothingOfAFailedCallArrivesLate) {
  constexpr int kSeeds = 300;
  int failed = 0, recorded = 0, replayed = 0, lost = 0;
  for (int seed = 1; seed <= kSeeds; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&random](uint32_t n) { return static_cast<uint32_t>(random() % n); };
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Flight flight({.check = below(4) == 0}, seed);
    FunctionOptions options;
    if (below(2) == 0) options.static_inputs = {0};
    if (below(2) == 0) options.mutated_inputs = {0};
    bool asks = false;  // for another warm-up
    const FunctionId breaks =
        flight.tree().Register("breaks", options, [&asks](Launcher& on, Values& inputs) {
          if (asks) on.WarmUpAgain("not settled");
          return BumpsAroundAPart(on, inputs);
        });
    options.exclude = true;
    const FunctionId eager = flight.tree().Register("eager", options, BumpsAroundAPart);
    uint32_t held = 0;
    for (int call = 0; call < 12 && !testing::Test::HasFailure(); ++call) {
      const uint64_t before = flight.plan().fired();
      // The first two show that the functions break.
      const bool is_first = call < 2;
      asks = below(3) == 0;
      const uint32_t faults = is_first ? 0 : below(4);
      for (uint32_t i = 0; i < faults; ++i) {
        flight.plan().FailCall(1 + below(40), below(2) == 0 ? ErrorCode::kUnknown
                                                            : ErrorCode::kOutOfMemory);
      }
      const size_t stream = below(2);
      const bool runs_eagerly = is_first ? call == 1 : below(4) == 0;
      const absl::Status status = flight.Run(runs_eagerly ? eager : breaks, stream);
      const bool fired = flight.plan().fired() > before;
      flight.plan().Clear();
      ASSERT_THAT(flight.stream(stream).Synchronize(), IsOk());
      EXPECT_TRUE(status.ok() || fired) << status;
      if (absl::StrContains(status.message(), "the tree is lost")) {
        ++lost;
        break;
      }
      if (!absl::StrContains(status.message(), "could not be taken back")) {
        EXPECT_EQ(flight.Held(), held + (status.ok() ? 111 : 0))
            << "call " << call << ": " << status;
      }
      failed += status.ok() ? 0 : 1;
      held = below(1u << 30);
      flight.Put(held);
    }
    recorded += flight.tree().stats().recordings > 0 ? 1 : 0;
    replayed += flight.tree().stats().replays > 0 ? 1 : 0;
    flight.Close();
    if (testing::Test::HasFailure()) break;
  }
  EXPECT_GT(failed, 300);
  EXPECT_GT(recorded, kSeeds / 2);
  EXPECT_GT(replayed, kSeeds / 4);
  EXPECT_LT(lost, kSeeds / 20);
}

// What a call saves before its first section is what the call before it, on another stream, has
// made of it; and so it is what comes back.
TEST(FlightFaultTest, WhatIsSavedIsWhatTheLastCallMade) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Flight flight({}, seed);
    bool fails = false;
    const FunctionId function = flight.tree().Register(
        "f", {.static_inputs = {0}}, [&fails](Launcher& on, Values& inputs) {
          const Tensor x = Tensor::From(inputs[0]);
          Bump(on, x, 1);
          on.Break("may fail", {InOut(x)}, [&fails](Launcher& part, absl::Span<const Tensor>) {
            if (fails) part.Fail(absl::UnavailableError("no more"));
          });
          return Values{};
        });
    const FunctionId bumps = flight.tree().Register("bumps", {.exclude = true}, BumpsIt);
    ASSERT_THAT(flight.Run(function, 0), IsOk());
    ASSERT_THAT(flight.Run(bumps, 0), IsOk());
    fails = true;
    EXPECT_THAT(flight.Run(function, 1), FailsWith(StatusCode::kUnavailable, "no more"));
    EXPECT_THAT(flight.stream(1).Synchronize(), IsOk());
    EXPECT_EQ(flight.Held(), 2u);
  }
}

// Whatever a checked call waits for: its caller reads in which function the device failed.
TEST(FlightFaultTest, InCheckedModeAFailedWaitNamesItsFunction) {
  for (const int before : {0, 1, 2, 3}) {
    uint64_t failures = 0;
    for (uint64_t n = 1;; ++n) {
      SCOPED_TRACE(absl::StrCat("wait ", n, " behind ", before, " calls"));
      Flight flight({.check = true});
      const FunctionId function =
          flight.tree().Register("checked", {.static_inputs = {0}}, BumpsIt);
      for (int i = 0; i < before; ++i) ASSERT_THAT(flight.Run(function), IsOk());
      for (uint64_t i = 0; i < 3; ++i) {
        flight.plan().FailCallOf("Stream.Synchronize", n + i, ErrorCode::kUnknown);
      }
      const absl::Status status = flight.Run(function);
      if (flight.plan().fired() == 0) break;
      if (status.ok()) continue;
      ++failures;
      EXPECT_TRUE(absl::StrContains(status.message(), "'checked'")) << status;
    }
    EXPECT_GE(failures, 1u);
  }
}

// Any call of a checked run that draws random numbers may fail: the generator is where it was, and
// the next run draws what the failed one did.
void AnyCallGivesNumbersBack(const FunctionOptions& options, int calls_before, uint64_t one_call,
                             const std::function<void(Launcher&, const GeneratorPtr&)>& body) {
  uint64_t failures = 0;
  for (uint64_t n = 1;; ++n) {
    SCOPED_TRACE(absl::StrCat("call ", n, " behind ", calls_before, " that work"));
    Flight flight({.check = true});
    const auto generator = std::make_shared<Generator>(5);
    const FunctionId function = flight.tree().Register(
        "draws", options, [&](Launcher& on, Values& inputs) {
          Bump(on, inputs[0], 1);
          body(on, generator);
          return Values{};
        });
    for (int i = 0; i < calls_before; ++i) ASSERT_THAT(flight.Run(function), IsOk());
    const uint64_t before = generator->offset();
    flight.plan().FailCall(n, ErrorCode::kUnknown);
    const absl::Status status = flight.Run(function);
    const bool fired = flight.plan().fired() > 0;
    const std::string where = flight.plan().fired_in();
    flight.plan().Clear();
    EXPECT_TRUE(status.ok() || fired) << status;
    failures += status.ok() ? 0 : 1;
    EXPECT_EQ(generator->offset(), before + (status.ok() ? one_call : 0)) << where;
    ASSERT_THAT(flight.Run(function), IsOk()) << where;
    EXPECT_EQ(generator->offset(), before + one_call * (status.ok() ? 2 : 1)) << where;
    if (!fired || testing::Test::HasFailure()) break;
  }
  EXPECT_GE(failures, 3u);
}

void Draws(Launcher& on, const GeneratorPtr& generator) {
  const Tensor numbers = on.Empty(DType::kF32, {kWords});
  const RandomState state = on.Random(generator, kWords);
  const uint32_t count = kWords;
  on.Launch(UniformKernel(), UniformShape(count), {Out(numbers), Val(count), Val(state)});
}

void DrawsAroundAPart(Launcher& on, const GeneratorPtr& generator) {
  Draws(on, generator);
  on.Break("draws, too", {}, [generator](Launcher& part, absl::Span<const Tensor>) {
    Draws(part, generator);
  });
  Draws(on, generator);
}

TEST(FlightFaultTest, AWarmUpGivesItsRandomNumbersBack) {
  AnyCallGivesNumbersBack({}, 0, kWords, Draws);
}
TEST(FlightFaultTest, ARecordingGivesItsRandomNumbersBack) {
  AnyCallGivesNumbersBack({}, 1, kWords, Draws);
}
TEST(FlightFaultTest, AReplayGivesItsRandomNumbersBack) {
  AnyCallGivesNumbersBack({}, 2, kWords, Draws);
}
TEST(FlightFaultTest, AnEagerRunGivesItsRandomNumbersBack) {
  AnyCallGivesNumbersBack({.exclude = true}, 1, kWords, Draws);
}
TEST(FlightFaultTest, AWarmUpWithPartsGivesItsRandomNumbersBack) {
  AnyCallGivesNumbersBack({}, 0, 3 * kWords, DrawsAroundAPart);
}
TEST(FlightFaultTest, ARecordingWithPartsGivesItsRandomNumbersBack) {
  AnyCallGivesNumbersBack({}, 1, 3 * kWords, DrawsAroundAPart);
}
TEST(FlightFaultTest, AReplayWithPartsGivesItsRandomNumbersBack) {
  AnyCallGivesNumbersBack({}, 2, 3 * kWords, DrawsAroundAPart);
}

}  // namespace
}  // namespace graphtree
