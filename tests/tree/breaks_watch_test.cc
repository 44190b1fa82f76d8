// What a cut recording looks like from outside: budgets, observers, exports, checks.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "allocator/snapshot_nodes.h"
#include "device/observer.h"
#include "graphs/reports/graph_export.h"
#include "graphs/reports/outline.h"
#include "tests/tree/breaks_fixture.h"

namespace graphtree {
namespace {

using absl::StatusCode;

class BreaksWatchTest : public BreaksFixture {
 protected:
  // x -> 7x, in two sections.
  FunctionId RegisterSeven(std::string name) {
    return Register(std::move(name), {}, [this](Launcher& on, Values& inputs) {
      return Values{Sum(on, HostTimes(on, Sum(on, inputs[0], inputs[0]), 3), inputs[0])};
    });
  }
  TreeStats stats() { return tree().stats(); }
};
GRAPHTREE_ON_EVERY_DEVICE(BreaksWatchTest);

TEST_P(BreaksWatchTest, EverySectionIsAnExecutable) {
  for (const uint64_t patch_bytes : {kDefaultPatchBytes, uint64_t{1}}) {
    OpenTree({.patch_bytes = patch_bytes, .budget = {.executables = 3}});
    const FunctionId functions[] = {RegisterSeven("f"), RegisterSeven("g"), RegisterSeven("h")};
    for (uint32_t round = 1; round < 7; ++round) {
      for (FunctionId function : functions) {
        const Tensor x = Given(round + function);
        EXPECT_EQ(Read(CallInSteps(1, function, {x})[0]), Times(PatternOf(round + function), 7));
        EXPECT_LE(stats().executables, 3u);
      }
    }
    EXPECT_EQ(graphs(), 3u);
    EXPECT_EQ(eager(), 0u);
    EXPECT_EQ(stats().executables, 2u) << "sections go and come together";
    EXPECT_EQ(stats().instantiated_again, 2 * replays());
    EXPECT_EQ(reasons(Reason::kExecutableEvicted), stats().instantiated_again + 4);
  }
}

TEST_P(BreaksWatchTest, ABudgetBelowOneFunctionsNeed) {
  OpenTree({.budget = {.executables = 1}});
  const FunctionId function = RegisterSeven("f");
  const Tensor x = Given(1);
  for (int step = 0; step < 3; ++step) {
    EXPECT_EQ(Read(CallInSteps(1, function, {x})[0]), Times(PatternOf(1), 7));
  }
  EXPECT_EQ(reasons(Reason::kOverBudget), 2u);
  EXPECT_EQ(stats().executables, 0u);
  ASSERT_EQ(warnings().size(), 1u);
  EXPECT_NE(warnings()[0].find("raise TreeBudget::executables"), std::string::npos)
      << warnings()[0];
}

class Diary : public Observer {
 public:
  void Saw(const GraphEvent& event) override {
    lines.push_back(absl::StrCat(GraphMomentName(event.moment), " ", event.section,
                                 event.ok ? "" : " failed"));
    const bool has_graph = event.moment != GraphMoment::kCaptureBegin &&
                           event.moment != GraphMoment::kCaptureEnd;
    EXPECT_EQ(event.executable != nullptr, has_graph) << lines.back();
    EXPECT_EQ(event.graph != nullptr, has_graph) << lines.back();
  }
  std::vector<std::string> lines;
};

TEST_P(BreaksWatchTest, EverySectionsMomentsAreTold) {
  const FunctionId function = RegisterSeven("f");
  Diary diary;
  tree().observers().Join(&diary);
  CallInSteps(3, function, {Given(1)});
  CloseTree();
  EXPECT_EQ(diary.lines,
            (std::vector<std::string>{
                "capture begin 0", "capture end 0", "instantiate 0", "replay begin 0",
                "replay end 0", "capture begin 1", "capture end 1", "instantiate 1",
                "replay begin 1", "replay end 1", "replay begin 0", "replay end 0",
                "replay begin 1", "replay end 1", "destroy 0", "destroy 1"}));
}

TEST_P(BreaksWatchTest, ACutRecordingIsExportedWhole) {
  const FunctionId function = RegisterSeven("f");
  CallInSteps(3, function, {Given(1)});
  ASSERT_OK_AND_ASSIGN(const std::vector<Op> ops, tree().OpsOf(0));
  ASSERT_EQ(ops.size(), 4u) << "one copies the input, two add, and the part between them";
  EXPECT_EQ(ops[2].name, "eager part: host");
  EXPECT_EQ(ops[2].kind, OpKind::kHost);
  ASSERT_EQ(ops[2].dependencies.size(), 1u);
  EXPECT_EQ(ops[2].dependencies[0].from, 1u);
  ASSERT_EQ(ops[3].dependencies.size(), 1u);
  EXPECT_EQ(ops[3].dependencies[0].from, 2u);
  EXPECT_NE(OpsAsGraphviz("f", ops).find("op2 -> op3;"), std::string::npos);
  const Outline outline = tree().outline();
  ASSERT_EQ(outline.size(), 1u);
  EXPECT_EQ(outline[0].breaks, std::vector<std::string>{"host"});
  EXPECT_EQ(outline[0].ops, 3u);
  EXPECT_NE(DrawOutline(outline).find("3 ops, 2 sections (host)\n"), std::string::npos)
      << DrawOutline(outline);
  EXPECT_NE(OutlineAsJson(outline).find("\"breaks\":[\"host\"]"), std::string::npos);
  const std::vector<SnapshotNode> memory = tree().memory_of_nodes();
  ASSERT_EQ(memory.size(), 1u);
  EXPECT_EQ(memory[0].executable_bytes, stats().executable_bytes);
}

// The part knows the input by another name, and its launch declares the write.
TEST_P(BreaksWatchTest, CheckedModeKnowsWhatALaunchOfAPartDeclares) {
  OpenTree({.check = true});
  const Tensor x = Given(1);
  const FunctionId function =
      Register("f", {.static_inputs = {0}}, [x](Launcher& on, Values& inputs) {
        const Tensor out = Sum(on, inputs[0], inputs[0]);
        on.Break("by another name", {In(out)},
                 [x](Launcher& part, absl::Span<const Tensor>) { Bump(part, x, 5); });
        return Values{out};
      });
  for (uint32_t step = 0; step < 4; ++step) {
    EXPECT_EQ(Read(CallInSteps(1, function, {x})[0]),
              Times(Plus(PatternOf(1), Words(kWords, 5 * step)), 2));
  }
  EXPECT_EQ(reasons(Reason::kUndeclaredWrite), 0u);
}

// A part that says it only reads what it writes to; its launch says so, too.
TEST_P(BreaksWatchTest, CheckedModeSeesWhatAPartWrites) {
  OpenTree({.check = true});
  const FunctionId function =
      Register("f", {.static_inputs = {0}}, [](Launcher& on, Values& inputs) {
        const Tensor out = Sum(on, inputs[0], inputs[0]);
        on.Break("in secret", {In(Tensor::From(inputs[0]))},
                 [](Launcher& part, absl::Span<const Tensor> tensors) {
                   BumpInSecret(part, tensors[0], 5);
                 });
        return Values{out};
      });
  const Tensor x = Given(1);
  for (uint32_t step = 0; step < 4; ++step) {
    EXPECT_EQ(Read(CallInSteps(1, function, {x})[0]),
              Times(Plus(PatternOf(1), Words(kWords, 5 * step)), 2));
  }
  EXPECT_EQ(reasons(Reason::kUndeclaredWrite), 1u);
  EXPECT_EQ(replays(), 2u);
  ASSERT_GE(warnings().size(), 1u);
  EXPECT_NE(warnings()[0].find("'in secret'"), std::string::npos) << warnings()[0];
}

}  // namespace
}  // namespace graphtree
