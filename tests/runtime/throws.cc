// Callbacks of the caller's that throw, in a program that is compiled with exceptions: the call's
// error says which one threw, and everything goes on.
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "device/base/status_matchers.h"
#include "device/host/host_device.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/runtime.h"
#include "tests/kernels/kernels.h"
#include "tests/kernels/launches.h"

namespace graphtree {
namespace {

using absl::StatusCode;
using testing::HasSubstr;

constexpr int64_t kMost = 64;
constexpr Serving kAllModes[] = {Serving::kOff, Serving::kShadow, Serving::kReplay,
                                 Serving::kStrict};

// The status of any call.
template <typename T>
absl::Status StatusOf(const T& made) {
  if constexpr (std::is_same_v<T, absl::Status>) {
    return made;
  } else {
    return made.status();
  }
}

class RuntimeThrowsTest : public testing::Test {
 protected:
  void SetUp() override {
    device_ = *OpenHostDevice({});
    stream_ = *device_->NewStream();
    RuntimeOptions options;
    options.tree.pool_bytes = 64 << 20;
    options.clock_ns = [this]() -> int64_t {
      if (++looks_ == throws_at_) throw std::runtime_error("the clock has stopped");
      return looks_;
    };
    options.log = [this](LogLevel, const std::string& text) {
      logged_.push_back(text);
      if (log_throws_) throw std::runtime_error("the log is full");
    };
    runtime_ = *Runtime::Create(*device_, options);
    ProgramOptions program;
    program.name = "double";
    program.slots = {
        {.name = "ids", .type = DType::kI32, .sizes = {kMost}, .rows = KeyField::kTokens}};
    program.body = [this](Launcher& on, const ProgramInputs& in) -> Values {
      if (body_throws_) throw std::runtime_error("out of luck");
      const Tensor out = on.Empty(DType::kI32, {in.key().tokens});
      if (!on.ok()) return {};
      on.Launch(AddKernel(), TestShape(),
                {Out(out), In(in.slot(0)), In(in.slot(0)),
                 Val(static_cast<uint32_t>(in.key().tokens))});
      return {out};
    };
    program_ = *runtime_->AddProgram(program);
    ASSERT_THAT(runtime_->AddShapes(program_, {{.tokens = 4}, {.tokens = 8}}), IsOk());
  }
  void TearDown() override {
    outputs_.clear();
    runtime_.reset();
    stream_.reset();
    EXPECT_THAT(device_->Close(), IsOk());
  }
  absl::Status TryStep() {
    absl::StatusOr<Step> step = runtime_->Begin(program_, {.tokens = 8}, *stream_);
    if (!step.ok()) return step.status();
    EXPECT_THAT(step->Stage(0, 1.0), IsOk());
    return step->Run(&outputs_);
  }
  // The clock throws at the call's first look, then at its second, until it throws no more.
  template <typename Call>
  void ThrowAtEveryLook(const char* what, const Call& call) {
    for (int64_t look = 1;; ++look) {
      throws_at_ = looks_ + look;
      const absl::Status status = StatusOf(call());
      const bool has_thrown = looks_ >= throws_at_;
      throws_at_ = 0;
      if (!has_thrown) {
        EXPECT_THAT(status, IsOk()) << what;
        EXPECT_GT(look, 1) << what << " never looks at the clock";
        return;
      }
      EXPECT_THAT(status, FailsWith(StatusCode::kUnknown,
                                    "RuntimeOptions::clock_ns threw an exception: "
                                    "the clock has stopped"))
          << what << ", look " << look;
      EXPECT_FALSE(runtime_->CancelStep()) << "no step has the lane after " << what;
      EXPECT_THAT(TryStep(), IsOk()) << what << ", look " << look;
    }
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Runtime> runtime_;
  ProgramId program_;
  Values outputs_;
  std::vector<std::string> logged_;
  int64_t added_ = 8;  // the largest shape
  int64_t looks_ = 0;
  int64_t throws_at_ = 0;
  bool log_throws_ = false;
  bool body_throws_ = false;
};

TEST_F(RuntimeThrowsTest, AClockThatThrowsIsAnErrorOfEveryCallThatLooksAtIt) {
  ThrowAtEveryLook("Step::Run", [&] { return TryStep(); });
  ThrowAtEveryLook("RecordPlan", [&] {
    EXPECT_THAT(runtime_->AddShapes(program_, {{.tokens = static_cast<int32_t>(++added_)}}),
                IsOk());
    return StatusOf(runtime_->RecordPlan(*runtime_->Plan({}, 0), *stream_));
  });
  ThrowAtEveryLook("Progress", [&] {
    EXPECT_THAT(runtime_->AddShapes(program_, {{.tokens = static_cast<int32_t>(++added_)}}),
                IsOk());
    return StatusOf(runtime_->Progress(*stream_, {.budget_ns = 1000, .ends_steps = true}));
  });
  ThrowAtEveryLook("SetServing", [&] {
    return runtime_->SetServing({.serving = Serving::kShadow});
  });
}

// What was launched has run, and is counted once.
TEST_F(RuntimeThrowsTest, AStepRunsBeforeItsErrorOrNotAtAll) {
  ASSERT_THAT(runtime_->Record(program_, *stream_), IsOk());
  for (const int64_t look : {1, 2}) {
    const uint64_t steps = runtime_->stats().steps;
    outputs_.clear();
    ASSERT_THAT(runtime_->SetServing({.serving = Serving::kOff}), IsOk());  // each step is timed
    throws_at_ = looks_ + look;
    const absl::Status status = TryStep();
    const bool has_run = look == 2;
    EXPECT_THAT(status, FailsWith(StatusCode::kUnknown, "clock_ns"));
    EXPECT_EQ(status.message().find("it has run") != std::string::npos, has_run) << status;
    EXPECT_EQ(outputs_.size(), has_run ? 1u : 0u);
    EXPECT_EQ(runtime_->stats().steps, steps + (has_run ? 1 : 0));
  }
}

TEST_F(RuntimeThrowsTest, ABodyThatThrowsIsNamed) {
  for (const Serving serving : kAllModes) {
    ASSERT_THAT(runtime_->SetServing({}), IsOk());
    ASSERT_THAT(runtime_->Record(program_, *stream_), IsOk());
    ASSERT_THAT(runtime_->SetServing({.serving = serving}), IsOk());
    body_throws_ = true;
    const absl::Status status = TryStep();
    const bool replays = ServesGraphs(serving);
    EXPECT_EQ(status.ok(), replays) << "a replay runs no body";
    if (!replays) {
      EXPECT_THAT(status, FailsWith(StatusCode::kUnknown, "'double"));
      EXPECT_THAT(status.message(), HasSubstr("it threw an exception: out of luck"));
    }
    body_throws_ = false;
    EXPECT_THAT(TryStep(), IsOk());
  }
}

// More often than its memory would last, and with events that the device would miss when it closes.
TEST_F(RuntimeThrowsTest, WhatAStepHasMadeGoesWhereItsProgramThrows) {
  std::string throws;
  const auto may_throw = [&throws](const char* name) {
    if (throws == name) throw std::runtime_error("out of luck");
  };
  ProgramOptions options;
  options.name = "large";
  options.tells_when_free = true;
  options.slots = {{.name = "x",
                    .type = DType::kI32,
                    .sizes = {4},
                    .fill = [&](Launcher& on, const Key&, const Tensor& slot) {
                      on.Fill(slot, 1);
                      may_throw("`fill` of a slot");
                    }}};
  options.prepare = [&](Launcher& on, const ProgramInputs&) -> Values {
    const Tensor made = on.Empty(DType::kU8, {1 << 20});
    on.Fill(made, 1);
    may_throw("`prepare`");
    return {made};
  };
  options.body = [&](Launcher&, const ProgramInputs& in) -> Values {
    may_throw("it");
    return in.prepared();
  };
  const ProgramId program = *runtime_->AddProgram(options);
  const auto step = [&]() -> absl::Status {
    absl::StatusOr<Step> begun = runtime_->Begin(program, {.tokens = 1}, *stream_);
    return begun.ok() ? begun->Run(&outputs_) : begun.status();
  };
  for (const char* who : {"`fill` of a slot", "`prepare`", "it"}) {
    throws = who;
    for (int i = 0; i < 100; ++i) {
      ASSERT_THAT(step(), FailsWith(StatusCode::kUnknown, "threw an exception: out of luck"));
      ASSERT_THAT(step().message(), HasSubstr(who));
    }
    throws = "";
    ASSERT_THAT(step(), IsOk()) << "after " << who;
    ASSERT_THAT(stream_->Synchronize(), IsOk());
  }
}

TEST_F(RuntimeThrowsTest, ALogThatThrowsChangesNothing) {
  log_throws_ = true;
  ASSERT_THAT(runtime_->SetServing({.serving = Serving::kOff}), IsOk());
  ASSERT_THAT(runtime_->Record(program_, *stream_), IsOk());
  EXPECT_THAT(TryStep(), IsOk());
  EXPECT_THAT(logged_, testing::ElementsAre(HasSubstr("mode is off")));
}

TEST_F(RuntimeThrowsTest, WhoIsToldOfAPlanAndThrowsIsNamed) {
  const RecordingPlan plan = *runtime_->Plan({}, 0);
  const auto made = runtime_->RecordPlan(plan, *stream_, [](const PlanResult&) {
    throw std::runtime_error("not now");
  });
  EXPECT_THAT(made.status(), FailsWith(StatusCode::kUnknown,
                                       "`after` of RecordPlan threw an exception: not now"));
  ASSERT_NE(runtime_->last_plan(), nullptr);
  EXPECT_EQ(runtime_->last_plan()->recorded, 2u);
  EXPECT_THAT(TryStep(), IsOk());
}

}  // namespace
}  // namespace graphtree
