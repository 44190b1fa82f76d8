// Graphs, pools and preparing ahead through C.
#include <cstdio>
#include <string>
#include <vector>

#include "runtime/c/test_runtime.h"

namespace graphtree::c {
namespace {

class GraphTest : public CTest {};

TEST_F(GraphTest, CapturedLaunchedPatchedUpdated) {
  const gt_value x = Words(1), y = Words(0);
  const auto capture = [&](int32_t by) {
    const gt_arg args[] = {GT_OUT(&y), GT_IN(&x), GT_VAL(by)};
    gt_graph graph = nullptr;
    EXPECT_FINE(gt_stream_begin_capture(stream(), GT_CAPTURE_THREAD_LOCAL));
    EXPECT_FINE(gt_stream_launch(stream(), add(), &kShape, args, 3));
    EXPECT_FINE(gt_stream_end_capture(stream(), &graph));
    return graph;
  };
  const gt_graph first = capture(1), second = capture(5);
  gt_executable executable = nullptr;
  ASSERT_FINE(gt_graph_instantiate(first, &executable));
  size_t count = 0;
  gt_text text = nullptr;
  EXPECT_FINE(gt_graph_describe(first, GT_OPS_JSON, &count, &text));
  EXPECT_EQ(count, 1u);
  EXPECT_NE(WordsOf(text).find("\"add\""), std::string::npos);
  EXPECT_EQ(Read(y), std::vector<int32_t>(kCount, 0)) << "a capture runs nothing";
  EXPECT_FINE(gt_executable_upload(executable, stream()));
  EXPECT_FINE(gt_executable_launch(executable, stream()));
  EXPECT_EQ(Read(y), std::vector<int32_t>(kCount, 2));
  const int32_t by = 3;
  const gt_arg args[] = {GT_OUT(&y), GT_IN(&x), GT_VAL(by)};
  EXPECT_FINE(gt_executable_patch_kernel(executable, 0, add(), &kShape, args, 3));
  EXPECT_FINE(gt_executable_launch(executable, stream()));
  EXPECT_EQ(Read(y), std::vector<int32_t>(kCount, 4));
  gt_update_result result = GT_TOPOLOGY_DIFFERS;
  EXPECT_FINE(gt_executable_update(executable, second, &result));
  EXPECT_EQ(result, GT_UPDATED);
  EXPECT_FINE(gt_release(first));
  EXPECT_FINE(gt_release(second));
  EXPECT_FINE(gt_executable_launch(executable, stream()));
  EXPECT_EQ(Read(y), std::vector<int32_t>(kCount, 6));
  EXPECT_NE(TextOf(gt_executable_patch_copy(executable, 0, y.word, x.word, 4)), "");
  EXPECT_NE(TextOf(gt_executable_patch_fill(executable, 9, y.word, 0, 4, 1)), "");
  EXPECT_FINE(gt_release(executable));
}

TEST_F(GraphTest, WhatNoCaptureAllows) {
  gt_graph graph = nullptr;
  gt_event event = nullptr;
  ASSERT_FINE(gt_event_new(device(), 0, &event));
  EXPECT_NE(TextOf(gt_stream_end_capture(stream(), &graph)), "") << "none has begun";
  EXPECT_FAILS(gt_stream_begin_capture(stream(), 3), GT_INVALID_ARGUMENT, "mode 3");
  EXPECT_FINE(gt_stream_begin_capture(stream(), GT_CAPTURE_RELAXED));
  EXPECT_FINE(gt_stream_record_external(stream(), event));
  gt_error error = gt_stream_synchronize(stream());
  ASSERT_NE(error, nullptr);
  EXPECT_EQ(gt_error_look(error)->cuda_code, 900);
  EXPECT_FINE(gt_release(error));
  EXPECT_NE(TextOf(gt_stream_end_capture(stream(), &graph)), "") << "it was spoiled";
  EXPECT_FINE(gt_release(event));
}

class PoolTest : public CTest {};

TEST_F(PoolTest, BlocksAndCheckpoints) {
  gt_pool_options options = GT_INIT(gt_pool_options);
  options.name = "mine";
  options.limit_bytes = 64 << 20;
  gt_pool pool = nullptr;
  ASSERT_FINE(gt_pool_new(device(), &options, &pool));
  gt_block a = {}, b = {};
  gt_checkpoint here = {};
  EXPECT_FINE(gt_pool_allocate(pool, 1000, 0, 0, stream(), &a));
  EXPECT_EQ(a.bytes, 1000u);
  EXPECT_FINE(gt_pool_take_checkpoint(pool, &here));
  EXPECT_FINE(gt_pool_allocate(pool, 1 << 20, 4096, 0, stream(), &b));
  EXPECT_EQ(b.address % 4096, 0u);
  EXPECT_FINE(gt_pool_use_on(pool, b.id, stream()));
  gt_pool_stats stats = GT_INIT(gt_pool_stats);
  EXPECT_FINE(gt_pool_look(pool, &stats));
  EXPECT_EQ(stats.live_blocks, 2u);
  EXPECT_FINE(gt_pool_restore(pool, here));
  EXPECT_FINE(gt_pool_look(pool, &stats));
  EXPECT_EQ(stats.live_blocks, 1u);
  EXPECT_NE(TextOf(gt_pool_free(pool, b.id)), "") << "it is gone";
  EXPECT_FINE(gt_pool_drop_checkpoint(pool, here));
  EXPECT_NE(TextOf(gt_pool_restore(pool, here)), "");
  EXPECT_FAILS(gt_release(pool), GT_FAILED_PRECONDITION, "mine");
  EXPECT_FINE(gt_pool_free(pool, a.id));
  EXPECT_NE(TextOf(gt_pool_allocate(pool, 1 << 30, 0, 1, stream(), &b)), "") << "the limit";
  EXPECT_FINE(gt_release(pool));
}

TEST_F(PoolTest, ParkedTrimmedWritten) {
  gt_pool pool = nullptr;
  ASSERT_FINE(gt_pool_new(device(), nullptr, &pool));
  gt_block a = {};
  ASSERT_FINE(gt_pool_allocate(pool, 4 * kCount, 0, 1, stream(), &a));
  EXPECT_FINE(gt_stream_fill(stream(), a.address, 7, 4, kCount));
  EXPECT_FINE(gt_pool_park(pool, GT_KEEP));
  gt_pool_stats stats = GT_INIT(gt_pool_stats);
  EXPECT_FINE(gt_pool_look(pool, &stats));
  EXPECT_EQ(stats.mapped_bytes, 0u);
  EXPECT_FINE(gt_pool_wake(pool));
  EXPECT_EQ(Read(gt_tensor(a.address, words())), std::vector<int32_t>(kCount, 7));
  const std::string path = ::testing::TempDir() + "/pool.json";
  EXPECT_FINE(gt_pool_write_snapshot(pool, path.c_str()));
  uint64_t released = 0;
  EXPECT_FINE(gt_pool_trim(pool, 0, &released));
  EXPECT_FINE(gt_pool_set_limit(pool, 1 << 30));
  EXPECT_FAILS(gt_pool_park(pool, GT_PINNED), GT_INVALID_ARGUMENT, "contents 2");
  EXPECT_FINE(gt_pool_free(pool, a.id));
  EXPECT_FINE(gt_release(pool));
}

class AheadTest : public RuntimeCTest {};

TEST_F(AheadTest, WhatWasPreparedIsUsedIfItIsRight) {
  const uint32_t kept = 0;
  gt_program_options options = Options("plan");
  options.kept_outputs = &kept;
  options.kept_output_count = 1;
  const gt_program plan = Program(options, {4});
  EXPECT_FINE(gt_program_record(plan, stream()));
  gt_ahead ahead = nullptr;
  gt_stream side = nullptr;
  ASSERT_FINE(gt_ahead_new(plan, &ahead));
  ASSERT_FINE(gt_stream_new(device(), &side));
  const gt_key key = Tokens(4);
  int32_t ids[4] = {1, 1, 1, 1};
  const gt_ahead_rows rows = {0, 0, 0, {GT_I32, 0, reinterpret_cast<uint64_t>(ids), 4, 0, 0}, 0};
  const auto take = [&] {
    gt_value out = gt_nothing();
    size_t count = 0;
    EXPECT_FINE(gt_ahead_take(ahead, &key, &rows, 1, stream(), &out, 1, &count));
    EXPECT_EQ(count, 1u);
    const std::vector<int32_t> words = Read(out);
    EXPECT_FINE(gt_release(out.storage));
    return words;
  };
  EXPECT_FINE(gt_ahead_prepare(ahead, &key, &rows, 1, side));
  EXPECT_EQ(take()[3], 11);
  EXPECT_FINE(gt_ahead_prepare(ahead, &key, &rows, 1, side));
  ids[3] = 5;
  EXPECT_EQ(take()[3], 15) << "other rows";
  gt_ahead_stats stats = GT_INIT(gt_ahead_stats);
  EXPECT_FINE(gt_ahead_look(ahead, &stats));
  EXPECT_EQ(stats.prepared, 2u);
  EXPECT_EQ(stats.used, 1u);
  EXPECT_EQ(stats.other_rows, 1u);
  const gt_ahead_rows number = {0, 1, 2.0, {}, 0};
  EXPECT_FINE(gt_ahead_prepare(ahead, &key, &number, 1, side));
  const gt_ahead_rows wrong = {9, 1, 2.0, {}, 0};
  EXPECT_NE(TextOf(gt_ahead_prepare(ahead, &key, &wrong, 1, side)), "");
  EXPECT_FINE(gt_stream_synchronize(side));
  EXPECT_FINE(gt_release(ahead));
  EXPECT_FINE(gt_release(side));
}

}  // namespace
}  // namespace graphtree::c
