// The door for tools of a runtime: what each page shows, what is refused, a step that hangs, and
// readers beside threads that step and record.
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "runtime/configuration.h"
#include "runtime/door/test_client.h"
#include "tests/runtime/runtime_fixture.h"

namespace graphtree {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class ToolDoorTest : public RuntimeTest {
 protected:
  void TearDown() override {
    RuntimeTest::TearDown();
    EXPECT_FALSE(IsThere()) << "the socket outlives the runtime";
    rmdir(folder_.c_str());
  }
  void OpenDoor() { ASSERT_THAT(runtime().OpenDoor(path_), IsOk()); }
  bool IsThere() const {
    struct stat about;
    return lstat(path_.c_str(), &about) == 0;
  }
  std::string Page(absl::string_view target) { return Get(path_, target); }
  std::string Body(absl::string_view target) {
    const std::string answer = Page(target);
    EXPECT_EQ(CodeOf(answer), 200) << target << ": " << answer;
    return BodyOf(answer);
  }

  const std::string folder_ = NewFolder();
  const std::string path_ = folder_ + "/door";
};
GRAPHTREE_ON_EVERY_DEVICE(ToolDoorTest);

TEST_P(ToolDoorTest, ShowsWhatTheRuntimeKnows) {
  OpenDoor();
  EXPECT_THAT(Body("/debug/explain"), HasSubstr("there are no programs yet"));
  const ProgramId program = AddDouble({8, 32});
  for (int i = 0; i < 4; ++i) StepWith(program, IdsFrom(i, 8));
  StepWith(program, IdsFrom(0, 60));
  EXPECT_THAT(Body("/metrics"),
              AllOf(HasSubstr("graphtree_dispatch_total{device=\"0\",lane=\"0\",mode=\"replay\","
                              "reason=\"hit\"} 2\n"),
                    HasSubstr("graphtree_serving_mode{mode=\"replay\"} 1\n"),
                    Not(HasSubstr("graphtree_lane_now{"))));
  EXPECT_THAT(Body("/metrics/memory"),
              AllOf(HasSubstr("graphtree_ledger_bytes{program=\"double\",device=\"0\",lane=\"0\","
                              "function=\"double[tokens=8]\",kind=\"alone\"} "),
                    HasSubstr("graphtree_ledger_lane_bytes{device=\"0\",lane=\"0\","
                              "kind=\"idle\"} "),
                    HasSubstr("graphtree_ledger_device_bytes ")));
  EXPECT_THAT(Body("/debug/graphs?steps=2"),
              AllOf(StartsWith("{\"settings\":{"), HasSubstr("\"plan\":null"),
                    HasSubstr("\"ledger\":{\"device_bytes\":"), HasSubstr("\"outline\""),
                    HasSubstr("\"number\":4"), Not(HasSubstr("\"number\":2"))));
  EXPECT_THAT(Body("/debug/explain?program=double&steps=3"),
              AllOf(HasSubstr("double, device 0 lane 0: 5 steps, 2 replayed"),
                    HasSubstr("above_ceiling"), HasSubstr("lane 0 #2"),
                    Not(HasSubstr("lane 0 #1"))));
  EXPECT_THAT(Body("/debug/explain?format=json"),
              StartsWith("{\"programs\":[{\"name\":\"double\""));
  EXPECT_THAT(Body("/debug/dot"), StartsWith("digraph runtime {"));
  EXPECT_THAT(Body("/debug/ledger"), HasSubstr("double[tokens=8]"));
  EXPECT_THAT(Body("/debug/ledger?format=json"), StartsWith("{\"device_bytes\":"));
  EXPECT_THAT(Body("/debug/settings"), HasSubstr("GRAPHTREE_MODE"));
  EXPECT_THAT(Body("/snapshot"), StartsWith("\x80\x04"));
  EXPECT_THAT(Body("/snapshot?device=0&lane=0"), HasSubstr("double[tokens=8]"));
}

TEST_P(ToolDoorTest, ItsListNamesEveryPage) {
  OpenDoor();
  AddDouble({8});
  int pages = 0;
  for (const absl::string_view line : absl::StrSplit(Body("/"), '\n')) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    if (words.empty() || words[0][0] != '/') continue;
    ++pages;
    Body(words[0]);
  }
  EXPECT_EQ(pages, 10);
}

TEST_P(ToolDoorTest, SaysWhatMakesNoSense) {
  OpenDoor();
  AddDouble({8});
  const auto refused = [&](absl::string_view target, int code, absl::string_view words) {
    const std::string answer = Page(target);
    EXPECT_EQ(CodeOf(answer), code) << target;
    EXPECT_THAT(BodyOf(answer), HasSubstr(std::string(words)));
  };
  refused("/nothing", 404, "/ lists all of them");
  refused("/debug/explain?program=treble", 404, "no program \"treble\"; there are: double");
  refused("/debug/graphs?steps=many", 400, "steps is to be a number up to 1000");
  refused("/debug/graphs?steps=1001", 400, "steps is to be a number up to 1000");
  refused("/debug/graphs?step=1", 400, "not asked with \"step\"; it is asked with: program, steps");
  refused("/metrics?x", 400, "/metrics is not asked with \"x\"");
  refused("/debug/ledger?format=xml", 400, "format is to be text or json");
  refused("/snapshot?lane=1", 404, "there is no lane 1 of device 0");
  refused("/snapshot?lane=-1", 400, "to be numbers");
}

TEST_P(ToolDoorTest, OpensAndClosesWithTheRuntime) {
  RuntimeOptions options;
  options.door = path_;
  OpenRuntime(options);
  EXPECT_THAT(Body("/debug/settings"), HasSubstr("GRAPHTREE_DOOR"));
  EXPECT_THAT(runtime().OpenDoor(folder_ + "/other"),
              FailsWith(absl::StatusCode::kFailedPrecondition, "another one is open at " + path_));
  EXPECT_THAT(Runtime::Create(device(), options),
              FailsWith(absl::StatusCode::kAlreadyExists, path_ + " is taken"));
  CloseRuntime();
  EXPECT_FALSE(IsThere());
  OpenRuntime({});
  OpenDoor();
  EXPECT_THAT(runtime().CloseDoor(), IsOk());
  EXPECT_FALSE(IsThere());
  OpenDoor();
  EXPECT_THAT(Body("/"), HasSubstr("/metrics"));
}

// A page may wait for the body that would wait for the page.
TEST_P(ToolDoorTest, NoBodyClosesIt) {
  OpenDoor();
  absl::Status said;
  ProgramOptions options = DoubleOptions();
  options.body = [&](Launcher& on, const ProgramInputs& in) {
    said = runtime().CloseDoor();
    return DoubleBody(on, in);
  };
  ASSERT_OK_AND_ASSIGN(const ProgramId program, runtime().AddProgram(std::move(options)));
  StepWith(program, IdsFrom(0, 8));
  EXPECT_THAT(said, FailsWith(absl::StatusCode::kFailedPrecondition,
                              "the door at " + path_ + " was to be closed by a body of lane 0"));
  EXPECT_THAT(Body("/debug/explain"), HasSubstr("double"));
  EXPECT_THAT(runtime().CloseDoor(), IsOk());
  EXPECT_FALSE(IsThere());
}

TEST_P(ToolDoorTest, TheEnvironmentMayOpenOne) {
  const absl::StatusOr<RuntimeOptions> options =
      WithEnvironment({}, {{"GRAPHTREE_DOOR", path_}});
  ASSERT_THAT(options, IsOk());
  OpenRuntime(*options);
  EXPECT_THAT(Body("/debug/settings"), HasSubstr(absl::StrCat(path_, " environment")));
}

TEST_P(ToolDoorTest, ShowsThePlanAndWhatShadowEstimates) {
  OpenDoor();
  const ProgramId program = AddDouble({8, 32});
  ASSERT_THAT(runtime().SetServing({.serving = Serving::kShadow}), IsOk());
  for (int i = 0; i < 3; ++i) StepWith(program, IdsFrom(i, 8));
  EXPECT_THAT(Body("/metrics"),
              AllOf(HasSubstr("graphtree_shadow_steps_total{program=\"double\",device=\"0\","
                              "lane=\"0\"} 3\n"),
                    HasSubstr("graphtree_shadow_host_seconds{program=\"double\",device=\"0\","
                              "lane=\"0\",as=\"eager\"} "),
                    Not(HasSubstr("\ngraphtree_plan_device_bytes "))));
  ASSERT_THAT(runtime().SetServing({}), IsOk());
  ASSERT_OK_AND_ASSIGN(const RecordingPlan plan, runtime().Plan({}, 0));
  ASSERT_THAT(runtime().RecordPlan(plan, a()), IsOk());
  EXPECT_THAT(Body("/metrics"),
              AllOf(HasSubstr("graphtree_plan_recorded_shapes 2\n"),
                    HasSubstr("graphtree_plan_estimated_bytes{of=\"executables\"} "),
                    HasSubstr("graphtree_plan_error_ratio "),
                    HasSubstr("graphtree_plan_left_out_shapes{reason=\"budget\"} 0\n")));
  EXPECT_THAT(Body("/debug/graphs"), HasSubstr("\"plan\":{\"recorded\":2,\"estimate\":{"));
}

// When a step hangs people ask why, and must be told.
TEST_P(ToolDoorTest, AStepThatHangsIsNamed) {
  if (!GetParam().concurrent) GTEST_SKIP() << "one thread at a time";
  OpenDoor();
  std::promise<void> goes_on, hangs;
  ProgramOptions options = DoubleOptions("stuck");
  options.body = [&](Launcher& on, const ProgramInputs& in) {
    hangs.set_value();
    goes_on.get_future().wait();
    return DoubleBody(on, in);
  };
  ASSERT_OK_AND_ASSIGN(const ProgramId program, runtime().AddProgram(std::move(options)));
  ASSERT_THAT(runtime().AddShapes(program, {{.tokens = 8}}), IsOk());
  std::thread stepper([&] { StepWith(program, IdsFrom(0, 8)); });
  hangs.get_future().wait();
  std::string late;
  std::thread scraper([&] { late = Page("/metrics"); });
  EXPECT_THAT(Body("/debug/explain"),
              HasSubstr("at this moment device 0 lane 0 records stuck, tokens=8"));
  scraper.join();
  EXPECT_EQ(CodeOf(late), 503);
  EXPECT_THAT(BodyOf(late), HasSubstr("device 0 lane 0 records stuck, tokens=8"));
  goes_on.set_value();
  stepper.join();
  EXPECT_THAT(Body("/metrics"), HasSubstr("graphtree_program_steps_total{program=\"stuck\""));
  EXPECT_THAT(Body("/debug/explain"), Not(HasSubstr("at this moment")));
}

TEST_P(ToolDoorTest, ReadersBesideThreadsThatStepAndRecord) {
  if (!GetParam().concurrent) GTEST_SKIP() << "one thread at a time";
  OpenDoor();
  const ProgramId served = AddDouble({8, 16});
  ASSERT_THAT(runtime().Record(served, a()), IsOk());
  ProgramOptions apart = DoubleOptions("apart");
  apart.lane = 1;
  ASSERT_OK_AND_ASSIGN(const ProgramId other, runtime().AddProgram(std::move(apart)));
  std::vector<Key> keys;
  for (int32_t tokens = 1; tokens <= 40; ++tokens) keys.push_back({.tokens = tokens});
  ASSERT_THAT(runtime().AddShapes(other, keys), IsOk());
  std::atomic<bool> is_over{false};
  std::thread recorder([&] {
    ProgressReport report;
    while (!report.is_done && !is_over) {
      report = *runtime().Progress(b(), {.budget_ns = 100000, .lanes = {1}});
    }
  });
  std::thread asker([&] {
    while (!is_over) {
      EXPECT_FALSE(MetricsAsPrometheus(runtime().metrics()).empty());
      EXPECT_GT(runtime().ledger().device(), 0u);
    }
  });
  std::atomic<int> rounds{0};
  std::thread reader([&] {
    const std::string pages[] = {"/metrics", "/metrics/memory", "/debug/graphs", "/debug/explain",
                                 "/debug/dot", "/debug/ledger", "/snapshot?lane=1"};
    while (!is_over || rounds < 2) {
      for (const std::string& page : pages) EXPECT_FALSE(Body(page).empty()) << page;
      ++rounds;
    }
  });
  for (int i = 0; i < 400 || rounds < 2; ++i) {
    EXPECT_TRUE(IsReplay(StepWith(served, IdsFrom(i, 1 + i % 16))));
    EXPECT_EQ(LastOutput()[0], 2 * i);
  }
  is_over = true;
  recorder.join();
  asker.join();
  reader.join();
}

// Programs come and go between steps while tools look in.
TEST_P(ToolDoorTest, ReadersBesideProgramsThatComeAndGo) {
  if (!GetParam().concurrent) GTEST_SKIP() << "one thread at a time";
  OpenDoor();
  AddDouble({8}, "first");
  std::atomic<bool> is_over{false};
  std::thread reader([&] {
    while (!is_over) {
      Body("/metrics/memory");
      Body("/debug/graphs?steps=5");
    }
  });
  for (int i = 0; i < 30; ++i) {
    const ProgramId program = AddDouble({4, 8}, absl::StrCat("come ", i));
    for (int step = 0; step < 3; ++step) StepWith(program, IdsFrom(i, 4));
    ASSERT_THAT(runtime().RemoveProgram(program), IsOk());
  }
  is_over = true;
  reader.join();
}

}  // namespace
}  // namespace graphtree
