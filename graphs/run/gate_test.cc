// Every pair of a thread that is in and a thread that comes, on one thread and on two.
#include "graphs/run/gate.h"

#include <atomic>
#include <functional>
#include <thread>

#include "gtest/gtest.h"

namespace graphtree {
namespace {

bool OnAnotherThread(const std::function<bool()>& what) {
  bool result = false;
  std::thread other([&] { result = what(); });
  other.join();
  return result;
}

TEST(GateTest, ASecondCallerIsTurnedAway) {
  Gate gate;
  ASSERT_TRUE(gate.TryEnter());
  EXPECT_TRUE(gate.is_mine());
  EXPECT_FALSE(gate.TryEnter());
  EXPECT_FALSE(OnAnotherThread([&] { return gate.TryEnter(); }));
  EXPECT_FALSE(OnAnotherThread([&] { return gate.is_mine(); }));
  gate.Leave();
  EXPECT_FALSE(gate.is_mine());
  EXPECT_TRUE(OnAnotherThread([&] { return gate.TryEnter(); }));
}

TEST(GateTest, NobodyWaitsForItself) {
  Gate gate;
  ASSERT_TRUE(gate.TryEnter());
  EXPECT_FALSE(gate.Look());
  EXPECT_FALSE(gate.Enter());
  gate.Leave();
  ASSERT_TRUE(gate.Look());
  EXPECT_TRUE(gate.is_looked_at());
  EXPECT_FALSE(gate.TryEnter());
  EXPECT_FALSE(gate.Look());
  EXPECT_FALSE(gate.Enter());
  gate.Leave();
  EXPECT_TRUE(gate.TryEnter());
}

TEST(GateTest, CallsAndChangesUseTheTreesMemoryAndLooksDoNot) {
  Gate gate;
  const auto is_used_elsewhere = [&] {
    EXPECT_FALSE(gate.is_used_elsewhere()) << "on the thread that is in";
    return OnAnotherThread([&] { return gate.is_used_elsewhere(); });
  };
  EXPECT_FALSE(is_used_elsewhere());
  ASSERT_TRUE(gate.TryEnter());
  EXPECT_TRUE(is_used_elsewhere());
  gate.Leave();
  ASSERT_TRUE(gate.Look());
  EXPECT_FALSE(is_used_elsewhere());
  gate.Leave();
  ASSERT_TRUE(gate.Change());
  EXPECT_TRUE(gate.is_looked_at());
  EXPECT_TRUE(is_used_elsewhere());
  EXPECT_FALSE(gate.TryEnter());
  EXPECT_FALSE(gate.Look());
  gate.Leave();
  EXPECT_TRUE(gate.TryEnter());
}

TEST(GateTest, LookingInside) {
  Gate gate;
  {
    const Looking outer(gate);
    EXPECT_TRUE(outer.is_outermost());
    const Looking inner(gate);
    EXPECT_FALSE(inner.is_outermost());
  }
  EXPECT_FALSE(gate.is_looked_at());
}

// A caller comes while another thread looks, and gets in; one looks while a call runs, and waits.
TEST(GateTest, LooksAndCallsKeepApart) {
  constexpr int kRounds = 2000;
  Gate gate;
  int inside = 0;  // no atomic: the gate is what keeps the two apart
  std::atomic<int> turned_away{0};
  std::thread looker([&] {
    for (int i = 0; i < kRounds; ++i) {
      const Looking looking(gate);
      EXPECT_EQ(++inside, 1);
      --inside;
    }
  });
  for (int i = 0; i < kRounds; ++i) {
    if (!gate.TryEnter()) {
      ++turned_away;
      continue;
    }
    EXPECT_EQ(++inside, 1);
    --inside;
    gate.Leave();
  }
  looker.join();
  EXPECT_EQ(turned_away, 0) << "looking makes no call fail";
}

// Between two calls of its keeper the tree is called and looked at, and not changed.
TEST(GateTest, AChangeWaitsForWhoKeepsTheTree) {
  Gate gate;
  std::atomic<bool> changed{false};
  gate.Keep();
  std::thread changer([&] {
    const Changing changing(gate);
    changed = true;
  });
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(gate.TryEnter());
    std::this_thread::yield();
    gate.Leave();
  }
  { const Looking looking(gate); }
  { const Changing own(gate); }
  EXPECT_FALSE(changed);
  gate.LetGo();
  changer.join();
  EXPECT_TRUE(changed);
}

TEST(GateTest, WhoeverClosesWaitsForTheCall) {
  Gate gate;
  ASSERT_TRUE(gate.TryEnter());
  std::atomic<bool> closed{false};
  std::thread closer([&] {
    EXPECT_TRUE(gate.Enter());
    closed = true;
  });
  std::this_thread::yield();
  EXPECT_FALSE(closed);
  gate.Leave();
  closer.join();
  EXPECT_TRUE(closed);
}

}  // namespace
}  // namespace graphtree
