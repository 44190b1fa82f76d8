// Trees through C: the routes of a call, values and their lives, what a tree tells.
#include <functional>
#include <string>
#include <vector>

#include "runtime/c/test_tree.h"

namespace graphtree::c {
namespace {

class TreeTest : public TreeCTest {};

TEST_F(TreeTest, OnceEagerOnceRecordedThenReplayed) {
  const gt_function twice = Register("add 3", AddThree);
  const gt_value x = Words(1);
  for (const gt_route wanted : {GT_ROUTE_WARMED_UP, GT_ROUTE_RECORDED, GT_ROUTE_REPLAYED,
                                GT_ROUTE_REPLAYED}) {
    EXPECT_FINE(gt_tree_begin_step(tree()));
    const gt_value out = Call(twice, {x});
    EXPECT_EQ(Read(out), std::vector<int32_t>(kCount, 4));
    EXPECT_FINE(gt_release(out.storage));
    gt_route route = GT_ROUTE_NONE;
    gt_reason reason = 0;
    EXPECT_FINE(gt_tree_last_call(tree(), &route, &reason));
    EXPECT_EQ(route, wanted);
    EXPECT_EQ(reason, GT_NO_REASON);
  }
  gt_tree_stats stats = GT_INIT(gt_tree_stats);
  EXPECT_FINE(gt_tree_look(tree(), &stats));
  EXPECT_EQ(stats.calls, 4u);
  EXPECT_EQ(stats.replays, 2u);
  EXPECT_EQ(stats.captures.count, 1u);
  gt_function_stats of = GT_INIT(gt_function_stats);
  EXPECT_FINE(gt_function_look(twice, &of));
  EXPECT_EQ(of.replays, 2u);
  EXPECT_EQ(of.warm_ups, 1u);
}

TEST_F(TreeTest, AReplayOrNothing) {
  const gt_function add = Register("add 3", AddThree);
  for (int step = 0; step < 4; ++step) {
    EXPECT_FINE(gt_tree_begin_step(tree()));
    gt_value in = Words(1), out = gt_nothing();
    const gt_error error = gt_call_replay(add, &in, 1, stream(), &out, 1, nullptr);
    if (step < 2) {
      EXPECT_FAILS(error, GT_FAILED_PRECONDITION, "add 3");
      EXPECT_EQ(out.storage, nullptr);
      out = Call(add, {in});
    } else {
      EXPECT_FINE(error);
    }
    EXPECT_EQ(Read(out), std::vector<int32_t>(kCount, 4));
    EXPECT_FINE(gt_release(out.storage));
  }
}

TEST_F(TreeTest, ATensorOfATreesIsConsumedUnlessItIsCopied) {
  const gt_function add = Register("add 3", AddThree);
  const gt_value x = Words(1);
  for (int step = 0; step < 4; ++step) {
    EXPECT_FINE(gt_tree_begin_step(tree()));
    gt_value first = Call(add, {x}), kept = gt_nothing(), second = gt_nothing();
    EXPECT_FINE(gt_value_copy(&first, &kept));
    const gt_storage was = first.storage;
    EXPECT_FINE(gt_call(add, &first, 1, stream(), &second, 1, nullptr));
    EXPECT_EQ(first.kind, GT_CONSUMED);
    EXPECT_FAILS(gt_release(was), GT_BAD_HANDLE, "released");
    EXPECT_EQ(Read(second), std::vector<int32_t>(kCount, 7));
    EXPECT_EQ(Read(kept), std::vector<int32_t>(kCount, 4));
    EXPECT_FAILS(gt_call(add, &first, 1, stream(), nullptr, 0, nullptr), GT_INVALID_ARGUMENT,
                 "input 0");
    EXPECT_FINE(gt_release(kept.storage));
    EXPECT_FINE(gt_release(second.storage));
  }
}

TEST_F(TreeTest, OutputsInThePlacesOfInputs) {
  const gt_function add = Register("add 3", AddThree);
  const gt_function fails = Register("fails", [](gt_launcher) {
    return gt_error_new(GT_ABORTED, "out of luck");
  });
  for (int step = 0; step < 4; ++step) {
    EXPECT_FINE(gt_tree_begin_step(tree()));
    gt_value value = Call(add, {Words(1)});
    EXPECT_FAILS(gt_call(fails, &value, 1, stream(), &value, 1, nullptr), GT_ABORTED,
                 "out of luck");
    EXPECT_FINE(gt_call(add, &value, 1, stream(), &value, 1, nullptr));
    EXPECT_EQ(Read(value), std::vector<int32_t>(kCount, 7));
    EXPECT_FINE(gt_release(value.storage));
  }
}

TEST_F(TreeTest, OneObjectAsTwoInputs) {
  int object = 5;
  gt_value opaque = gt_nothing();
  EXPECT_FINE(gt_opaque_new(&object, nullptr, nullptr, &opaque));
  const gt_function same = Register("same", [&](gt_launcher on) {
    for (size_t i = 0; i < 2; ++i) {
      gt_value input = gt_nothing();
      void* seen = nullptr;
      gt_launcher_any_input(on, i, &input);
      gt_opaque_object(&input, &seen);
      EXPECT_EQ(seen, &object);
    }
    gt_value out = gt_nothing();
    gt_launcher_empty(on, words(), &out);
    gt_launcher_fill(on, &out, 0);
    return gt_launcher_output(on, &out);
  });
  for (int step = 0; step < 4; ++step) {
    EXPECT_FINE(gt_tree_begin_step(tree()));
    EXPECT_FINE(gt_release(Call(same, {opaque, opaque}).storage));
  }
  EXPECT_FINE(gt_release(opaque.storage));
}

TEST_F(TreeTest, OneHandleAsTwoInputs) {
  const gt_function add = Register("add 3", AddThree);
  const gt_function sum = Register("sum", [](gt_launcher on) {
    gt_value a, b, out;
    gt_launcher_input(on, 0, &a);
    gt_launcher_input(on, 1, &b);
    gt_launcher_empty(on, a.layout, &out);
    gt_launcher_copy(on, &out, &b);
    return gt_launcher_output(on, &out);
  });
  for (int step = 0; step < 3; ++step) {
    EXPECT_FINE(gt_tree_begin_step(tree()));
    const gt_value made = Call(add, {Words(1)});
    gt_value inputs[] = {made, made};
    gt_value out = gt_nothing();
    EXPECT_FINE(gt_call(sum, inputs, 2, stream(), &out, 1, nullptr));
    EXPECT_EQ(inputs[0].kind, GT_CONSUMED);
    EXPECT_EQ(inputs[1].kind, GT_CONSUMED);
    EXPECT_EQ(Read(out), std::vector<int32_t>(kCount, 4));
    EXPECT_FINE(gt_release(out.storage));
  }
}

TEST_F(TreeTest, AStaleOutputIsAnErrorThatNamesIt) {
  const gt_function add = Register("add 3", AddThree);
  const gt_value x = Words(1);
  for (int step = 0; step < 2; ++step) {
    EXPECT_FINE(gt_tree_begin_step(tree()));
    EXPECT_FINE(gt_release(Call(add, {x}).storage));
  }
  EXPECT_FINE(gt_tree_begin_step(tree()));
  gt_value out = Call(add, {x});
  EXPECT_FINE(gt_value_check(&out));
  EXPECT_FINE(gt_tree_may_read(tree(), &out));
  int32_t made = 0;
  EXPECT_FINE(gt_tree_made(tree(), &out, &made));
  EXPECT_EQ(made, 1);
  EXPECT_FINE(gt_tree_begin_step(tree()));
  EXPECT_FAILS(gt_value_check(&out), GT_FAILED_PRECONDITION, "'add 3'");
  const gt_storage storage = out.storage;
  gt_value none = gt_integer(1);
  const gt_error error = gt_call(add, &out, 1, stream(), &none, 1, nullptr);
  ASSERT_NE(error, nullptr);
  EXPECT_EQ(gt_error_look(error)->input, 0);
  EXPECT_STREQ(gt_error_look(error)->function, "add 3");
  EXPECT_STREQ(gt_error_look(error)->call, "gt_call");
  EXPECT_FINE(gt_release(error));
  EXPECT_EQ(none.kind, GT_NOTHING);
  EXPECT_EQ(out.storage, storage) << "a call that fails consumes nothing";
  EXPECT_FINE(gt_release(out.storage));
}

TEST_F(TreeTest, ViewsStayInsideOfTheirStorage) {
  const gt_function add = Register("add 3", AddThree);
  const gt_value out = Call(add, {Words(1)});
  gt_value view = gt_nothing();
  EXPECT_FINE(gt_value_view(&out, LayoutOf(GT_I32, {kCount / 2}), kCount * 2, &view));
  EXPECT_EQ(Read(view), std::vector<int32_t>(kCount / 2, 4));
  uint64_t address = 0, bytes = 0;
  EXPECT_FINE(gt_storage_range(view.storage, &address, &bytes));
  EXPECT_EQ(address, out.word);
  EXPECT_EQ(bytes, kCount * 4u);
  gt_value beyond = gt_nothing();
  EXPECT_FAILS(gt_value_view(&out, words(), 4, &beyond), GT_OUT_OF_RANGE, "its storage has 1024");
  gt_value bent = out;
  bent.word -= 4;
  EXPECT_FAILS(gt_call(add, &bent, 1, stream(), nullptr, 0, nullptr), GT_OUT_OF_RANGE, "takes");
  EXPECT_FINE(gt_release(view.storage));
  EXPECT_FINE(gt_release(out.storage));
}

TEST_F(TreeTest, OutputsBeyondTheCapacityAreDropped) {
  const gt_function three = Register("three", [](gt_launcher on) {
    gt_value x;
    gt_launcher_input(on, 0, &x);
    gt_value number = gt_integer(9), none = gt_nothing();
    gt_launcher_output(on, &number);
    gt_launcher_output(on, &none);
    return gt_launcher_output(on, &x);
  });
  gt_value x = Words(1);
  for (int step = 0; step < 3; ++step) {
    gt_value outputs[4];
    size_t count = 0;
    EXPECT_FINE(gt_tree_begin_step(tree()));
    EXPECT_FINE(gt_call(three, &x, 1, stream(), outputs, 4, &count));
    EXPECT_EQ(count, 3u);
    EXPECT_EQ(outputs[0].kind, GT_INTEGER);
    EXPECT_EQ(outputs[0].word, 9u);
    EXPECT_EQ(outputs[1].kind, GT_NOTHING);
    EXPECT_EQ(outputs[2].word, x.word);
    EXPECT_EQ(outputs[3].kind, GT_NOTHING);
    EXPECT_FINE(gt_tree_begin_step(tree()));
    EXPECT_FINE(gt_call(three, &x, 1, stream(), outputs, 1, &count));
    EXPECT_EQ(count, 3u);
  }
}

TEST_F(TreeTest, KeptOutputsOutliveTheirStep) {
  const uint32_t kept = 0;
  gt_function_options options = GT_INIT(gt_function_options);
  options.kept_outputs = &kept;
  options.kept_output_count = 1;
  const gt_function add = Register("kept", AddThree, &options);
  std::vector<gt_value> all;
  for (int step = 0; step < 5; ++step) {
    EXPECT_FINE(gt_tree_begin_step(tree()));
    all.push_back(Call(add, {Words(step)}));
  }
  for (int step = 0; step < 5; ++step) {
    EXPECT_FINE(gt_value_check(&all[step]));
    EXPECT_EQ(Read(all[step]), std::vector<int32_t>(kCount, step + 3));
    EXPECT_FINE(gt_release(all[step].storage));
  }
}

TEST_F(TreeTest, WhatItTells) {
  const gt_function add = Register("add 3", AddThree);
  for (int step = 0; step < 3; ++step) {
    EXPECT_FINE(gt_tree_begin_step(tree()));
    EXPECT_FINE(gt_release(Call(add, {Words(1)}).storage));
  }
  const auto described = [&](gt_tree_text what) {
    gt_text text = nullptr;
    EXPECT_FINE(gt_tree_describe(tree(), what, &text));
    return WordsOf(text);
  };
  EXPECT_NE(described(GT_OUTLINE).find("add 3"), std::string::npos);
  EXPECT_EQ(described(GT_OUTLINE_JSON)[0], '{');
  EXPECT_NE(described(GT_OUTLINE_GRAPHVIZ).find("digraph"), std::string::npos);
  EXPECT_NE(described(GT_EDGES).find("add 3"), std::string::npos);
  EXPECT_NE(described(GT_FUNCTIONS).find("1 shapes"), std::string::npos);
  EXPECT_NE(described(GT_STATE), "");
  uint64_t recording = 99;
  size_t count = 0;
  EXPECT_FINE(gt_function_recordings(add, &recording, 1, &count));
  ASSERT_EQ(count, 1u);
  gt_text ops = nullptr;
  EXPECT_FINE(gt_recording_describe(tree(), recording, GT_OPS_JSON, &ops));
  EXPECT_NE(WordsOf(ops).find("\"add\""), std::string::npos);
  gt_pointer pointers[8];
  uint64_t hidden = 0;
  EXPECT_FINE(gt_recording_pointers(tree(), recording, {0, ~uint64_t{0}}, pointers, 8, &count,
                                    &hidden));
  EXPECT_GE(count, 2u);
  EXPECT_FAILS(gt_recording_describe(tree(), 12345, GT_OPS_JSON, &ops), GT_NOT_FOUND, "");
  int32_t inside = 1, others = 1;
  EXPECT_FINE(gt_tree_who(tree(), &inside, &others));
  EXPECT_EQ(inside + others, 0);
}

TEST_F(TreeTest, ReasonsHaveNamesAndAreCounted) {
  EXPECT_STREQ(gt_reason_name(0), "excluded");
  EXPECT_STREQ(gt_reason_name(-1), "?");
  EXPECT_STREQ(gt_reason_name(gt_reason_count()), "?");
  EXPECT_STRNE(gt_reason_sentence(0), "?");
  gt_function_options options = GT_INIT(gt_function_options);
  options.exclude = 1;
  const gt_function add = Register("excluded", AddThree, &options);
  EXPECT_FINE(gt_release(Call(add, {Words(1)}).storage));
  gt_tree_stats stats = GT_INIT(gt_tree_stats);
  EXPECT_FINE(gt_tree_look(tree(), &stats));
  EXPECT_EQ(stats.reasons[0], 1u);
}

TEST_F(TreeTest, RecordWouldReplayAndComparedCalls) {
  gt_function_options options = GT_INIT(gt_function_options);
  options.recorded_apart = 1;
  const gt_function add = Register("apart", AddThree, &options);
  gt_value x = Words(1), out = gt_nothing();
  EXPECT_FINE(gt_release(Call(add, {x}).storage));
  int32_t would = 1;
  EXPECT_FINE(gt_tree_begin_step(tree()));
  EXPECT_FINE(gt_would_replay(add, &x, 1, stream(), GT_ON_PATH, &would));
  EXPECT_EQ(would, 0);
  EXPECT_FINE(gt_record(add, &x, 1, stream()));
  for (const gt_place_on_path where : {GT_ON_PATH, GT_IN_NEW_STEP, GT_FIRST_OP}) {
    EXPECT_FINE(gt_would_replay(add, &x, 1, stream(), where, &would));
    // Its input is copied, and that op comes first.
    EXPECT_EQ(would, where == GT_FIRST_OP ? 0 : 1) << where;
  }
  EXPECT_FAILS(gt_would_replay(add, &x, 1, stream(), 5, &would), GT_INVALID_ARGUMENT, "place 5");
  gt_parity parity = GT_NOT_COMPARED;
  gt_text text = nullptr;
  EXPECT_FINE(gt_call_compared(add, &x, 1, stream(), &out, 1, nullptr, 0, 0, &parity, &text));
  EXPECT_EQ(parity, GT_SAME) << gt_text_chars(text, nullptr);
  EXPECT_FINE(gt_release(text));
  EXPECT_FINE(gt_release(out.storage));
}

TEST_F(TreeTest, AReleasedTreeTakesItsFunctionsAlong) {
  gt_tree other = nullptr;
  gt_function add = nullptr;
  ASSERT_FINE(gt_tree_new(device(), nullptr, &other));
  ASSERT_FINE(gt_tree_register(other, "add", nullptr, AddThree, this, nullptr, &add));
  gt_value x = Words(1), out = gt_nothing();
  EXPECT_FINE(gt_call(add, &x, 1, stream(), &out, 1, nullptr));
  EXPECT_FINE(gt_release(other));
  EXPECT_EQ(Read(out), std::vector<int32_t>(kCount, 4)) << "outputs stay good";
  EXPECT_FINE(gt_release(out.storage));
  EXPECT_FAILS(gt_call(add, &x, 1, stream(), &out, 1, nullptr), GT_BAD_HANDLE,
               "has ended with what it belonged to");
}

TEST_F(TreeTest, OptionsThatMakeNoSense) {
  gt_tree other = nullptr;
  gt_tree_options options = GT_INIT(gt_tree_options);
  options.budget = reinterpret_cast<gt_budget>(stream());
  EXPECT_FAILS(gt_tree_new(device(), &options, &other), GT_BAD_HANDLE, "budget is a stream");
  gt_function add = nullptr;
  EXPECT_FAILS(gt_tree_register(tree(), "x", nullptr, nullptr, nullptr, nullptr, &add),
               GT_INVALID_ARGUMENT, "body is null");
  EXPECT_FAILS(gt_tree_register(tree(), nullptr, nullptr, AddThree, nullptr, nullptr, &add),
               GT_INVALID_ARGUMENT, "name is null");
  gt_function_options of = GT_INIT(gt_function_options);
  of.static_input_count = 1;
  EXPECT_FAILS(gt_tree_register(tree(), "x", &of, AddThree, nullptr, nullptr, &add),
               GT_INVALID_ARGUMENT, "static_inputs is null");
  of.static_input_count = 0;
  of.moving = 3;
  EXPECT_FAILS(gt_tree_register(tree(), "x", &of, AddThree, nullptr, nullptr, &add),
               GT_INVALID_ARGUMENT, "moving 3");
}

TEST_F(TreeTest, WarningsAreTold) {
  std::string told;
  gt_tree_options options = GT_INIT(gt_tree_options);
  options.warn = [](void* context, const char* text) {
    static_cast<std::string*>(context)->append(text);
  };
  options.context = &told;
  options.shape_warn_limit = 1;
  gt_tree other = nullptr;
  gt_function same = nullptr;
  ASSERT_FINE(gt_tree_new(device(), &options, &other));
  ASSERT_FINE(gt_tree_register(
      other, "many shapes", nullptr,
      [](void*, gt_launcher on) {
        gt_value x;
        gt_launcher_input(on, 0, &x);
        return gt_launcher_output(on, &x);
      },
      nullptr, nullptr, &same));
  const gt_value x = Words(1);
  for (const int64_t size : {4, 5, 6}) {
    gt_value view = gt_tensor(x.word, LayoutOf(GT_I32, {size}));
    EXPECT_FINE(gt_tree_begin_step(other));
    EXPECT_FINE(gt_call(same, &view, 1, stream(), nullptr, 0, nullptr));
  }
  EXPECT_NE(told.find("'many shapes'"), std::string::npos) << told;
  EXPECT_FINE(gt_release(other));
}

}  // namespace
}  // namespace graphtree::c
