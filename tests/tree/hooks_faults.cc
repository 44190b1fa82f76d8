// What is told stays balanced whichever device call fails, and while others join and leave.
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "device/base/status_matchers.h"
#include "device/observer.h"
#include "device/op_identity.h"
#include "graphs/function_hooks.h"
#include "graphs/tree_stats.h"
#include "gtest/gtest.h"
#include "tests/tree/fault_caller.h"

namespace graphtree {
namespace {

// Fails the test where an end has no begin. What is open is open in between calls of Check only.
class Balance : public Observer {
 public:
  Wishes wishes() const override { return {.ops = true, .phases = true}; }
  void Saw(const GraphEvent& event) override {
    const bool is_known = event.identity != nullptr && *event.identity != nullptr;
    switch (event.moment) {
      case GraphMoment::kCaptureBegin: ++captures_; break;
      case GraphMoment::kCaptureEnd:
        --captures_;
        EXPECT_EQ(is_known, event.ok);
        break;
      case GraphMoment::kReplayBegin:
        EXPECT_EQ(std::exchange(launch_, event.launch), 0u);
        EXPECT_TRUE(is_known && (*event.identity)->is_complete);
        break;
      case GraphMoment::kReplayEnd:
        EXPECT_EQ(std::exchange(launch_, 0), event.launch);
        break;
      default: break;
    }
  }
  void SawOp(const OpEvent& event) override {
    if (event.begins) {
      EXPECT_EQ(std::exchange(op_, event.launch), 0u);
    } else {
      EXPECT_EQ(std::exchange(op_, 0), event.launch);
    }
    failed_ += event.ok ? 0 : 1;
  }
  void SawPhase(const PhaseEvent& event) override {
    if (event.begins) {
      phases_.push_back(event.phase);
    } else {
      ASSERT_FALSE(phases_.empty());
      EXPECT_EQ(phases_.back(), event.phase);
      phases_.pop_back();
    }
    failed_ += event.ok ? 0 : 1;
  }
  void Check() {
    EXPECT_EQ(captures_, 0);
    EXPECT_EQ(launch_, 0u);
    EXPECT_EQ(op_, 0u);
    EXPECT_TRUE(phases_.empty());
  }
  uint64_t failed() const { return failed_; }

 private:
  int captures_ = 0;
  uint64_t launch_ = 0, op_ = 0, failed_ = 0;
  std::vector<Phase> phases_;
};

// One function that is recorded whole, and one with a part, both with hooks.
class Caller : public FaultCaller {
 public:
  using FaultCaller::FaultCaller;
  ~Caller() { Close(); }

  bool Open() {
    if (!OpenTree({})) return false;
    tree().observers().Join(&balance_);
    FunctionOptions options;
    options.hooks.before_launch = [this](const LaunchInfo&) {
      ++open_;
      return absl::OkStatus();
    };
    options.hooks.after_launch = [this](const LaunchInfo&, const absl::Status&) { --open_; };
    whole_ = tree().Register("whole", options, [](Launcher& on, Values& inputs) {
      const Tensor sum = Sum(on, inputs[0], inputs[0]);
      Bump(on, sum, 1);
      return Values{sum};
    });
    cut_ = tree().Register("cut", options, [](Launcher& on, Values& inputs) {
      const Tensor sum = Sum(on, inputs[0], inputs[0]);
      if (!on.ok()) return Values{};
      on.Break("bump", {InOut(sum)}, [](Launcher& part, absl::Span<const Tensor> tensors) {
        Bump(part, tensors[0], 1);
      });
      return Values{sum};
    });
    return true;
  }
  bool Step() {
    tree().BeginStep();
    const bool ran = Run(whole_) && Run(cut_);
    balance_.Check();
    EXPECT_EQ(open_, 0) << "before and after";
    return ran;
  }
  Balance& balance() { return balance_; }

 private:
  bool Run(FunctionId function) {
    Values values = {Tensor::Foreign(counter(), WordsLayout(kWords))};
    if (!tree().Run(function, absl::MakeSpan(values), stream(), &values).ok()) return false;
    return Holds(values[0], Words(kWords, 1));
  }
  Balance balance_;
  int open_ = 0;
  FunctionId whole_ = 0, cut_ = 0;
};

TEST(HooksFaultTest, EndsComeWhicheverCallFails) {
  uint64_t told_of_failures = 0;
  const uint64_t calls = ForEveryFailingCall(MakeHost, [&](FaultDevice& device) {
    Caller caller(device);
    if (!caller.Open()) return;
    int failed = 0;
    for (int step = 0; step < 4; ++step) failed += caller.Step() ? 0 : 1;
    EXPECT_LE(failed, 1) << device.plan().fired_in();
    told_of_failures += caller.balance().failed() > 0 ? 1 : 0;
  });
  EXPECT_GE(calls, 40u);
  EXPECT_GE(told_of_failures, 5u);
}

// Heard on the tree's thread while it is joined, and never after it has left.
class Guest : public Observer {
 public:
  explicit Guest(uint64_t replay_in) : replay_in_(replay_in) {}
  ~Guest() override { has_left_ = true; }
  Wishes wishes() const override {
    return {.replay_in = replay_in_, .ops = true, .phases = true};
  }
  void Saw(const GraphEvent& event) override {
    EXPECT_FALSE(has_left_);
    if (event.moment == GraphMoment::kReplayBegin) open_ = event.launch;
    if (event.moment != GraphMoment::kReplayEnd) return;
    EXPECT_EQ(event.launch, open_);
  }
  void SawPhase(const PhaseEvent&) override { EXPECT_FALSE(has_left_); }

 private:
  const uint64_t replay_in_;
  std::atomic<bool> has_left_{false};
  uint64_t open_ = 0;
};

TEST(HooksBesideTest, GuestsComeAndGoWhileATreeReplays) {
  FaultDevice device(MakeHost());
  Caller caller(device);
  ASSERT_TRUE(caller.Open());
  std::atomic<bool> stop{false};
  std::vector<std::thread> guests;
  for (uint64_t number = 0; number < 2; ++number) {
    guests.emplace_back([&, number] {
      while (!stop) {
        Observers& list =
            number == 0 ? caller.tree().observers() : Observers::OfProcess();
        Guest guest(number + 1);
        list.Join(&guest);
        std::this_thread::yield();
        list.Leave(&guest);
      }
    });
  }
  for (int step = 0; step < 60; ++step) EXPECT_TRUE(caller.Step());
  stop = true;
  for (std::thread& guest : guests) guest.join();
  EXPECT_GT(caller.tree().stats().replays, 50u);
  EXPECT_EQ(caller.tree().stats().thrown, 0u);
}

// An observer that leaves inside of its own call, at each kind of event.
class Shy : public Observer {
 public:
  explicit Shy(Observers& observers) : observers_(observers) {}
  Wishes wishes() const override { return {.ops = true, .phases = true}; }
  void Saw(const GraphEvent&) override { Heard(); }
  void SawOp(const OpEvent&) override { Heard(); }
  void SawPhase(const PhaseEvent&) override { Heard(); }
  int left_in = 0;  // how many events it hears
  int heard = 0;

 private:
  void Heard() {
    if (++heard == left_in) observers_.Leave(this);
  }
  Observers& observers_;
};

TEST(HooksBesideTest, WhoLeavesInsideOfItsCallHearsNothingMore) {
  FaultDevice device(MakeHost());
  Caller caller(device);
  ASSERT_TRUE(caller.Open());
  std::vector<std::unique_ptr<Shy>> all;
  for (int events = 1; events <= 40; ++events) {
    for (Observers* list : {&caller.tree().observers(), &Observers::OfProcess()}) {
      all.push_back(std::make_unique<Shy>(*list));
      all.back()->left_in = events;
      list->Join(all.back().get());
    }
  }
  for (int step = 0; step < 12; ++step) EXPECT_TRUE(caller.Step());
  for (const std::unique_ptr<Shy>& shy : all) EXPECT_EQ(shy->heard, shy->left_in);
  caller.Close();
  for (const std::unique_ptr<Shy>& shy : all) Observers::OfProcess().Leave(shy.get());
}

}  // namespace
}  // namespace graphtree
