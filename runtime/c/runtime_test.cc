// Runtimes through C: steps, shapes, dependencies, modes, ranks, plans, memory, what they tell.
#include <stdlib.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "runtime/c/test_runtime.h"

namespace graphtree::c {
namespace {

class RuntimeTest : public RuntimeCTest {
 protected:
  static std::vector<int32_t> Wanted(int32_t tokens, int32_t by) {
    std::vector<int32_t> wanted(kCount, by);
    for (int32_t i = 0; i < tokens; ++i) wanted[i] = 1 + by;
    return wanted;
  }
  std::string Described(gt_runtime_text what) {
    gt_text text = nullptr;
    EXPECT_FINE(gt_runtime_describe(runtime(), what, nullptr, &text));
    return WordsOf(text);
  }
  gt_runtime_stats Stats() {
    gt_runtime_stats stats = GT_INIT(gt_runtime_stats);
    EXPECT_FINE(gt_runtime_look(runtime(), &stats));
    return stats;
  }
};

TEST_F(RuntimeTest, StepsAreReplayedOnceTheirShapeIsRecorded) {
  const gt_program decode = Program("decode", {4, 8});
  EXPECT_FINE(gt_program_record(decode, stream()));
  const int before = bodies_;
  gt_why why = GT_MOST_WHYS;
  EXPECT_EQ(Step(decode, 4, &why), Wanted(4, 10));
  EXPECT_EQ(why, GT_HIT);
  EXPECT_EQ(Step(decode, 5, &why), Wanted(5, 10));
  EXPECT_EQ(why, GT_COVER);
  EXPECT_EQ(bodies_, before) << "replays run no body";
  EXPECT_EQ(Step(decode, 100, &why), Wanted(100, 10));
  EXPECT_STREQ(gt_why_name(why), "above_ceiling");
  EXPECT_STRNE(gt_why_sentence(why), "?");
  EXPECT_STREQ(gt_why_name(-1), "?");
  EXPECT_EQ(Stats().steps, 3u);
  EXPECT_EQ(Stats().whys[GT_HIT], 1u);
  EXPECT_EQ(Stats().recordings, 2u);
}

TEST_F(RuntimeTest, ChoosingAndWhatAStepSays) {
  const gt_program decode = Program("decode", {4, 8});
  EXPECT_FINE(gt_program_record(decode, stream()));
  gt_key key = Tokens(5);
  gt_choice choice = GT_INIT(gt_choice);
  EXPECT_FINE(gt_program_choose(decode, &key, GT_ALLOW_ALL, &choice));
  EXPECT_EQ(choice.why, GT_COVER);
  EXPECT_EQ(choice.shape, 1);
  EXPECT_EQ(choice.key.tokens, 8);
  key = Tokens(4);
  EXPECT_FINE(gt_program_exclude(decode, &key, 1));
  EXPECT_FINE(gt_program_choose(decode, &key, GT_ALLOW_ALL, &choice));
  EXPECT_EQ(choice.better, 0);
  EXPECT_FAILS(gt_program_choose(decode, &key, 9, &choice), GT_INVALID_ARGUMENT, "modes 9");
  EXPECT_FAILS(gt_program_choose(decode, nullptr, 0, &choice), GT_INVALID_ARGUMENT, "key is null");
  gt_step step = nullptr;
  gt_text text = nullptr;
  EXPECT_FINE(gt_step_begin(decode, &key, stream(), nullptr, &step));
  EXPECT_FINE(gt_step_describe(step, &text));
  EXPECT_NE(WordsOf(text).find("cover"), std::string::npos);
  EXPECT_FINE(gt_step_cancel(step));
  EXPECT_FAILS(gt_step_run(step, nullptr, 0, nullptr), GT_FAILED_PRECONDITION, "closed");
  EXPECT_FINE(gt_release(step));
  EXPECT_FAILS(gt_step_cancel(step), GT_BAD_HANDLE, "step");
}

TEST_F(RuntimeTest, AStepsHandleEndsWithTheNextStep) {
  const gt_program decode = Program("decode", {4});
  const gt_key key = Tokens(4);
  gt_step first = nullptr, second = nullptr;
  EXPECT_FINE(gt_step_begin(decode, &key, stream(), nullptr, &first));
  const gt_error busy = gt_step_begin(decode, &key, stream(), nullptr, &second);
  EXPECT_NE(TextOf(busy), "") << "the lane has a step";
  EXPECT_FINE(gt_step_stage_number(first, 0, 3)) << "which is as it was";
  EXPECT_FINE(gt_step_run(first, nullptr, 0, nullptr));
  EXPECT_FINE(gt_step_begin(decode, &key, stream(), nullptr, &second));
  EXPECT_FAILS(gt_step_cancel(first), GT_BAD_HANDLE, "");
  EXPECT_FINE(gt_release(second));
  int32_t was_open = 1;
  EXPECT_FINE(gt_lane_cancel_step(runtime(), 0, 0, &was_open));
  EXPECT_EQ(was_open, 0) << "releasing the handle has canceled it";
}

TEST_F(RuntimeTest, ABodyMayNotRunItsOwnStep) {
  gt_program_options options = Options("own");
  struct Own {
    gt_step step = nullptr;
    int asked = 0;
  } own;
  options.context = &own;
  options.body = [](void* context, gt_launcher on) {
    Own& mine = *static_cast<Own*>(context);
    ++mine.asked;
    EXPECT_FAILS(gt_step_run(mine.step, nullptr, 0, nullptr), GT_FAILED_PRECONDITION,
                 "another call uses");
    gt_value ids;
    gt_launcher_slot(on, 0, &ids);
    return gt_launcher_output(on, &ids);
  };
  const gt_program program = Program(options, {4});
  const gt_key key = Tokens(4);
  ASSERT_FINE(gt_step_begin(program, &key, stream(), nullptr, &own.step));
  EXPECT_FINE(gt_step_stage_number(own.step, 0, 1));
  EXPECT_FINE(gt_step_run(own.step, nullptr, 0, nullptr));
  EXPECT_EQ(own.asked, 1);
  EXPECT_FINE(gt_release(own.step));
}

TEST_F(RuntimeTest, AnotherProgramsStepInTheLaneIsNoLongerTheLast) {
  const gt_program a = Program("a", {4}), b = Program("b", {4});
  const gt_key key = Tokens(4);
  gt_step first = nullptr, second = nullptr;
  EXPECT_FINE(gt_step_begin(a, &key, stream(), nullptr, &first));
  EXPECT_FINE(gt_step_cancel(first));
  EXPECT_FINE(gt_step_begin(b, &key, stream(), nullptr, &second));
  gt_choice choice = GT_INIT(gt_choice);
  EXPECT_FAILS(gt_step_look(first, &choice), GT_FAILED_PRECONDITION, "a later step was begun");
  EXPECT_FINE(gt_step_look(second, &choice));
  EXPECT_FINE(gt_release(first));
  EXPECT_FINE(gt_release(second));
}

TEST_F(RuntimeTest, StagingOfEveryKind) {
  const gt_program decode = Program("decode", {4});
  const gt_key key = Tokens(4);
  const gt_value x = Words(1);
  for (int round = 0; round < 4; ++round) {
    for (int way = 0; way < 4; ++way) {
      gt_step step = nullptr;
      ASSERT_FINE(gt_step_begin(decode, &key, stream(), nullptr, &step));
      if (way == 0) {
        const gt_rows rows = {GT_I32, 1, x.word, 4, 0, 0};
        EXPECT_FINE(gt_step_stage(step, 0, &rows));
      } else if (way == 1) {
        EXPECT_FINE(gt_step_stage_number(step, 0, 1));
      } else if (way == 2) {
        gt_value part = gt_tensor(x.word, LayoutOf(GT_I32, {4}));
        EXPECT_FINE(gt_step_stage_value(step, 0, &part));
      } else {
        void* memory = nullptr;
        ASSERT_FINE(gt_step_buffer(step, 0, 4, &memory));
        for (int i = 0; i < 4; ++i) static_cast<int32_t*>(memory)[i] = 1;
      }
      gt_value out = gt_nothing();
      EXPECT_FINE(gt_step_run(step, &out, 1, nullptr));
      EXPECT_EQ(Read(out), Wanted(4, 10)) << "round " << round << ", way " << way;
      EXPECT_FINE(gt_release(out.storage));
      EXPECT_FINE(gt_release(step));
    }
  }
}

TEST_F(RuntimeTest, WhatIsWrongWithAStageNamesTheSlot) {
  const gt_program decode = Program("decode", {4});
  const gt_key key = Tokens(4);
  gt_step step = nullptr;
  ASSERT_FINE(gt_step_begin(decode, &key, stream(), nullptr, &step));
  const gt_error error = gt_step_stage_number(step, 7, 1);
  ASSERT_NE(error, nullptr);
  EXPECT_EQ(gt_error_look(error)->input, 7);
  EXPECT_STREQ(gt_error_look(error)->function, "decode");
  EXPECT_FINE(gt_release(error));
  gt_rows rows = {12, 0, 0, 4, 0, 0};
  EXPECT_FAILS(gt_step_stage(step, 0, &rows), GT_INVALID_ARGUMENT, "dtype 12");
  EXPECT_FAILS(gt_step_stage(step, 0, nullptr), GT_INVALID_ARGUMENT, "rows is null");
  rows = {GT_I32, 0, 0, 4, 0, 0};
  EXPECT_NE(TextOf(gt_step_stage(step, 0, &rows)), "") << "rows at no address";
  EXPECT_FAILS(gt_step_run(step, nullptr, 0, nullptr), GT_FAILED_PRECONDITION, "ids");
  EXPECT_FINE(gt_release(step));
}

TEST_F(RuntimeTest, DependenciesMakeRecordingsStale) {
  gt_dependency weights = nullptr;
  ASSERT_FINE(gt_dependency_new(runtime(), "weights", &weights));
  gt_program_options options = Options("decode");
  options.dependencies = &weights;
  options.dependency_count = 1;
  const gt_program decode = Program(options, {4});
  EXPECT_FINE(gt_program_record(decode, stream()));
  by_ = 20;
  EXPECT_EQ(Step(decode, 4), Wanted(4, 10)) << "as it was recorded";
  EXPECT_FINE(gt_dependency_touch(weights));
  gt_why why = GT_HIT;
  EXPECT_EQ(Step(decode, 4, &why), Wanted(4, 20));
  EXPECT_STREQ(gt_why_name(why), "stale_dependency");
  EXPECT_EQ(Stats().touches, 1u);
  gt_dependency other = nullptr;
  EXPECT_FAILS(gt_dependency_new(runtime(), "weights", &other), GT_ALREADY_EXISTS, "weights");
  EXPECT_NE(TextOf(gt_dependency_move(weights, {64, 64})), "");
  EXPECT_FINE(gt_dependency_new_workspace(runtime(), "scratch", {Words(0).word, 64}, &other));
  EXPECT_FINE(gt_dependency_move(other, {Words(0).word, 128}));
}

TEST_F(RuntimeTest, ModesOfServing) {
  const gt_program decode = Program("decode", {4});
  gt_serving_mode mode = GT_INIT(gt_serving_mode);
  EXPECT_FINE(gt_runtime_serving(runtime(), &mode));
  EXPECT_EQ(mode.serving, GT_SERVE_REPLAY);
  for (const gt_serving serving : {GT_SERVE_OFF, GT_SERVE_SHADOW}) {
    mode.serving = serving;
    EXPECT_FINE(gt_runtime_set_serving(runtime(), &mode));
    EXPECT_FINE(gt_runtime_serving(runtime(), &mode));
    EXPECT_EQ(mode.serving, serving);
    gt_why why = GT_HIT;
    EXPECT_EQ(Step(decode, 4, &why), Wanted(4, 10));
    EXPECT_STREQ(gt_why_name(why), serving == GT_SERVE_OFF ? "off" : "shadow");
  }
  mode.serving = GT_SERVE_STRICT;
  EXPECT_FINE(gt_runtime_set_serving(runtime(), &mode));
  const gt_key key = Tokens(4);
  gt_step step = nullptr;
  gt_error error = gt_step_begin(decode, &key, stream(), nullptr, &step);
  if (error == nullptr) error = gt_step_stage_number(step, 0, 1);
  if (error == nullptr) error = gt_step_run(step, nullptr, 0, nullptr);
  EXPECT_NE(TextOf(error), "") << "nothing is recorded";
  EXPECT_FINE(gt_release(step));
  mode.serving = 4;
  EXPECT_FAILS(gt_runtime_set_serving(runtime(), &mode), GT_INVALID_ARGUMENT, "serving 4");
}

TEST_F(RuntimeTest, RanksThatAgree) {
  const gt_program decode = Program("decode", {4, 8});
  EXPECT_FINE(gt_program_record(decode, stream()));
  const gt_key mine = Tokens(3), others = Tokens(7);
  gt_vote votes[2];
  EXPECT_FINE(gt_program_vote(decode, &mine, GT_ALLOW_ALL, 5, &votes[0]));
  EXPECT_FINE(gt_program_vote(decode, &others, GT_ALLOW_FULL, 5, &votes[1]));
  gt_agreement agreed = GT_INIT(gt_agreement);
  EXPECT_FINE(gt_program_agree(decode, &mine, GT_ALLOW_ALL, 5, votes, 2, &agreed));
  EXPECT_EQ(agreed.outcome, GT_AGREED);
  EXPECT_EQ(agreed.modes, static_cast<gt_modes>(GT_ALLOW_FULL));
  EXPECT_EQ(agreed.key.tokens, 8);
  EXPECT_STRNE(gt_vote_outcome_sentence(agreed.outcome), "?");
  EXPECT_STREQ(gt_vote_outcome_sentence(9), "?");
  EXPECT_FAILS(gt_program_agree(decode, &mine, GT_ALLOW_ALL, 6, votes, 2, &agreed),
               GT_FAILED_PRECONDITION, "");
  EXPECT_FAILS(gt_program_agree(decode, &mine, GT_ALLOW_ALL, 5, nullptr, 0, &agreed),
               GT_INVALID_ARGUMENT, "");
  Step(decode, 3);
  uint64_t count = 0, digest = 0;
  EXPECT_FINE(gt_lane_history(runtime(), 0, 0, &count, &digest));
  EXPECT_EQ(count, 1u);
  EXPECT_NE(digest, 0u);
}

TEST_F(RuntimeTest, CommitsOfEpochs) {
  gt_program_options options = Options("decode");
  options.needs_commit = 1;
  const gt_program decode = Program(options, {4});
  EXPECT_FINE(gt_program_record(decode, stream()));
  gt_shape shapes[2];
  size_t count = 0;
  uint64_t epoch = 0;
  EXPECT_FINE(gt_runtime_uncommitted(runtime(), shapes, 2, &count));
  ASSERT_EQ(count, 1u);
  EXPECT_EQ(shapes[0].program, decode);
  EXPECT_EQ(shapes[0].key.tokens, 4);
  gt_why why = GT_HIT;
  Step(decode, 4, &why);
  EXPECT_STREQ(gt_why_name(why), "not_committed");
  EXPECT_FINE(gt_runtime_epoch(runtime(), &epoch));
  EXPECT_FAILS(gt_runtime_commit(runtime(), epoch + 1), GT_FAILED_PRECONDITION, "");
  EXPECT_FINE(gt_runtime_commit(runtime(), epoch));
  Step(decode, 4, &why);
  EXPECT_EQ(why, GT_HIT);
}

TEST_F(RuntimeTest, PlansAndProgress) {
  const gt_program decode = Program("decode", {2, 4, 8});
  gt_plan plan = nullptr;
  ASSERT_FINE(gt_plan_new(runtime(), nullptr, 0, 0, &plan));
  gt_plan_info info = GT_INIT(gt_plan_info);
  EXPECT_FINE(gt_plan_look(plan, &info));
  EXPECT_EQ(info.to_record, 3u);
  EXPECT_EQ(info.is_known, 0);
  gt_text text = nullptr;
  EXPECT_FINE(gt_plan_describe(plan, &text));
  EXPECT_NE(WordsOf(text), "");
  uint64_t told = 0;
  gt_plan_result result = GT_INIT(gt_plan_result);
  EXPECT_FINE(gt_plan_record(
      plan, stream(),
      [](void* context, const gt_plan_result* made) {
        *static_cast<uint64_t*>(context) = made->recorded;
      },
      &told, &result));
  EXPECT_EQ(result.recorded, 3u);
  EXPECT_EQ(told, 3u);
  EXPECT_EQ(result.failed, 0u);
  EXPECT_FINE(gt_release(plan));
  const gt_shape wrong = {reinterpret_cast<gt_program>(stream()), Tokens(2), GT_FULL, 0};
  EXPECT_FAILS(gt_plan_new(runtime(), &wrong, 1, 0, &plan), GT_BAD_HANDLE, "a stream");
  const gt_key more = Tokens(16);
  EXPECT_FINE(gt_program_add_shapes(decode, &more, 1, GT_FULL));
  gt_readiness now = GT_INIT(gt_readiness);
  EXPECT_FINE(gt_runtime_readiness(runtime(), &now));
  EXPECT_EQ(now.shapes, 4u);
  EXPECT_EQ(now.ready, 3u);
  gt_progress_report report = GT_INIT(gt_progress_report);
  for (int round = 0; round < 10 && report.is_done == 0; ++round) {
    EXPECT_FINE(gt_runtime_progress(runtime(), stream(), nullptr, &report));
  }
  EXPECT_EQ(report.is_done, 1);
  EXPECT_EQ(report.ready, 4u);
}

TEST_F(RuntimeTest, ParkedTagsAndLoans) {
  gt_program_options options = Options("decode");
  options.tag = "graphs";
  const char* const needs[] = {"cache"};
  options.needs = needs;
  options.need_count = 1;
  gt_tagged_memory memory = GT_INIT(gt_tagged_memory);
  memory.tag = "cache";
  memory.name = "kv";
  memory.bytes = 1 << 20;
  gt_range range = {};
  EXPECT_FINE(gt_runtime_add_memory(runtime(), &memory, &range));
  EXPECT_EQ(range.bytes, 1u << 20);
  const gt_program decode = Program(options, {4});
  EXPECT_FINE(gt_program_record(decode, stream()));
  EXPECT_FINE(gt_runtime_park(runtime(), "graphs", GT_KEEP));
  EXPECT_FINE(gt_runtime_park(runtime(), "cache", GT_DROP));
  const gt_key key = Tokens(4);
  gt_step step = nullptr;
  EXPECT_NE(TextOf(gt_step_begin(decode, &key, stream(), nullptr, &step)), "");
  EXPECT_FINE(gt_runtime_wake(runtime(), "graphs"));
  EXPECT_FINE(gt_runtime_wake(runtime(), "cache"));
  gt_why why = GT_MOST_WHYS;
  EXPECT_EQ(Step(decode, 4, &why), Wanted(4, 10));
  EXPECT_EQ(why, GT_HIT);
  EXPECT_FINE(gt_runtime_remove_memory(runtime(), "kv"));
  EXPECT_NE(TextOf(gt_runtime_park(runtime(), "nothing", GT_DROP)), "");
  EXPECT_FAILS(gt_runtime_park(runtime(), "graphs", 3), GT_INVALID_ARGUMENT, "contents 3");
  gt_loan loan = nullptr;
  Step(decode, 100);  // eagerly, in memory that is idle after it
  EXPECT_FINE(gt_runtime_lend(runtime(), 0, 0, 4096, 0, stream(), &loan));
  EXPECT_FINE(gt_loan_range(loan, &range));
  EXPECT_GE(range.bytes, 4096u);
  EXPECT_FINE(gt_loan_use_on(loan, stream()));
  Step(decode, 4);
  EXPECT_FINE(gt_loan_range(loan, &range));
  EXPECT_EQ(range.bytes, 0u) << "it ended with the step";
  EXPECT_FINE(gt_release(loan));
}

TEST_F(RuntimeTest, SlotsEventsPointersAndTheLanesTree) {
  gt_program_options options = Options("decode");
  options.tells_when_free = 1;
  const gt_program decode = Program(options, {4});
  EXPECT_FINE(gt_program_record(decode, stream()));
  gt_event rows = nullptr, slots = nullptr;
  EXPECT_FINE(gt_program_when_free(decode, &rows, &slots));
  Step(decode, 4);
  EXPECT_FINE(gt_event_synchronize(rows));
  EXPECT_FINE(gt_event_synchronize(slots));
  EXPECT_FINE(gt_release(rows));
  EXPECT_FINE(gt_release(slots));
  gt_value slot = gt_nothing();
  EXPECT_FINE(gt_program_slot(decode, 0, &slot));
  EXPECT_EQ(slot.kind, GT_TENSOR);
  const gt_key key = Tokens(4);
  gt_pointer pointers[8];
  size_t count = 0;
  EXPECT_FINE(gt_program_pointers(decode, &key, {slot.word, 4096}, pointers, 8, &count, nullptr));
  EXPECT_GE(count, 1u);
  gt_tree tree = nullptr;
  EXPECT_FINE(gt_runtime_tree(runtime(), 0, 0, &tree));
  gt_tree_stats stats = GT_INIT(gt_tree_stats);
  EXPECT_FINE(gt_tree_look(tree, &stats));
  EXPECT_EQ(stats.recordings, 1u);
  EXPECT_FINE(gt_release(tree));
  EXPECT_FAILS(gt_runtime_tree(runtime(), 7, 0, &tree), GT_NOT_FOUND, "lane 7");
}

TEST_F(RuntimeTest, WhatItTells) {
  const gt_program decode = Program("decode", {4});
  EXPECT_FINE(gt_program_record(decode, stream()));
  Step(decode, 4);
  EXPECT_NE(Described(GT_EXPLAIN).find("decode"), std::string::npos);
  EXPECT_EQ(Described(GT_EXPLAIN_JSON)[0], '{');
  EXPECT_NE(Described(GT_EXPLAIN_GRAPHVIZ).find("digraph"), std::string::npos);
  EXPECT_NE(Described(GT_METRICS_PROMETHEUS).find("graphtree_dispatch_total"), std::string::npos);
  EXPECT_EQ(Described(GT_METRICS_JSON)[0], '{');
  EXPECT_NE(Described(GT_LEDGER).find("decode"), std::string::npos);
  EXPECT_EQ(Described(GT_LEDGER_JSON)[0], '{');
  EXPECT_NE(Described(GT_LEDGER_PROMETHEUS).find("graphtree_ledger"), std::string::npos);
  EXPECT_EQ(Described(GT_PLAN_JSON), "null");
  EXPECT_NE(Described(GT_SETTINGS).find("GRAPHTREE_MODE"), std::string::npos);
  EXPECT_NE(Described(GT_EVERYTHING_JSON).find("\"trees\""), std::string::npos);
  gt_text text = nullptr;
  EXPECT_FAILS(gt_runtime_describe(runtime(), 11, nullptr, &text), GT_INVALID_ARGUMENT, "text 11");
  // A socket's path is short.
  char folder[] = "/tmp/graphtree_c_XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  EXPECT_FINE(gt_runtime_open_door(runtime(), (std::string(folder) + "/door").c_str()));
  EXPECT_FINE(gt_runtime_close_door(runtime()));
  EXPECT_EQ(rmdir(folder), 0);
}

TEST_F(RuntimeTest, ProgramsGoAloneAndWithTheirRuntime) {
  const gt_program decode = Program("decode", {4});
  const gt_key key = Tokens(4);
  gt_step step = nullptr;
  EXPECT_FINE(gt_step_begin(decode, &key, stream(), nullptr, &step));
  EXPECT_FAILS(gt_release(decode), GT_FAILED_PRECONDITION, "decode");
  EXPECT_FINE(gt_release(step));
  EXPECT_FINE(gt_release(decode));
  EXPECT_FAILS(gt_step_begin(decode, &key, stream(), nullptr, &step), GT_BAD_HANDLE, "program");
  gt_runtime other = nullptr;
  const gt_device over = device();
  EXPECT_FINE(gt_runtime_new(&over, 1, nullptr, &other));
  const gt_program_options options = Options("decode");
  gt_program its = nullptr;
  EXPECT_FINE(gt_program_new(other, &options, &its));
  EXPECT_FINE(gt_step_begin(its, &key, stream(), nullptr, &step));
  EXPECT_FINE(gt_release(other));
  EXPECT_FAILS(gt_step_cancel(step), GT_BAD_HANDLE, "");
  EXPECT_FAILS(gt_release(its), GT_BAD_HANDLE, "ended with what it belonged to");
}

TEST_F(RuntimeTest, OptionsThatMakeNoSense) {
  gt_runtime other = nullptr;
  EXPECT_FAILS(gt_runtime_new(nullptr, 1, nullptr, &other), GT_INVALID_ARGUMENT, "devices is null");
  EXPECT_FAILS(gt_runtime_new(nullptr, 0, nullptr, &other), GT_INVALID_ARGUMENT, "no device");
  gt_program program = nullptr;
  gt_program_options options = Options("decode");
  options.body = nullptr;
  EXPECT_FAILS(gt_program_new(runtime(), &options, &program), GT_INVALID_ARGUMENT, "body is null");
  options = Options("decode");
  options.device = 1;
  EXPECT_FAILS(gt_program_new(runtime(), &options, &program), GT_INVALID_ARGUMENT, "device 1 of 1");
  gt_slot slot = GT_INIT(gt_slot);
  slot.name = "x";
  slot.pad = 9;
  options = Options("decode");
  options.slots = &slot;
  EXPECT_FAILS(gt_program_new(runtime(), &options, &program), GT_INVALID_ARGUMENT, "pad 9");
  gt_key_rules rules = GT_INIT(gt_key_rules);
  rules.tokens.covers = 7;
  options = Options("decode");
  options.rules = &rules;
  EXPECT_FAILS(gt_program_new(runtime(), &options, &program), GT_INVALID_ARGUMENT, "covers by 7");
}

}  // namespace
}  // namespace graphtree::c
