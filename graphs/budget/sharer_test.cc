// Trees that share a budget: never more than it together, one alone may have all.
#include "graphs/budget/sharer.h"

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace graphtree {
namespace {

std::shared_ptr<SharedBudget> Nodes(uint64_t nodes) {
  return std::make_shared<SharedBudget>(Share{.nodes = nodes});
}

TEST(SharerTest, OneAloneMayHaveAllAndNoMore) {
  const auto budget = Nodes(3);
  Sharer a(budget);
  EXPECT_TRUE(a.Cover({.nodes = 3}));
  EXPECT_FALSE(a.Cover({.nodes = 4}));
  EXPECT_EQ(a.Most().nodes, 3u);
  EXPECT_EQ(budget->free().nodes, 0u);
}

TEST(SharerTest, WhatIsNotMadeOrEvictedGoesBack) {
  const auto budget = Nodes(3);
  Sharer a(budget);
  Sharer b(budget);
  EXPECT_TRUE(a.Cover({.nodes = 2}));
  EXPECT_FALSE(b.Cover({.nodes = 2}));
  EXPECT_EQ(b.Most().nodes, 1u);
  EXPECT_TRUE(a.Cover({.nodes = 1})) << "taken already";
  a.Settle({.nodes = 1});
  EXPECT_TRUE(b.Cover({.nodes = 2}));
  EXPECT_FALSE(a.Cover({.nodes = 2}));
}

TEST(SharerTest, WhatATreeHadIsFreeOnceItIsGone) {
  const auto budget = Nodes(3);
  {
    Sharer a(budget);
    ASSERT_TRUE(a.Cover({.nodes = 3}));
  }
  Sharer b(budget);
  EXPECT_TRUE(b.Cover({.nodes = 3}));
  EXPECT_EQ(budget->fair_share().nodes, 3u) << "it counts no more";
}

TEST(SharerTest, AllOrNothingIsTaken) {
  const auto budget =
      std::make_shared<SharedBudget>(Share{.nodes = 2, .executables = 2, .executable_bytes = 100});
  Sharer a(budget);
  EXPECT_FALSE(a.Cover({.nodes = 1, .executables = 1, .executable_bytes = 101}));
  EXPECT_EQ(budget->free().nodes, 2u);
  EXPECT_EQ(budget->free().executable_bytes, 100u);
  EXPECT_TRUE(a.Cover({.nodes = 1, .executables = 1, .executable_bytes = 100}));
}

TEST(SharerTest, OnlyOneWithLessThanItsFairShareIsShort) {
  const auto budget = Nodes(5);
  Sharer a(budget);
  Sharer b(budget);
  EXPECT_EQ(budget->fair_share().nodes, 2u);
  EXPECT_GT(budget->fair_share().executables, uint64_t{1} << 60) << "0 is no limit";
  a.NoteNoRoom({.nodes = 3});
  EXPECT_FALSE(budget->TakeShort());
  b.NoteNoRoom({.nodes = 2});
  EXPECT_TRUE(budget->TakeShort());
  EXPECT_FALSE(budget->TakeShort()) << "told once";
}

TEST(SharerTest, WithoutABudgetAllIsFree) {
  Sharer alone(nullptr);
  EXPECT_TRUE(alone.Cover({.nodes = uint64_t{1} << 60}));
  alone.NoteNoRoom({});
  alone.Settle({});
}

// Whoever looks sees no more than the limit, whatever threads take and give.
TEST(SharerTest, ThreadsNeverExceedIt) {
  constexpr uint64_t kLimit = 7;
  const auto budget = Nodes(kLimit);
  std::vector<std::thread> threads;
  std::atomic<uint64_t> held{0};
  std::atomic<uint64_t> most{0};
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      Sharer tree(budget);
      for (int i = 0; i < 3000; ++i) {
        const uint64_t wanted = 1 + i % 5;
        if (!tree.Cover({.nodes = wanted})) continue;
        const uint64_t now = held += wanted;
        for (uint64_t seen = most; now > seen && !most.compare_exchange_weak(seen, now);) continue;
        held -= wanted;
        tree.Settle({});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(most, kLimit);
  EXPECT_EQ(budget->free().nodes, kLimit);
}

}  // namespace
}  // namespace graphtree
