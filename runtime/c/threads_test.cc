// Handles on several threads: one calls, another releases what is called, and nobody crashes; calls
// of one function at the same time; drops on any thread.
#include <atomic>
#include <thread>
#include <vector>

#include "runtime/c/test_runtime.h"
#include "runtime/c/test_tree.h"

namespace graphtree::c {
namespace {

class ThreadsTest : public TreeCTest {
 protected:
  // Releases an error, and counts whether there was one.
  static void Count(gt_error error, std::atomic<int>* fine, std::atomic<int>* failed) {
    ++*(error == nullptr ? fine : failed);
    if (error != nullptr) gt_release(error);
  }
};

// A tree that is released while it is called: the call under way is right, later ones are errors.
TEST_F(ThreadsTest, ATreeIsReleasedWhileItIsCalled) {
  const gt_value x = Words(1);
  for (int round = 0; round < 20; ++round) {
    gt_tree other = nullptr;
    gt_function add = nullptr;
    gt_stream own = nullptr;
    ASSERT_FINE(gt_stream_new(device(), &own));
    ASSERT_FINE(gt_tree_new(device(), nullptr, &other));
    ASSERT_FINE(gt_tree_register(other, "add", nullptr, AddThree, this, nullptr, &add));
    std::atomic<int> fine{0}, failed{0};
    std::atomic<bool> has_begun{false};
    std::thread caller([&] {
      while (failed == 0) {
        gt_value in = x, out = gt_nothing();
        Count(gt_tree_begin_step(other), &fine, &failed);
        Count(gt_call(add, &in, 1, own, &out, 1, nullptr), &fine, &failed);
        gt_release(gt_release(out.storage));
        gt_release(gt_stream_synchronize(own));
        has_begun = true;
      }
    });
    while (!has_begun) std::this_thread::yield();
    EXPECT_FINE(gt_release(other));
    caller.join();
    EXPECT_GT(fine, 0);
    EXPECT_GT(failed, 0);
    EXPECT_FINE(gt_release(own));
  }
}

// A stream goes between two calls on it, or while one is under way.
TEST_F(ThreadsTest, AStreamIsReleasedWhileItIsUsed) {
  const gt_function add = Register("add", AddThree);
  for (int round = 0; round < 20; ++round) {
    gt_stream own = nullptr;
    ASSERT_FINE(gt_stream_new(device(), &own));
    std::atomic<int> fine{0}, failed{0};
    std::thread caller([&] {
      while (failed == 0) {
        gt_value in = Words(1), out = gt_nothing();
        Count(gt_tree_begin_step(tree()), &fine, &failed);
        Count(gt_call(add, &in, 1, own, &out, 1, nullptr), &fine, &failed);
        gt_release(gt_release(out.storage));
      }
    });
    while (fine < 3) std::this_thread::yield();
    EXPECT_FINE(gt_release(own));
    caller.join();
  }
}

// One tree, two callers: each call is right, or is told that another one is inside.
TEST_F(ThreadsTest, TwoCallersOfOneFunction) {
  const gt_function add = Register("add", AddThree);
  const gt_value x = Words(1);
  std::atomic<int> fine{0}, failed{0};
  const auto call = [&] {
    gt_stream own = nullptr;
    EXPECT_EQ(gt_stream_new(device(), &own), nullptr);
    for (int i = 0; i < 300; ++i) {
      gt_value in = x, out = gt_nothing();
      Count(gt_call(add, &in, 1, own, &out, 1, nullptr), &fine, &failed);
      gt_release(gt_release(out.storage));
    }
    gt_release(gt_stream_synchronize(own));
    EXPECT_EQ(gt_release(own), nullptr);
  };
  std::thread first(call), second(call);
  first.join();
  second.join();
  EXPECT_EQ(fine + failed, 600);
  EXPECT_GT(fine, 0);
}

// Outputs are dropped on another thread than the one that made them.
TEST_F(ThreadsTest, OutputsAreDroppedElsewhere) {
  const gt_function add = Register("add", AddThree);
  const gt_value x = Words(1);
  std::vector<std::atomic<gt_storage>> shelf(8);
  std::atomic<bool> is_over{false};
  std::thread dropper([&] {
    size_t at = 0;
    while (!is_over) {
      gt_release(gt_release(shelf[at++ % shelf.size()].exchange(nullptr)));
    }
  });
  for (int i = 0; i < 500; ++i) {
    EXPECT_FINE(gt_tree_begin_step(tree()));
    const gt_value out = Call(add, {x});
    gt_release(gt_release(shelf[i % shelf.size()].exchange(out.storage)));
  }
  is_over = true;
  dropper.join();
  for (std::atomic<gt_storage>& place : shelf) EXPECT_FINE(gt_release(place.load()));
}

// One opaque value in calls of several threads, each with a tree of its own, while others copy it
// and look at its object: it is shared, and nobody is told that another call has it.
TEST_F(ThreadsTest, AnOpaqueValueIsSharedByCalls) {
  static constexpr int kTrees = 3, kCalls = 200;
  int object = 0;
  gt_value plan = gt_nothing();
  ASSERT_FINE(gt_opaque_new(&object, nullptr, nullptr, &plan));
  const gt_value x = Words(1);
  std::atomic<int> callers{kTrees};
  std::vector<std::thread> threads;
  for (int i = 0; i < kTrees; ++i) {
    threads.emplace_back([&] {
      gt_tree own = nullptr;
      gt_function add = nullptr;
      gt_stream on = nullptr;
      EXPECT_FINE(gt_stream_new(device(), &on));
      EXPECT_FINE(gt_tree_new(device(), nullptr, &own));
      EXPECT_FINE(gt_tree_register(own, "add", nullptr, AddThree, this, nullptr, &add));
      for (int call = 0; call < kCalls; ++call) {
        gt_value inputs[] = {x, plan, plan}, out = gt_nothing();
        EXPECT_FINE(gt_tree_begin_step(own));
        EXPECT_FINE(gt_call(add, inputs, 3, on, &out, 1, nullptr));
        EXPECT_EQ(inputs[2].storage, plan.storage);
        EXPECT_FINE(gt_release(out.storage));
      }
      EXPECT_FINE(gt_stream_synchronize(on));
      EXPECT_FINE(gt_release(own));
      EXPECT_FINE(gt_release(on));
      --callers;
    });
  }
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      do {
        gt_value copy = gt_nothing();
        void* seen = nullptr;
        EXPECT_FINE(gt_value_copy(&plan, &copy));
        EXPECT_FINE(gt_opaque_object(&copy, &seen));
        EXPECT_EQ(seen, &object);
        EXPECT_FINE(gt_release(copy.storage));
      } while (callers > 0);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FINE(gt_release(plan.storage));
}

// A tensor's handle is given to calls, which do not consume it as the function's input is static,
// while others copy it: whoever copies is right or told that a call has it, and no call fails since
// somebody copies.
TEST_F(ThreadsTest, ATensorIsCopiedWhileItIsGivenToCalls) {
  const uint32_t first = 0;
  gt_function_options options = GT_INIT(gt_function_options);
  options.kept_outputs = &first;
  options.kept_output_count = 1;
  const gt_value made = Call(Register("make", AddThree, &options), {Words(4)});
  options = GT_INIT(gt_function_options);
  options.static_inputs = &first;
  options.static_input_count = 1;
  const gt_function add = Register("add", AddThree, &options);
  std::atomic<bool> is_over{false};
  std::vector<std::thread> copiers;
  for (int i = 0; i < 3; ++i) {
    copiers.emplace_back([&] {
      do {
        gt_value copy = gt_nothing();
        const gt_error error = gt_value_copy(&made, &copy);
        if (error != nullptr) {
          EXPECT_FAILS(error, GT_BAD_HANDLE, "another call uses now");
        } else {
          EXPECT_FINE(gt_release(copy.storage));
        }
      } while (!is_over);
    });
  }
  for (int call = 0; call < 500; ++call) {
    gt_value in = made, out = gt_nothing();
    EXPECT_FINE(gt_tree_begin_step(tree()));
    EXPECT_FINE(gt_call(add, &in, 1, stream(), &out, 1, nullptr));
    EXPECT_EQ(in.storage, made.storage);
    EXPECT_FINE(gt_release(out.storage));
  }
  is_over = true;
  for (std::thread& copier : copiers) copier.join();
  EXPECT_FINE(gt_release(made.storage));
}

class RuntimeThreadsTest : public RuntimeCTest {};

TEST_F(RuntimeThreadsTest, ARuntimeIsReleasedWhileItSteps) {
  for (int round = 0; round < 10; ++round) {
    gt_runtime other = nullptr;
    gt_program program = nullptr;
    const gt_device over = device();
    ASSERT_FINE(gt_runtime_new(&over, 1, nullptr, &other));
    const gt_program_options options = Options("decode");
    ASSERT_FINE(gt_program_new(other, &options, &program));
    std::atomic<bool> has_begun{false};
    std::thread server([&] {
      const gt_key key = Tokens(4);
      gt_error error = nullptr;
      while (error == nullptr) {
        gt_step step = nullptr;
        gt_value out = gt_nothing();
        error = gt_step_begin(program, &key, stream(), nullptr, &step);
        if (error == nullptr) error = gt_step_stage_number(step, 0, 1);
        if (error == nullptr) error = gt_step_run(step, &out, 1, nullptr);
        gt_release(gt_release(out.storage));
        gt_release(gt_release(step));
        has_begun = true;
      }
      EXPECT_EQ(gt_error_look(error)->code, GT_BAD_HANDLE) << gt_error_look(error)->text;
      gt_release(error);
    });
    while (!has_begun) std::this_thread::yield();
    EXPECT_FINE(gt_release(other));
    server.join();
  }
}

}  // namespace
}  // namespace graphtree::c
