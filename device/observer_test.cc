// Observers that come and go while all are told, of one tree and of the process.
#include "device/observer.h"

#include <atomic>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "device/base/status_matchers.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

class Counting : public Observer {
 public:
  void Saw(const GraphEvent&) override {
    ++heard;
    if (does) does();
  }
  int heard = 0;
  std::function<void()> does;
};

TEST(ObserverTest, OneThatLeavesWhileItIsToldHidesNothingFromTheOthers) {
  Observers observers;
  Counting first, leaves, last;
  leaves.does = [&] { observers.Leave(&leaves); };
  for (Observer* observer : {&first, &leaves, &last}) observers.Join(observer);
  for (int i = 0; i < 3; ++i) EXPECT_THAT(observers.Tell(GraphEvent()), IsOk());
  EXPECT_EQ(first.heard, 3);
  EXPECT_EQ(leaves.heard, 1);
  EXPECT_EQ(last.heard, 3);
}

TEST(ObserverTest, OneThatSendsTheNextAwayIsTheLastToBeTold) {
  Observers observers;
  Counting sends, sent;
  sends.does = [&] { observers.Leave(&sent); };
  observers.Join(&sends);
  observers.Join(&sent);
  EXPECT_THAT(observers.Tell(GraphEvent()), IsOk());
  EXPECT_EQ(sent.heard, 0);
  EXPECT_TRUE(observers.any());
  observers.Leave(&sends);
  EXPECT_FALSE(observers.any());
}

TEST(ObserverTest, OneThatComesWhileAllAreTold) {
  Observers observers;
  Counting asks, late;
  asks.does = [&] {
    if (asks.heard == 1) observers.Join(&late);
  };
  observers.Join(&asks);
  for (int i = 0; i < 2; ++i) EXPECT_THAT(observers.Tell(GraphEvent()), IsOk());
  EXPECT_GE(late.heard, 1);
}

GraphEvent Replay(bool begins) {
  GraphEvent event;
  event.moment = begins ? GraphMoment::kReplayBegin : GraphMoment::kReplayEnd;
  return event;
}

// Hears what it is told to wish for.
class Wishing : public Observer {
 public:
  explicit Wishing(Wishes wishes) : wishes_(wishes) {}
  Wishes wishes() const override { return wishes_; }
  void Saw(const GraphEvent& event) override {
    const bool is_replay =
        event.moment == GraphMoment::kReplayBegin || event.moment == GraphMoment::kReplayEnd;
    ++(is_replay ? replays : graphs);
  }
  void SawOp(const OpEvent&) override { ++ops; }
  void SawPhase(const PhaseEvent& event) override {
    ++phases;
    depth += event.begins ? 1 : -1;
    ok = event.ok;
  }
  int graphs = 0, replays = 0, ops = 0, phases = 0, depth = 0;
  bool ok = true;

 private:
  const Wishes wishes_;
};

constexpr Wishes kNothing = {.graphs = false, .replays = false};
constexpr Wishes kPhasesAlone = {.graphs = false, .replays = false, .phases = true};

void TellOneOfEach(Observers& observers) {
  EXPECT_THAT(observers.Tell(GraphEvent()), IsOk());
  EXPECT_THAT(observers.Tell(Replay(true)), IsOk());
  EXPECT_THAT(observers.Tell(OpEvent()), IsOk());
  EXPECT_THAT(observers.Tell(PhaseEvent()), IsOk());
}

TEST(ObserverTest, EachHearsWhatItWishes) {
  Observers observers;
  Wishing nothing(kNothing);
  observers.Join(&nothing);
  EXPECT_FALSE(observers.any());
  Wishing graphs({.replays = false}), replays({.graphs = false}), phases(kPhasesAlone);
  Wishing ops({.graphs = false, .replays = false, .ops = true});
  for (Observer* one : {&graphs, &replays, &ops}) observers.Join(one);
  EXPECT_TRUE(observers.wants_graphs() && observers.wants_replays() && observers.wants_ops());
  EXPECT_FALSE(observers.wants_phases());
  observers.Join(&phases);
  TellOneOfEach(observers);
  EXPECT_EQ(std::vector({graphs.graphs, graphs.replays, graphs.ops, graphs.phases}),
            std::vector({1, 0, 0, 0}));
  EXPECT_EQ(std::vector({replays.graphs, replays.replays, replays.ops, replays.phases}),
            std::vector({0, 1, 0, 0}));
  EXPECT_EQ(std::vector({ops.graphs, ops.replays, ops.ops, ops.phases}),
            std::vector({0, 0, 1, 0}));
  EXPECT_EQ(std::vector({phases.graphs, phases.replays, phases.ops, phases.phases}),
            std::vector({0, 0, 0, 1}));
  EXPECT_EQ(nothing.graphs + nothing.replays + nothing.ops + nothing.phases, 0);
  for (Observer* one : {&graphs, &replays, &ops, &phases}) observers.Leave(one);
  EXPECT_FALSE(observers.any());
}

TEST(ObserverTest, OneInSoManyReplaysIsToldWhole) {
  Observers observers;
  Wishing third({.replay_in = 3}), sixth({.replay_in = 6});
  observers.Join(&third);
  observers.Join(&sixth);
  int told = 0;
  for (int i = 0; i < 12; ++i) {
    if (observers.NextReplay() == 0) continue;
    ++told;
    EXPECT_THAT(observers.Tell(Replay(true)), IsOk());
    EXPECT_THAT(observers.Tell(Replay(false)), IsOk());
  }
  EXPECT_EQ(told, 4);
  EXPECT_EQ(third.replays, 8);
  EXPECT_EQ(sixth.replays, 4);
  observers.Leave(&third);
  observers.Leave(&sixth);
}

TEST(ObserverTest, NumbersOfLaunchesAreTheProcesss) {
  Observers one, other;
  EXPECT_NE(one.tree(), other.tree());
  EXPECT_NE(one.NextLaunch(), one.NextLaunch());
  EXPECT_NE(one.NextLaunch(), other.NextLaunch());
}

TEST(ObserverTest, WhoWatchesTheProcessWatchesAllTrees) {
  Wishing all(kPhasesAlone);
  auto before = std::make_unique<Observers>();
  Observers::OfProcess().Join(&all);
  Observers after;
  EXPECT_TRUE(before->wants_phases());
  EXPECT_TRUE(after.wants_phases());
  for (Observers* tree : {before.get(), &after, &Observers::OfProcess()}) {
    EXPECT_THAT(tree->Tell(PhaseEvent()), IsOk());
  }
  EXPECT_EQ(all.phases, 3);
  before.reset();
  Observers::OfProcess().Leave(&all);
  EXPECT_FALSE(after.any());
  EXPECT_THAT(after.Tell(PhaseEvent()), IsOk());
  EXPECT_EQ(all.phases, 3);
}

TEST(ObserverTest, APhaseEndsForWhoHeardItsBegin) {
  Observers observers;
  Wishing early(kPhasesAlone), late(kPhasesAlone);
  observers.Join(&early);
  {
    ToldPhase told(observers, Phase::kPark, "f");
    observers.Join(&late);
    EXPECT_EQ(early.depth, 1);
    EXPECT_THAT(told.Ended(absl::OkStatus()), IsOk());
  }
  EXPECT_EQ(early.depth, 0);
  EXPECT_TRUE(early.ok);
  EXPECT_EQ(late.phases, 0);
  { const ToldPhase fails(observers, Phase::kPark, "f"); }
  EXPECT_FALSE(early.ok) << "nobody said that it went well";
  EXPECT_EQ(late.phases, 2);
  observers.Leave(&early);
  observers.Leave(&late);
}

// The thread that tells has a seat already.
TEST(ObserverTest, AnObserverMayTellOfSomethingElse) {
  Observers observers, other;
  Counting outer, inner;
  int depth = 0;
  outer.does = [&] {
    if (++depth > 20) return;
    EXPECT_THAT(other.Tell(GraphEvent()), IsOk());
    EXPECT_THAT(observers.Tell(GraphEvent()), IsOk());
  };
  observers.Join(&outer);
  other.Join(&inner);
  EXPECT_THAT(observers.Tell(GraphEvent()), IsOk());
  EXPECT_EQ(outer.heard, 21);
  EXPECT_EQ(inner.heard, 20);
  observers.Leave(&outer);
  other.Leave(&inner);
}

// Heard by several threads; destroyed right after it has left.
class Fleeting : public Observer {
 public:
  ~Fleeting() override { gone_ = true; }
  Wishes wishes() const override { return {.ops = true, .phases = true}; }
  void Saw(const GraphEvent&) override { Heard(); }
  void SawOp(const OpEvent&) override { Heard(); }
  void SawPhase(const PhaseEvent&) override { Heard(); }

 private:
  void Heard() {
    EXPECT_FALSE(gone_) << "it has left";
    ++heard_;
  }
  std::atomic<bool> gone_{false};
  std::atomic<uint64_t> heard_{0};
};

// Trees tell on threads of their own, and two more than one tree has seats on one of them, while
// others join and leave trees and the process.
TEST(ObserverTest, ObserversComeAndGoOnOtherThreads) {
  constexpr int kTellers = 10;
  Observers first, second;
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int teller = 0; teller < kTellers; ++teller) {
    threads.emplace_back([&, teller] {
      Observers& tree = teller == 0 ? second : first;
      while (!stop) {
        const ToldPhase told(tree, Phase::kPlan, "f");
        EXPECT_THAT(tree.Tell(GraphEvent()), IsOk());
        std::this_thread::yield();
      }
    });
  }
  std::vector<std::thread> guests;
  for (int guest = 0; guest < 3; ++guest) {
    guests.emplace_back([&, guest] {
      std::mt19937 random(guest);
      for (int i = 0; i < 200; ++i) {
        Observers* const lists[] = {&first, &second, &Observers::OfProcess()};
        Observers& list = *lists[random() % 3];
        auto observer = std::make_unique<Fleeting>();
        list.Join(observer.get());
        if (random() % 2 == 0) second.Tell(OpEvent()).IgnoreError();
        list.Leave(observer.get());
      }
    });
  }
  for (std::thread& guest : guests) guest.join();
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(first.any());
  EXPECT_FALSE(second.any());
}

// Trees come and go as well.
TEST(ObserverTest, TreesEndWhileOthersLeave) {
  std::atomic<bool> stop{false};
  std::thread trees([&] {
    while (!stop) {
      Observers tree;
      EXPECT_THAT(tree.Tell(GraphEvent()), IsOk());
    }
  });
  for (int i = 0; i < 300; ++i) {
    Fleeting observer;
    Observers::OfProcess().Join(&observer);
    std::this_thread::yield();
    Observers::OfProcess().Leave(&observer);
  }
  stop = true;
  trees.join();
}

// One that leaves inside of its own call is not waited for by itself, nor by two at once.
TEST(ObserverTest, TwoThreadsLeaveInsideOfTheirCalls) {
  for (int i = 0; i < 50; ++i) {
    Observers first, second;
    Counting of_first, of_second;
    of_first.does = [&] { Observers::OfProcess().Leave(&of_first); };
    of_second.does = [&] { Observers::OfProcess().Leave(&of_second); };
    first.Join(&of_first);
    second.Join(&of_second);
    std::thread other([&] { EXPECT_THAT(first.Tell(GraphEvent()), IsOk()); });
    EXPECT_THAT(second.Tell(GraphEvent()), IsOk());
    other.join();
    first.Leave(&of_first);
    second.Leave(&of_second);
    EXPECT_EQ(of_first.heard + of_second.heard, 2);
  }
}

}  // namespace
}  // namespace graphtree
