// Launchers through C: memory, breaks, random numbers, workspaces, forks, and what goes wrong.
#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "runtime/c/test_tree.h"

namespace graphtree::c {
namespace {

class LauncherTest : public TreeCTest {
 protected:
  // Calls it in `steps` steps; each must give these words.
  void ExpectInSteps(int steps, gt_function function, const std::vector<gt_value>& inputs,
                     int32_t wanted) {
    for (int step = 0; step < steps; ++step) {
      EXPECT_FINE(gt_tree_begin_step(tree()));
      const gt_value out = Call(function, inputs);
      EXPECT_EQ(Read(out), std::vector<int32_t>(kCount, wanted)) << "step " << step;
      EXPECT_FINE(gt_release(out.storage));
    }
  }
  gt_error CallOnce(gt_function function, gt_value input) {
    return gt_call(function, &input, 1, stream(), nullptr, 0, nullptr);
  }
};

TEST_F(LauncherTest, WhatABodyHasGotEndsWithIt) {
  std::vector<gt_storage> storages;
  const gt_function body = Register("many", [&](gt_launcher on) {
    gt_value x, made;
    EXPECT_FINE(gt_launcher_input(on, 0, &x));
    for (int i = 0; i < 10; ++i) {
      EXPECT_FINE(gt_launcher_empty(on, x.layout, &made));
      storages.push_back(made.storage);
    }
    return Add(on, 1);
  });
  ExpectInSteps(3, body, {Words(1)}, 2);
  for (const gt_storage storage : storages) EXPECT_FAILS(gt_release(storage), GT_BAD_HANDLE, "");
}

TEST_F(LauncherTest, ABodyThatKeepsItsLauncher) {
  gt_launcher kept = nullptr;
  const gt_function body = Register("keeps", [&](gt_launcher on) {
    kept = on;
    return Add(on, 1);
  });
  ExpectInSteps(1, body, {Words(1)}, 2);
  gt_value out = gt_nothing();
  EXPECT_FAILS(gt_launcher_empty(kept, words(), &out), GT_BAD_HANDLE,
               "on is the handle of a launcher that was released, or has ended");
}

TEST_F(LauncherTest, AnotherThreadsUseOfALauncherIsRefused) {
  const gt_function body = Register("threads", [&](gt_launcher on) {
    std::thread([&] {
      gt_value out = gt_nothing();
      EXPECT_FAILS(gt_launcher_empty(on, words(), &out), GT_FAILED_PRECONDITION, "another one");
    }).join();
    return Add(on, 1);
  });
  ExpectInSteps(2, body, {Words(1)}, 2);
}

TEST_F(LauncherTest, AnErrorOfTheBodyIsCarriedOn) {
  const gt_function body = Register("fails", [&](gt_launcher on) {
    Add(on, 1);
    return gt_error_new(GT_NOT_FOUND, "the weights are gone");
  });
  const gt_error error = CallOnce(body, Words(1));
  ASSERT_NE(error, nullptr);
  EXPECT_EQ(gt_error_look(error)->code, GT_NOT_FOUND);
  EXPECT_NE(std::string(gt_error_look(error)->text).find("the weights are gone"),
            std::string::npos);
  EXPECT_STREQ(gt_error_look(error)->function, "fails");
  EXPECT_EQ(gt_error_look(error)->op, 1);
  EXPECT_STREQ(gt_error_look(error)->op_name, "add");
  EXPECT_FINE(gt_release(error));
}

TEST_F(LauncherTest, ErrorsStick) {
  int after = 0;
  const gt_function body = Register("sticks", [&](gt_launcher on) {
    gt_value x, none;
    gt_launcher_input(on, 0, &x);
    const gt_error first = gt_launcher_input(on, 7, &none);
    EXPECT_NE(first, nullptr);
    EXPECT_EQ(none.kind, GT_TENSOR) << "the body may go on";
    EXPECT_EQ(gt_launcher_empty(on, x.layout, &none), first);
    EXPECT_EQ(gt_launcher_status(on), first);
    ++after;
    return Add(on, 1);
  });
  EXPECT_FAILS(CallOnce(body, Words(1)), GT_INVALID_ARGUMENT, "input 7");
  EXPECT_EQ(after, 1);
}

TEST_F(LauncherTest, ABodyMayReleaseItsErrors) {
  const gt_function body = Register("releases", [&](gt_launcher on) {
    gt_value none;
    EXPECT_FAILS(gt_launcher_input(on, 7, &none), GT_INVALID_ARGUMENT, "input 7");
    EXPECT_FAILS(gt_launcher_input(on, 0, &none), GT_INVALID_ARGUMENT, "input 7") << "it sticks";
    return gt_launcher_status(on);
  });
  EXPECT_FAILS(CallOnce(body, Words(1)), GT_INVALID_ARGUMENT, "input 7");
}

TEST_F(LauncherTest, BadHandlesInABodyAreItsErrors) {
  const gt_function body = Register("bad", [&](gt_launcher on) {
    gt_value x;
    gt_launcher_input(on, 0, &x);
    const gt_arg args[] = {GT_OUT(&x)};
    return gt_launcher_launch(on, reinterpret_cast<gt_kernel>(stream()), &kShape, args, 1);
  });
  EXPECT_FAILS(CallOnce(body, Words(1)), GT_INVALID_ARGUMENT, "kernel is a stream");
}

TEST_F(LauncherTest, PartsRunInEveryRun) {
  struct Part {
    std::atomic<int> runs{0};
    int ended = 0;
  } part;
  const gt_function body = Register("breaks", [&](gt_launcher on) {
    gt_value x, made, out;
    gt_launcher_input(on, 0, &x);
    gt_launcher_empty(on, x.layout, &made);
    gt_launcher_empty(on, x.layout, &out);
    const int32_t by = 1;
    const gt_arg first[] = {GT_OUT(&made), GT_IN(&x), GT_NUM(by)};
    gt_launcher_launch(on, add(), &kShape, first, 3);
    const gt_arg declared[] = {GT_IN(&made), GT_OUT(&out)};
    gt_launcher_break(
        on, "on the host", declared, 2,
        [](void* context, gt_launcher part_on, const gt_value* tensors, size_t count) {
          ++static_cast<Part*>(context)->runs;
          EXPECT_EQ(count, 2u);
          return gt_launcher_copy(part_on, &tensors[1], &tensors[0]);
        },
        &part, [](void* context) { ++static_cast<Part*>(context)->ended; });
    return gt_launcher_output(on, &out);
  });
  ExpectInSteps(4, body, {Words(1)}, 2);
  EXPECT_EQ(part.runs, 4);
  gt_tree_stats stats = GT_INIT(gt_tree_stats);
  EXPECT_FINE(gt_tree_look(tree(), &stats));
  EXPECT_EQ(stats.sections, 2u);
  EXPECT_EQ(stats.replays, 2u);
  EXPECT_FINE(gt_release(body));
  EXPECT_FINE(gt_tree_begin_step(tree()));
  EXPECT_GE(part.ended, 2) << "one for each time that the body ran";
}

TEST_F(LauncherTest, APartsErrorIsTheCalls) {
  const gt_function body = Register("part fails", [&](gt_launcher on) {
    gt_value x;
    gt_launcher_input(on, 0, &x);
    const gt_arg declared[] = {GT_IN(&x)};
    gt_launcher_break(
        on, "sampling", declared, 1,
        [](void*, gt_launcher, const gt_value*, size_t) {
          return gt_error_new(GT_UNAVAILABLE, "no luck");
        },
        nullptr, nullptr);
    return gt_launcher_output(on, &x);
  });
  EXPECT_FAILS(CallOnce(body, Words(1)), GT_UNAVAILABLE, "no luck");
}

TEST_F(LauncherTest, PadsAndScratch) {
  const gt_function body = Register("pads", [&](gt_launcher on) {
    const int64_t small[] = {kCount / 2}, large[] = {kCount};
    gt_value x, scratch;
    gt_launcher_empty_with_room(on, GT_I32, 1, small, large, &x);
    gt_launcher_fill(on, &x, 0);
    gt_launcher_scratch(on, 64, &scratch);
    const gt_storage before = x.storage;
    gt_launcher_pad(on, &x, 1, large, 0, &x);
    EXPECT_FAILS(gt_release(before), GT_BAD_HANDLE, "released");
    return gt_launcher_output(on, &x);
  });
  ExpectInSteps(3, body, {Words(1)}, 0);
  gt_tree_stats stats = GT_INIT(gt_tree_stats);
  EXPECT_FINE(gt_tree_look(tree(), &stats));
  EXPECT_GT(stats.pads_in_place, 0u);
}

TEST_F(LauncherTest, RandomNumbersGoOnFromRunToRun) {
  gt_generator generator = nullptr;
  ASSERT_FINE(gt_generator_new(5, &generator));
  const gt_function body = Register("draws", [&](gt_launcher on) {
    gt_random_state state;
    gt_launcher_random(on, generator, 10, &state);
    return Add(on, 1);
  });
  ExpectInSteps(4, body, {Words(1)}, 2);
  uint64_t seed = 0, offset = 0;
  EXPECT_FINE(gt_generator_look(generator, &seed, &offset));
  EXPECT_EQ(seed, 5u);
  EXPECT_EQ(offset, 40u);
  EXPECT_FINE(gt_generator_seed(generator, 6, 3));
  EXPECT_FINE(gt_generator_look(generator, &seed, &offset));
  EXPECT_EQ(seed, 6u);
  EXPECT_EQ(offset, 3u);
  EXPECT_FINE(gt_release(generator));
}

TEST_F(LauncherTest, AWorkspaceThatMovesMakesItsRecordingsStale) {
  gt_workspace workspace = nullptr;
  const gt_value small = Words(0), large = Words(0);
  ASSERT_FINE(gt_workspace_new(tree(), "scratch", {small.word, 64}, &workspace));
  uint64_t seen = 0;
  const gt_function body = Register("uses", [&](gt_launcher on) {
    gt_range range;
    gt_launcher_workspace(on, workspace, &range);
    seen = range.address;
    return Add(on, 1);
  });
  ExpectInSteps(3, body, {Words(1)}, 2);
  EXPECT_EQ(seen, small.word);
  EXPECT_FINE(gt_workspace_move(workspace, {large.word, 128}));
  ExpectInSteps(2, body, {Words(1)}, 2);
  EXPECT_EQ(seen, large.word);
  EXPECT_FINE(gt_workspace_touch(workspace));
  ExpectInSteps(1, body, {Words(1)}, 2);
  gt_tree_stats stats = GT_INIT(gt_tree_stats);
  EXPECT_FINE(gt_tree_look(tree(), &stats));
  EXPECT_EQ(stats.recordings, 3u);
  EXPECT_FAILS(gt_workspace_move(workspace, {~uint64_t{0}, 128}), GT_INVALID_ARGUMENT, "scratch");
}

TEST_F(LauncherTest, OpaqueWorkForksAndEvents) {
  gt_stream side = nullptr;
  gt_event event = nullptr;
  ASSERT_FINE(gt_stream_new(device(), &side));
  ASSERT_FINE(gt_event_new(device(), 0, &event));
  const gt_function body = Register("opaque", [&](gt_launcher on) {
    gt_value x, made;
    gt_stream own = nullptr;
    const int32_t by = 1;
    gt_launcher_input(on, 0, &x);
    gt_launcher_empty(on, x.layout, &made);
    gt_launcher_reads(on, &x);
    gt_launcher_writes(on, &made);
    EXPECT_FINE(gt_launcher_stream(on, &own));
    gt_launcher_fork(on, side);
    const gt_arg args[] = {GT_OUT(&made), GT_IN(&x), GT_NUM(by)};
    EXPECT_FINE(gt_stream_launch(side, add(), &kShape, args, 3));
    gt_launcher_used_on(on, &made, side);
    gt_launcher_join_forks(on);
    EXPECT_FINE(gt_stream_launch(own, add(), &kShape, args, 3));
    gt_launcher_set_event(on, event);
    return gt_launcher_output(on, &made);
  });
  ExpectInSteps(3, body, {Words(1)}, 2);
  EXPECT_FINE(gt_event_synchronize(event));
  EXPECT_FINE(gt_release(event));
  EXPECT_FINE(gt_release(side));
}

TEST_F(LauncherTest, WhatIsKeptAliveEndsWithItsRecording) {
  struct Kept {
    int ended = 0;
  } kept;
  const gt_function body = Register("keeps alive", [&](gt_launcher on) {
    gt_launcher_keep_alive(on, &kept, [](void* k) { ++static_cast<Kept*>(k)->ended; });
    gt_launcher_pin(on, nullptr);
    return gt_launcher_status(on);
  });
  EXPECT_FAILS(CallOnce(body, Words(1)), GT_INVALID_ARGUMENT, "tensor is null");
  EXPECT_FINE(gt_stream_synchronize(stream()));
  EXPECT_FINE(gt_tree_begin_step(tree()));
  EXPECT_FINE(gt_release(body));
  EXPECT_EQ(kept.ended, 1);
}

TEST_F(LauncherTest, ATuningBodyIsWarmedUpAgain) {
  int runs = 0;
  const gt_function body = Register("tunes", [&](gt_launcher on) {
    if (++runs < 3) gt_launcher_warm_up_again(on, "two more to try");
    return Add(on, 1);
  });
  ExpectInSteps(5, body, {Words(1)}, 2);
  gt_tree_stats stats = GT_INIT(gt_tree_stats);
  EXPECT_FINE(gt_tree_look(tree(), &stats));
  EXPECT_EQ(stats.warm_ups, 3u);
  EXPECT_EQ(stats.replays, 1u);
}

TEST_F(LauncherTest, IntegersAndInputsOfAnyKind) {
  const gt_function body = Register("any", [&](gt_launcher on) {
    size_t count = 0;
    int64_t number = 0;
    gt_value any;
    gt_launcher_input_count(on, &count);
    gt_launcher_integer(on, 1, &number);
    gt_launcher_any_input(on, 1, &any);
    EXPECT_EQ(any.kind, GT_INTEGER);
    EXPECT_EQ(count, 2u);
    const gt_error error = Add(on, static_cast<int32_t>(number));
    gt_launcher_drop_input(on, 0);
    return error;
  });
  ExpectInSteps(3, body, {Words(1), gt_integer(4)}, 5);
  ExpectInSteps(3, body, {Words(1), gt_integer(8)}, 9);
}

TEST_F(LauncherTest, ABodyThatReleasesItsTree) {
  gt_tree other = nullptr;
  gt_function function = nullptr;
  ASSERT_FINE(gt_tree_new(device(), nullptr, &other));
  struct Own {
    gt_tree tree;
    LauncherTest* test;
  } own = {other, this};
  ASSERT_FINE(gt_tree_register(
      other, "ends", nullptr,
      [](void* context, gt_launcher on) {
        const Own& mine = *static_cast<Own*>(context);
        EXPECT_FINE(gt_release(mine.tree));
        return mine.test->Add(on, 1);
      },
      &own, nullptr, &function));
  gt_value x = Words(1), out = gt_nothing();
  EXPECT_FINE(gt_call(function, &x, 1, stream(), &out, 1, nullptr));
  EXPECT_EQ(Read(out), std::vector<int32_t>(kCount, 2));
  EXPECT_FINE(gt_release(out.storage));
  EXPECT_FAILS(gt_call(function, &x, 1, stream(), &out, 1, nullptr), GT_BAD_HANDLE, "released");
}

TEST_F(LauncherTest, ABodyMayNotReleaseItsFunction) {
  gt_function body = nullptr;
  body = Register("ends itself", [&](gt_launcher on) {
    EXPECT_NE(TextOf(gt_release(body)), "");
    return Add(on, 1);
  });
  ExpectInSteps(3, body, {Words(1)}, 2);
}

}  // namespace
}  // namespace graphtree::c
