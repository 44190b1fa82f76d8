// Watching a tree: what observers are told, and the recorded graphs as text.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "device/observer.h"
#include "graphs/budget.h"
#include "graphs/reports/graph_export.h"
#include "tests/tree/tree_fixture.h"

namespace graphtree {
namespace {

// "replay end 1 of second": what was told, in order.
class Diary : public Observer {
 public:
  void Saw(const GraphEvent& event) override {
    lines.push_back(absl::StrCat(GraphMomentName(event.moment), " ", event.recording, " of ",
                                 std::string(event.function), event.ok ? "" : " failed"));
    const bool has_graph = event.moment != GraphMoment::kCaptureBegin &&
                           event.moment != GraphMoment::kCaptureEnd;
    EXPECT_EQ(event.executable != nullptr, has_graph) << lines.back();
    EXPECT_EQ(event.graph != nullptr, has_graph) << lines.back();
    EXPECT_EQ(event.stream != nullptr, event.moment != GraphMoment::kDestroy) << lines.back();
  }
  std::vector<std::string> lines;
};

class WatchingTest : public TreeTest {};
GRAPHTREE_ON_EVERY_DEVICE(WatchingTest);

TEST_P(WatchingTest, EveryMomentOfAGraphsLifeIsTold) {
  const FunctionId first = Register("first", {}, Twice);
  const FunctionId second = Register("second", {}, Thrice);
  const FunctionId idle = Register("idle", {}, [](Launcher&, Values&) { return Values{}; });
  Diary early, late;
  tree().observers().Join(&early);
  const Tensor x = Given(1);
  for (int step = 0; step < 3; ++step) {
    NewStep();
    if (step == 2) tree().observers().Join(&late);
    Call(first, {x});
    Call(second, {x});
    Call(idle, {});
  }
  tree().observers().Leave(&late);
  CloseTree();
  EXPECT_EQ(early.lines,
            (std::vector<std::string>{
                "capture begin 0 of first", "capture end 0 of first", "instantiate 0 of first",
                "replay begin 0 of first", "replay end 0 of first", "capture begin 1 of second",
                "capture end 1 of second", "instantiate 1 of second", "replay begin 1 of second",
                "replay end 1 of second", "capture begin 2 of idle", "capture end 2 of idle",
                "replay begin 0 of first", "replay end 0 of first", "replay begin 1 of second",
                "replay end 1 of second", "destroy 1 of second", "destroy 0 of first"}));
  EXPECT_EQ(late.lines,
            (std::vector<std::string>{"replay begin 0 of first", "replay end 0 of first",
                                      "replay begin 1 of second", "replay end 1 of second"}));
}

TEST_P(WatchingTest, WhatIsEvictedIsToldOfAndMayComeBack) {
  OpenTree({.budget = {.executables = 1}});
  const FunctionId first = Register("first", {}, Twice);
  const FunctionId second = Register("second", {}, Thrice);
  const Tensor x = Given(1);
  CallInSteps(2, first, {x});
  CallInSteps(1, second, {x});
  Diary diary;
  tree().observers().Join(&diary);
  CallInSteps(1, second, {x});
  CallInSteps(1, first, {x});
  tree().observers().Leave(&diary);
  EXPECT_EQ(diary.lines,
            (std::vector<std::string>{
                "capture begin 1 of second", "capture end 1 of second", "destroy 0 of first",
                "instantiate 1 of second", "replay begin 1 of second", "replay end 1 of second",
                "destroy 1 of second", "instantiate 0 of first", "replay begin 0 of first",
                "replay end 0 of first"}));
}

class Failures : public Observer {
 public:
  void Saw(const GraphEvent& event) override { failures += event.ok ? 0 : 1; }
  int failures = 0;
};

TEST_P(WatchingTest, ACaptureThatFailsIsToldAsSuch) {
  const FunctionId function = Register("waits", {}, [](Launcher& on, Values& inputs) {
    const Tensor sum = Sum(on, inputs[0], inputs[0]);
    on.Fail(on.stream().Synchronize());
    return Values{sum};
  });
  Failures failures;
  tree().observers().Join(&failures);
  CallInSteps(3, function, {Given(1)});
  EXPECT_EQ(failures.failures, 2);
}

TEST_P(WatchingTest, ARecordedGraphCanBeExported) {
  const FunctionId function = Register("thrice", {}, Thrice);
  CallInSteps(2, function, {Given(1)});
  ASSERT_OK_AND_ASSIGN(const std::vector<Op> ops, tree().OpsOf(0));
  ASSERT_EQ(ops.size(), 3u) << "one op copies the input, two add";
  const std::string json = OpsAsJson("thrice #0", ops);
  EXPECT_NE(json.find("\"kind\":\"kernel\",\"name\":\"add\",\"grid\":[4,1,1]"), std::string::npos)
      << json;
  EXPECT_NE(json.find("\"dependencies\":[{\"from\":1,\"kind\":\"full\""), std::string::npos)
      << json;
  const std::string dot = OpsAsGraphviz("thrice #0", ops);
  EXPECT_NE(dot.find("op1 -> op2;"), std::string::npos) << dot;
  EXPECT_THAT(tree().OpsOf(7), FailsWith(absl::StatusCode::kNotFound, "no recording 7"));
}

}  // namespace
}  // namespace graphtree
