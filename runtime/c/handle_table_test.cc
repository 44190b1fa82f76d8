// The table against a model: random makes, pins, takes and retires, and every handle that ever was.
#include "runtime/c/handle_table.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace graphtree::c {
namespace {

constexpr Kind kTree = 3;
constexpr Kind kStream = 4;

// Chunks are kept for as long as the test runs, and freed after it.
class HandleTableTest : public ::testing::Test {
 protected:
  HandleTableTest() { chunks_left = 1000; }
  ~HandleTableTest() override {
    for (void* chunk : chunks) std::free(chunk);
    chunks.clear();
  }
  static void* NewBytes(size_t bytes) {
    if (chunks_left == 0) return nullptr;
    --chunks_left;
    void* const memory = std::aligned_alloc(64, bytes);
    std::memset(memory, 0, bytes);
    chunks.push_back(memory);
    return memory;
  }
  Handle Make(Kind kind, uint64_t word) {
    HandleTable::Slot* const slot = table().NewSlot();
    if (slot == nullptr) return 0;
    slot->payload[0] = word;
    return table().Publish(slot, kind);
  }
  // As whoever ends objects does.
  bool End(Handle handle) {
    HandleTable::Slot* slot = nullptr;
    if (!table().Retire(handle, &slot)) return false;
    if (slot != nullptr) table().Free(slot);
    return true;
  }
  HandleTable& table() { return *table_; }

  static std::vector<void*> chunks;
  static int chunks_left;
  std::unique_ptr<HandleTable> table_ = std::make_unique<HandleTable>(&NewBytes, 0xFFFFFF00u);
};
std::vector<void*> HandleTableTest::chunks;
int HandleTableTest::chunks_left = 0;

TEST_F(HandleTableTest, EachLiveHandleOfAKindIsLookedAt) {
  const Handle tree = Make(kTree, 1), other = Make(kTree, 2), gone = Make(kTree, 3);
  Make(kStream, 4);
  HandleTable::Slot* ends = nullptr;
  ASSERT_TRUE(table().Retire(gone, &ends));
  table().Free(ends);
  HandleTable::Slot* const pinned = table().Pin(other, kTree);
  std::vector<Handle> seen;
  table().ForEachLive(kTree, [&](Handle handle) { seen.push_back(handle); });
  EXPECT_EQ(seen.size(), 2u);
  for (const Handle handle : {tree, other}) {
    EXPECT_NE(std::find(seen.begin(), seen.end(), handle), seen.end());
  }
  EXPECT_FALSE(table().Unpin(pinned));
}

TEST_F(HandleTableTest, AHandleFindsItsObject) {
  const Handle tree = Make(kTree, 7);
  HandleTable::Slot* const slot = table().Pin(tree, kTree);
  ASSERT_NE(slot, nullptr);
  EXPECT_EQ(slot->payload[0], 7u);
  EXPECT_EQ(HandleTable::PinsOf(*slot), 1u);
  EXPECT_FALSE(table().Unpin(slot));
  EXPECT_EQ(table().Look(tree, kTree), HandleState::kGood);
  EXPECT_EQ(table().KindIfGood(tree), kTree);
  EXPECT_EQ(table().CountLive(), 1u);
  EXPECT_EQ(table().CountLive(kTree), 0u);
}

TEST_F(HandleTableTest, WhatIsNoGoodHandleIsToldApart) {
  EXPECT_EQ(table().Look(0, kTree), HandleState::kNull);
  EXPECT_EQ(table().Look(0x1234567812345678, kTree), HandleState::kUnknown);
  const Handle tree = Make(kTree, 0);
  EXPECT_EQ(table().Look(tree, kStream), HandleState::kWrongKind);
  EXPECT_EQ(table().Pin(tree, kStream), nullptr);
  // One that another copy of the library would give: its generations begin elsewhere.
  EXPECT_EQ(table().Look(tree + (uint64_t{1} << 32), kTree), HandleState::kUnknown);
  EXPECT_EQ(table().Look(tree - (uint64_t{1} << 32), kTree), HandleState::kUnknown);
  EXPECT_TRUE(End(tree));
  EXPECT_EQ(table().Look(tree, kTree), HandleState::kDangling);
  EXPECT_FALSE(End(tree));
  EXPECT_EQ(table().Pin(tree, kTree), nullptr);
  const Handle next = Make(kTree, 0);  // in the same slot
  EXPECT_NE(next, tree);
  EXPECT_EQ(table().Look(tree, kTree), HandleState::kDangling);
}

TEST_F(HandleTableTest, ARetiredObjectEndsWithItsLastPin) {
  const Handle tree = Make(kTree, 0);
  HandleTable::Slot* const slot = table().Pin(tree, kTree);
  ASSERT_EQ(table().Pin(tree, kTree), slot);
  HandleTable::Slot* ends = slot;
  EXPECT_TRUE(table().Retire(tree, &ends));
  EXPECT_EQ(ends, nullptr);
  EXPECT_EQ(table().Pin(tree, kTree), nullptr);
  EXPECT_FALSE(table().Retire(tree, &ends));
  EXPECT_FALSE(table().Unpin(slot));
  EXPECT_TRUE(table().Unpin(slot));
  table().Free(slot);
  EXPECT_EQ(table().CountLive(), 0u);
}

TEST_F(HandleTableTest, ATakenObjectIsNobodyElses) {
  const Handle tree = Make(kTree, 9);
  HandleTable::Slot* const pinned = table().Pin(tree, kTree);
  EXPECT_EQ(table().Take(tree, kTree), nullptr) << "it is in use";
  EXPECT_FALSE(table().Unpin(pinned));
  EXPECT_EQ(table().Take(tree, kStream), nullptr);
  HandleTable::Slot* const slot = table().Take(tree, kTree);
  ASSERT_NE(slot, nullptr);
  EXPECT_EQ(table().Look(tree, kTree), HandleState::kTaken);
  EXPECT_EQ(table().Take(tree, kTree), nullptr);
  EXPECT_EQ(table().Pin(tree, kTree), nullptr);
  EXPECT_FALSE(End(tree));
  table().PutBack(slot, kTree);
  EXPECT_EQ(table().Look(tree, kTree), HandleState::kGood);
  table().Free(table().Take(tree, kTree));
  EXPECT_EQ(table().Look(tree, kTree), HandleState::kDangling);
}

// The table of this test begins 256 generations before they wrap.
TEST_F(HandleTableTest, GenerationsWrapAndNoneComesTwice) {
  chunks_left = 1;
  std::vector<Handle> all;
  for (int round = 0; round < 1000; ++round) {
    all.push_back(Make(kTree, round));
    ASSERT_TRUE(End(all.back()));
    for (const Handle old : {all.front(), all.back()}) {
      ASSERT_EQ(table().Look(old, kTree), HandleState::kDangling) << round;
    }
  }
}

TEST_F(HandleTableTest, NoMemoryIsNoHandleAndTheTableGoesOn) {
  chunks_left = 0;
  EXPECT_EQ(table().NewSlot(), nullptr);
  chunks_left = 1;
  std::vector<Handle> all;
  for (uint32_t i = 0; i < HandleTable::kSlotsInChunk; ++i) all.push_back(Make(kTree, i));
  EXPECT_EQ(table().NewSlot(), nullptr);
  EXPECT_EQ(table().CountLive(), HandleTable::kSlotsInChunk);
  EXPECT_TRUE(End(all[5]));
  EXPECT_NE(Make(kTree, 5), 0u);
  EXPECT_EQ(table().NewSlot(), nullptr);
}

TEST_F(HandleTableTest, ASlotThatIsDiscardedWasNeverThere) {
  HandleTable::Slot* const slot = table().NewSlot();
  table().Discard(slot);
  EXPECT_EQ(table().CountLive(), 0u);
  EXPECT_EQ(table().NewSlot(), slot);
}

TEST_F(HandleTableTest, AHomeIsItsOwnersUntilThatLeaves) {
  chunks_left = 1;
  HandleTable::Slot* home = nullptr;
  Handle last = 0;
  // More rounds than there are generations left before they wrap, and a few.
  for (int round = 0; round < 300; ++round) {
    HandleTable::Slot* const slot = table().SlotOfHome(&home);
    ASSERT_NE(slot, nullptr);
    EXPECT_EQ(slot, home);
    const Handle handle = table().Publish(slot, kTree);
    EXPECT_NE(handle, last);
    EXPECT_EQ(table().SlotOfHome(&home), nullptr) << "it is in use";
    EXPECT_TRUE(End(handle));
    last = handle;
  }
  const Handle held = table().Publish(table().SlotOfHome(&home), kTree);
  table().LeaveHome(home);
  table().LeaveHome(nullptr);
  // All but the one that is held.
  uint32_t others = 0;
  while (table().NewSlot() != nullptr) ++others;
  EXPECT_EQ(others, HandleTable::kSlotsInChunk - 1);
  EXPECT_TRUE(End(held));
  EXPECT_EQ(table().NewSlot(), home) << "it is everybody's now";
  EXPECT_EQ(table().NewSlot(), nullptr);
}

// A home that has had all its generations is given up, and never used again.
TEST_F(HandleTableTest, AHomeThatIsWornOutIsAnotherOne) {
  HandleTable almost(&NewBytes, 5);
  HandleTable::Slot* home = nullptr;
  HandleTable::Slot* const first = almost.SlotOfHome(&home);
  first->state.store(uint64_t{4} << 32);  // the last generation
  const Handle handle = almost.Publish(first, kTree);
  HandleTable::Slot* ends = nullptr;
  EXPECT_TRUE(almost.Retire(handle, &ends));
  almost.Free(ends);
  EXPECT_EQ(almost.SlotOfHome(&home), nullptr);
  HandleTable::Slot* const second = almost.SlotOfHome(&home);
  ASSERT_NE(second, nullptr);
  EXPECT_NE(second, first);
}

TEST_F(HandleTableTest, RandomCallsAreAsTheModelSays) {
  struct Known {
    bool is_there = false;
    Kind kind = 0;
    uint64_t word = 0;
  };
  const uint32_t seed = 20261126;
  std::mt19937 random(seed);
  std::map<Handle, Known> model;
  std::vector<Handle> all;
  for (int act = 0; act < 20000; ++act) {
    if (all.empty() || random() % 3 == 0) {
      const Kind kind = random() % 2 == 0 ? kTree : kStream;
      const Handle handle = Make(kind, act);
      ASSERT_EQ(model.count(handle), 0u) << "seed " << seed << ", act " << act;
      model[handle] = {true, kind, static_cast<uint64_t>(act)};
      all.push_back(handle);
      continue;
    }
    const Handle handle = all[random() % all.size()];
    Known& known = model[handle];
    if (random() % 2 == 0) {
      EXPECT_EQ(End(handle), known.is_there) << "seed " << seed << ", act " << act;
      known.is_there = false;
      continue;
    }
    const Kind kind = random() % 2 == 0 ? kTree : kStream;
    HandleTable::Slot* const slot = table().Pin(handle, kind);
    ASSERT_EQ(slot != nullptr, known.is_there && known.kind == kind) << seed << ", " << act;
    if (slot == nullptr) continue;
    EXPECT_EQ(slot->payload[0], known.word);
    EXPECT_FALSE(table().Unpin(slot));
  }
}

// Threads make, pin and retire each other's handles: each object ends once.
TEST_F(HandleTableTest, ThreadsEndEachObjectOnce) {
  constexpr int kThreads = 4, kRounds = 3000, kShared = 64;
  std::atomic<Handle> shared[kShared] = {};
  std::atomic<int> made{0}, ended{0};
  const auto finish = [&](HandleTable::Slot* slot) {
    if (slot->payload[1] != ~slot->payload[0]) ADD_FAILURE() << "another object's payload";
    table().Free(slot);
    ++ended;
  };
  const auto work = [&](uint32_t seed) {
    std::mt19937 random(seed);
    for (int round = 0; round < kRounds; ++round) {
      std::atomic<Handle>& place = shared[random() % kShared];
      HandleTable::Slot* slot = nullptr;
      if (random() % 2 == 0) {
        slot = table().NewSlot();
        slot->payload[0] = random();
        slot->payload[1] = ~slot->payload[0];
        ++made;
        const Handle old = place.exchange(table().Publish(slot, kTree));
        if (old != 0 && table().Retire(old, &slot) && slot != nullptr) finish(slot);
        continue;
      }
      slot = table().Pin(place.load(), kTree);
      if (slot == nullptr) continue;
      if (slot->payload[1] != ~slot->payload[0]) ADD_FAILURE() << "another object's payload";
      if (table().Unpin(slot)) finish(slot);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(work, 100 + i);
  for (std::thread& thread : threads) thread.join();
  for (std::atomic<Handle>& place : shared) {
    HandleTable::Slot* slot = nullptr;
    if (place.load() != 0 && table().Retire(place.load(), &slot)) finish(slot);
  }
  EXPECT_EQ(made.load(), ended.load());
  EXPECT_EQ(table().CountLive(), 0u);
}

}  // namespace
}  // namespace graphtree::c
