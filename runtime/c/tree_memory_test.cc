// A tree's memory through C: parking, limits, budgets, foreign blocks, observers, snapshots.
#include <cstdio>
#include <string>
#include <vector>

#include "runtime/c/test_tree.h"

namespace graphtree::c {
namespace {

class TreeMemoryTest : public TreeCTest {
 protected:
  void Steps(gt_function function, int count) {
    for (int step = 0; step < count; ++step) {
      EXPECT_FINE(gt_tree_begin_step(tree()));
      const gt_value out = Call(function, {Words(1)});
      EXPECT_EQ(Read(out), std::vector<int32_t>(kCount, 4));
      EXPECT_FINE(gt_release(out.storage));
    }
  }
  gt_pool_stats Pool() {
    gt_pool_stats stats = GT_INIT(gt_pool_stats);
    EXPECT_FINE(gt_tree_pool_look(tree(), &stats));
    return stats;
  }
};

TEST_F(TreeMemoryTest, ParkedAndWoken) {
  const gt_function add = Register("add", AddThree);
  Steps(add, 3);
  for (const gt_contents contents : {GT_KEEP, GT_DROP}) {
    EXPECT_GT(Pool().mapped_bytes, 0u);
    EXPECT_FINE(gt_tree_begin_step(tree()));
    EXPECT_FINE(gt_tree_park(tree(), contents));
    EXPECT_EQ(Pool().mapped_bytes, 0u);
    EXPECT_FINE(gt_tree_wake(tree()));
    Steps(add, 2);
  }
  gt_tree_stats stats = GT_INIT(gt_tree_stats);
  EXPECT_FINE(gt_tree_look(tree(), &stats));
  EXPECT_EQ(stats.recordings, 1u);
  EXPECT_FAILS(gt_tree_park(tree(), GT_PINNED), GT_INVALID_ARGUMENT, "contents 2");
}

TEST_F(TreeMemoryTest, TrimLimitAndGiving) {
  const gt_function add = Register("add", AddThree);
  Steps(add, 3);
  uint64_t released = 0;
  EXPECT_FINE(gt_tree_trim(tree(), 0, &released));
  EXPECT_FAILS(gt_tree_set_limit(tree(), 1), GT_FAILED_PRECONDITION, "");
  EXPECT_FINE(gt_tree_set_limit(tree(), 1 << 30));
  EXPECT_EQ(Pool().limit_bytes, 1u << 30);
  EXPECT_FINE(gt_tree_begin_step(tree()));
  EXPECT_FINE(gt_tree_give_up(tree(), 0, 0, 0));
  EXPECT_FINE(gt_tree_give_memory(tree(), 1, "a test", &released));
  EXPECT_FINE(gt_function_end_pause(add));
  Steps(add, 3);
}

// Two trees and a pool never have more than the limit mapped, and one of them may have it all.
TEST_F(TreeMemoryTest, WhatSharesBytesNeverHasMore) {
  constexpr uint64_t kLimit = 8 << 20;
  gt_shared_bytes shared = nullptr;
  EXPECT_FINE(gt_shared_bytes_new(kLimit, &shared));
  gt_tree_options options = GT_INIT(gt_tree_options);
  options.shared_bytes = shared;
  gt_tree other = nullptr;
  EXPECT_FINE(gt_tree_new(device(), &options, &other));
  gt_pool_options pool_options = GT_INIT(gt_pool_options);
  pool_options.shared_bytes = shared;
  gt_pool pool = nullptr;
  EXPECT_FINE(gt_pool_new(device(), &pool_options, &pool));
  gt_block block = {};
  EXPECT_FINE(gt_pool_allocate(pool, 6 << 20, 0, 0, stream(), &block));
  uint64_t limit = 0, taken = 0;
  EXPECT_FINE(gt_shared_bytes_look(shared, &limit, &taken));
  EXPECT_EQ(limit, kLimit);
  EXPECT_GE(taken, 6u << 20);
  EXPECT_LE(taken, kLimit);
  gt_block more = {};
  EXPECT_FAILS(gt_pool_allocate(pool, 6 << 20, 0, 0, stream(), &more), GT_RESOURCE_EXHAUSTED, "");
  EXPECT_FINE(gt_pool_free(pool, block.id));
  EXPECT_FINE(gt_release(pool));
  EXPECT_FINE(gt_release(other));
  EXPECT_FINE(gt_shared_bytes_look(shared, &limit, &taken));
  EXPECT_EQ(taken, 0u);
  EXPECT_FINE(gt_release(shared));
  EXPECT_FAILS(gt_shared_bytes_look(shared, &limit, &taken), GT_BAD_HANDLE, "released");
  options.shared_bytes = shared;
  EXPECT_FAILS(gt_tree_new(device(), &options, &other), GT_BAD_HANDLE, "shared_bytes");
}

TEST_F(TreeMemoryTest, TreesWithOneBudget) {
  gt_budget budget = nullptr;
  ASSERT_FINE(gt_budget_new(1, 0, 0, &budget));
  gt_tree_options options = GT_INIT(gt_tree_options);
  options.budget = budget;
  gt_tree other = nullptr;
  ASSERT_FINE(gt_tree_new(device(), &options, &other));
  EXPECT_FINE(gt_release(budget));
  gt_function functions[2] = {};
  gt_value x = Words(1), out = gt_nothing();
  for (gt_function& function : functions) {
    ASSERT_FINE(gt_tree_register(other, "f", nullptr, AddThree, this, nullptr, &function));
    for (int step = 0; step < 3; ++step) {
      EXPECT_FINE(gt_tree_begin_step(other));
      EXPECT_FINE(gt_call(function, &x, 1, stream(), &out, 1, nullptr));
      EXPECT_FINE(gt_release(out.storage));
    }
  }
  gt_tree_stats stats = GT_INIT(gt_tree_stats);
  EXPECT_FINE(gt_tree_look(other, &stats));
  EXPECT_LE(stats.nodes, 1u);
  EXPECT_FINE(gt_release(other));
}

TEST_F(TreeMemoryTest, ForeignBlocks) {
  uint64_t address = 0;
  EXPECT_FINE(gt_foreign_allocate(tree(), 4096, nullptr, &address));
  EXPECT_NE(address, 0u);
  EXPECT_FINE(gt_foreign_use_on(tree(), address, nullptr));
  EXPECT_FINE(gt_foreign_give_back(tree(), address, nullptr));
  EXPECT_NE(TextOf(gt_foreign_give_back(tree(), address, nullptr)), "");
  EXPECT_EQ(gt_foreign_malloc(64, 3, nullptr), nullptr) << "none is installed";
  EXPECT_FINE(gt_foreign_install(3, tree()));
  void* const block = gt_foreign_malloc(64, 3, nullptr);
  ASSERT_NE(block, nullptr);
  gt_foreign_record_stream(block, 3, nullptr);
  gt_foreign_free(block, 64, 3, nullptr);
  EXPECT_FINE(gt_foreign_install(3, nullptr));
  EXPECT_EQ(gt_foreign_malloc(64, 3, nullptr), nullptr);
  EXPECT_FAILS(gt_foreign_install(-1, tree()), GT_INVALID_ARGUMENT, "");
}

TEST_F(TreeMemoryTest, AReleasedTreeGetsNoForeignCalls) {
  gt_tree other = nullptr;
  ASSERT_FINE(gt_tree_new(device(), nullptr, &other));
  EXPECT_FINE(gt_foreign_install(4, other));
  EXPECT_FINE(gt_release(other));
  EXPECT_EQ(gt_foreign_malloc(64, 4, nullptr), nullptr);
}

// Blocks outlive their tree, and go back to it whatever is installed by then.
TEST_F(TreeMemoryTest, ForeignBlocksOfAReleasedTree) {
  uint64_t before = 0, after = 0;
  EXPECT_FINE(gt_device_free_bytes(device(), &before, nullptr));
  for (const bool is_installed : {true, false}) {
    gt_tree other = nullptr;
    ASSERT_FINE(gt_tree_new(device(), nullptr, &other));
    void* block = nullptr;
    if (is_installed) {
      EXPECT_FINE(gt_foreign_install(5, other));
      block = gt_foreign_malloc(1000, 5, nullptr);
    } else {
      uint64_t address = 0;
      EXPECT_FINE(gt_foreign_allocate(other, 1000, nullptr, &address));
      block = reinterpret_cast<void*>(address);
    }
    ASSERT_NE(block, nullptr);
    EXPECT_FINE(gt_release(other));
    EXPECT_EQ(gt_foreign_malloc(64, 5, nullptr), nullptr);
    EXPECT_FINE(gt_foreign_install(5, tree()));
    gt_foreign_record_stream(block, 5, nullptr);
    gt_foreign_free(block, 1000, 5, nullptr);
    EXPECT_FINE(gt_foreign_install(5, nullptr));
    EXPECT_FINE(gt_device_free_bytes(device(), &after, nullptr));
    // A driver keeps some of what it is given back.
    if (std::string(kTestDevice) == "host") {
      EXPECT_EQ(after, before);
    }
  }
}

TEST_F(TreeMemoryTest, Observers) {
  struct Told {
    int moments[6] = {};
    int ended = 0;
  } told;
  gt_observer observer = nullptr;
  ASSERT_FINE(gt_tree_observe(
      tree(),
      [](void* context, const gt_graph_event* event) {
        ++static_cast<Told*>(context)->moments[event->moment];
        EXPECT_EQ(std::string(event->function, event->function_bytes), "add");
      },
      &told, [](void* context) { ++static_cast<Told*>(context)->ended; }, &observer));
  const gt_function add = Register("add", AddThree);
  Steps(add, 4);
  EXPECT_EQ(told.moments[GT_CAPTURE_END], 1);
  EXPECT_EQ(told.moments[GT_REPLAY_END], 3) << "the recording's own launch, and two replays";
  EXPECT_FINE(gt_release(observer));
  EXPECT_EQ(told.ended, 1);
  Steps(add, 1);
  EXPECT_EQ(told.moments[GT_REPLAY_END], 3);
  EXPECT_FAILS(gt_tree_observe(tree(), nullptr, nullptr, nullptr, &observer), GT_INVALID_ARGUMENT,
               "saw is null");
}

TEST_F(TreeMemoryTest, Snapshots) {
  const gt_function add = Register("add", AddThree);
  Steps(add, 3);
  const std::string path = ::testing::TempDir() + "/tree.json";
  EXPECT_FINE(gt_tree_write_snapshot(tree(), path.c_str()));
  std::FILE* const file = std::fopen(path.c_str(), "rb");
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(std::fgetc(file), '{');
  std::fclose(file);
  EXPECT_NE(TextOf(gt_tree_write_snapshot(tree(), "/nowhere/tree.json")), "");
  EXPECT_FAILS(gt_tree_write_snapshot(tree(), nullptr), GT_INVALID_ARGUMENT, "path is null");
}

}  // namespace
}  // namespace graphtree::c
