// One device call fails, for every one of a runtime's whole life: what the server called then works
// or fails in words, works when it is called again, and later steps give the right bytes.
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "device/base/status_matchers.h"
#include "device/fault/every_call.h"
#include "device/fault/fault_device.h"
#include "device/host/host_device.h"
#include "gtest/gtest.h"
#include "runtime/runtime.h"
#include "tests/kernels/kernels.h"
#include "tests/kernels/launches.h"

namespace graphtree {
namespace {

constexpr int64_t kMost = 64;
using Ids = std::vector<int32_t>;

std::unique_ptr<Device> MakeHost() { return *OpenHostDevice(); }

class Server {
 public:
  explicit Server(FaultDevice& device) : device_(device) {}
  ~Server() {
    held_.clear();
    runtime_ = nullptr;
    streams_.clear();
  }

  void Live() {
    for (int i = 0; i < 2 && Try("NewStream", [&] {
           absl::StatusOr<std::unique_ptr<Stream>> stream = device_.NewStream();
           if (stream.ok()) streams_.push_back(*std::move(stream));
           return stream.status();
         });
         ++i) {
    }
    Try("Create", [&] {
      RuntimeOptions options;
      options.tree.pool_bytes = 16 << 20;
      absl::StatusOr<std::unique_ptr<Runtime>> made = Runtime::Create(device_, options);
      if (made.ok()) runtime_ = *std::move(made);
      return made.status();
    });
    if (streams_.size() < 2 || runtime_ == nullptr) return;
    Try("DeclareDep", [&] {
      const absl::StatusOr<DepId> dep = runtime_->DeclareDep("factor");
      if (dep.ok()) dep_ = *dep;
      return dep.status();
    });
    const ProgramId plain = Add("plain", 0, Mode::kFull);
    const ProgramId broken = Add("broken", 1, Mode::kSegmented);
    Try("Record", [&] { return runtime_->Record(plain, *streams_[0]); });
    Try("Record", [&] { return runtime_->Record(broken, *streams_[1]); });
    for (int32_t round = 0; round < 3; ++round) StepAll(plain, broken, round);
    factor_ = 3;
    Try("Touch", [&] { return runtime_->Touch(dep_); });
    for (int32_t round = 3; round < 6; ++round) StepAll(plain, broken, round);
    Try("RemoveProgram", [&] { return runtime_->RemoveProgram(broken); });
    const ProgramId again = Add("broken", 1, Mode::kSegmented);
    for (int32_t round = 6; round < 9; ++round) StepAll(plain, again, round);
    EXPECT_LE(failed_, 1) << "one fault spoils one call at most";
  }

 private:
  // A call that fails is made again.
  template <typename F>
  bool Try(const char* what, const F& call) {
    absl::Status status = call();
    if (status.ok()) return true;
    EXPECT_GT(device_.plan().fired(), 0u) << what << ": " << status;
    EXPECT_FALSE(status.message().empty()) << what;
    ++failed_;
    status = call();
    EXPECT_TRUE(status.ok()) << what << " again, after a fault in " << device_.plan().fired_in()
                             << ": " << status;
    return status.ok();
  }

  // Twice the ids, or three times once `factor_` says so: the body launches other work then.
  Values Body(Launcher& on, const ProgramInputs& in) const {
    const auto count = static_cast<uint32_t>(in.key().tokens);
    const Tensor twice = on.Empty(DType::kI32, {in.key().tokens});
    const Tensor out = on.Empty(DType::kI32, {in.key().tokens});
    if (!on.ok()) return {};
    const Tensor& ids = in.slot(0);
    on.Launch(AddKernel(), TestShape(), {Out(twice), In(ids), In(ids), Val(count)});
    const auto part = [count, factor = factor_](Launcher& at, absl::Span<const Tensor> tensors) {
      if (factor == 2) return at.Copy(tensors[1], tensors[0]);
      at.Launch(AddKernel(), TestShape(),
                {Out(tensors[1]), In(tensors[0]), In(tensors[2]), Val(count)});
    };
    const Tensor seen = Tensor::Foreign(ids.word(), twice.layout());
    if (in.mode() == Mode::kSegmented) {
      on.Break("a part", {In(twice), Out(out), In(seen)}, part);
    } else {
      const Tensor tensors[] = {twice, out, seen};
      part(on, tensors);
    }
    return {out};
  }

  ProgramId Add(const std::string& name, uint32_t lane, Mode mode) {
    ProgramOptions options;
    options.name = name;
    options.slots = {{.name = "ids", .sizes = {kMost}, .rows = KeyField::kTokens}};
    options.lane = lane;
    options.deps = {dep_};
    options.kept_outputs = {0};
    options.body = [this](Launcher& on, const ProgramInputs& in) { return Body(on, in); };
    ProgramId id;
    Try("AddProgram", [&] {
      const absl::StatusOr<ProgramId> made = runtime_->AddProgram(options);
      if (made.ok()) id = *made;
      return made.status();
    });
    Try("AddShapes", [&] {
      return runtime_->AddShapes(id, {{.tokens = 8}, {.tokens = 32}}, mode);
    });
    return id;
  }

  void StepAll(ProgramId first, ProgramId second, int32_t round) {
    for (const int32_t tokens : {5, 32, 50}) {
      Step(first, tokens, round, *streams_[round % 2]);
      Step(second, tokens, round + 1, *streams_[1]);
    }
    held_.clear();
  }

  void Step(ProgramId program, int32_t tokens, int32_t round, Stream& stream) {
    Ids ids(tokens, round * 100 + tokens);
    Values outputs;
    Try("a step", [&] {
      absl::StatusOr<graphtree::Step> step =
          runtime_->Begin(program, {.tokens = tokens}, stream);
      if (!step.ok()) return step.status();
      const absl::Status staged = step->Stage(0, HostRows{ids.data(), DType::kI32, tokens});
      if (!staged.ok()) return staged;
      return step->Run(&outputs);
    });
    Try("Synchronize", [&] { return stream.Synchronize(); });
    ASSERT_EQ(outputs.size(), 1u);
    const AddressRange bytes = Tensor::From(outputs[0]).raw_bytes();
    for (int32_t& id : ids) id *= factor_;
    ids.resize(bytes.bytes / 4);
    EXPECT_EQ(std::memcmp(ids.data(), PointerTo<int32_t>(bytes.base), bytes.bytes), 0)
        << "tokens " << tokens << ", round " << round << ", fault in " << device_.plan().fired_in();
    held_.push_back(std::move(outputs));
  }

  FaultDevice& device_;
  std::vector<std::unique_ptr<Stream>> streams_;
  std::unique_ptr<Runtime> runtime_;
  std::vector<Values> held_;
  DepId dep_;
  int32_t factor_ = 2;
  int failed_ = 0;
};

TEST(RuntimeFaultsTest, AnyOneCallOfAWholeLifeMayFail) {
  const uint64_t calls = ForEveryFailingCall(MakeHost, [](FaultDevice& device) {
    Server(device).Live();
  });
  EXPECT_GE(calls, 150u);
  RecordProperty("calls", static_cast<int>(calls));
}

TEST(RuntimeFaultsTest, AProgramThatCouldNotBeAddedLeavesNothing) {
  const uint64_t calls = ForEveryFailingCall(MakeHost, [](FaultDevice& device) {
    RuntimeOptions options;
    options.tree.pool_bytes = 16 << 20;
    const auto runtime = Runtime::Create(device, options);
    if (!runtime.ok()) return;
    ProgramOptions program;
    program.name = "plain";
    program.slots = {{.name = "ids", .sizes = {kMost}, .rows = KeyField::kTokens}};
    program.tells_when_free = true;
    program.body = [](Launcher&, const ProgramInputs&) -> Values { return {}; };
    program.lane = 1;
    for (const char* name : {"first", "second"}) {
      program.name = name;
      const bool had_lane = (*runtime)->tree(1) != nullptr;
      if ((*runtime)->AddProgram(program).ok()) continue;
      EXPECT_EQ((*runtime)->tree(1) != nullptr, had_lane) << name;
      EXPECT_EQ((*runtime)->stats().slot_bytes > 0, had_lane) << name;
      EXPECT_TRUE((*runtime)->AddProgram(program).ok()) << name;
    }
  });
  EXPECT_GE(calls, 4u);
}

// Errors that no device is asked for, too.
TEST(RuntimeFaultsTest, AProgramThatMakesNoSenseLeavesNoLane) {
  const std::unique_ptr<Device> device = MakeHost();
  const auto runtime = *Runtime::Create(*device, {});
  EXPECT_FALSE(runtime->AddProgram({.name = "no body", .body = {}, .lane = 3}).ok());
  EXPECT_EQ(runtime->tree(3), nullptr);
}

// What a server does with a device that may be lost in any call; true if nothing failed.
bool LiveUntilLost(FaultDevice& device) {
  RuntimeOptions options;
  options.tree.pool_bytes = 16 << 20;
  const auto runtime = Runtime::Create(device, options);
  const auto stream = device.NewStream();
  if (!runtime.ok() || !stream.ok()) return false;
  ProgramOptions program;
  program.name = "plain";
  program.slots = {{.name = "ids", .sizes = {kMost}, .rows = KeyField::kTokens}};
  program.body = [](Launcher& on, const ProgramInputs& in) -> Values {
    const Tensor out = on.Empty(DType::kI32, {in.key().tokens});
    if (on.ok()) on.Copy(out, Tensor::Foreign(in.slot(0).word(), out.layout()));
    return {out};
  };
  const auto id = (*runtime)->AddProgram(program);
  if (!id.ok()) return false;
  EXPECT_TRUE((*runtime)->AddShapes(*id, {{.tokens = 8}}).ok());
  bool all_well = (*runtime)->Record(*id, **stream).ok();
  for (int i = 0; i < 4; ++i) {
    auto step = (*runtime)->Begin(*id, {.tokens = 8}, **stream);
    Values outputs;
    const bool is_well = step.ok() && step->Stage(0, 1.0).ok() && step->Run(&outputs).ok();
    EXPECT_FALSE(is_well && !device.health().ok()) << "a step went well on a lost device";
    EXPECT_TRUE(is_well || !device.health().ok()) << "a step failed on a device that works";
    all_well &= is_well;
  }
  return (*runtime)->RemoveProgram(*id).ok() && all_well;
}

// Nothing works any more then, all of it says so, and nothing hangs or ends the process. What was
// mapped stays with the device that is gone.
TEST(RuntimeFaultsTest, TheDeviceMayBeLostInAnyCall) {
  constexpr int kMostCalls = 1000;
  int calls = 0;
  for (bool all_well = false; !all_well && calls < kMostCalls; ++calls) {
    FaultDevice device(MakeHost());
    SCOPED_TRACE(absl::StrCat("device call ", calls + 1, " loses the device"));
    device.plan().FailCall(calls + 1, ErrorCode::kLaunchFailure);
    all_well = LiveUntilLost(device);
    // Those of the runtime's end come last.
    all_well &= device.plan().fired() == 0;
    device.plan().Clear();
    device.Close().IgnoreError();
  }
  EXPECT_GE(calls, 30);
  EXPECT_LT(calls, kMostCalls);
}

// Two shapes, and room for one executable.
class CrowdedServer {
 public:
  explicit CrowdedServer(FaultDevice& device, bool needs_commit = false)
      : device_(device), stream_(*device.NewStream()) {
    RuntimeOptions options;
    options.tree.warn = [this](const std::string& text) { warnings_.push_back(text); };
    options.tree.pool_bytes = 16 << 20;
    options.tree.budget.executables = 1;
    runtime_ = *Runtime::Create(device, options);
    ProgramOptions program;
    program.name = "copy";
    program.needs_commit = needs_commit;
    program.slots = {{.name = "ids", .sizes = {kMost}, .rows = KeyField::kTokens}};
    program.body = [](Launcher& on, const ProgramInputs& in) -> Values {
      const Tensor out = on.Empty(DType::kI32, {in.key().tokens});
      if (on.ok()) on.Copy(out, Tensor::Foreign(in.slot(0).word(), out.layout()));
      return {out};
    };
    program_ = *runtime_->AddProgram(program);
    EXPECT_TRUE(runtime_->AddShapes(program_, {{.tokens = 8}, {.tokens = 16}}).ok());
  }
  ~CrowdedServer() {
    outputs_.clear();
    runtime_ = nullptr;
  }

  Runtime& runtime() { return *runtime_; }
  absl::Status Record() { return runtime_->Record(program_, *stream_); }
  Why StepOf(int32_t tokens) {
    absl::StatusOr<Step> step = runtime_->Begin(program_, {.tokens = tokens}, *stream_);
    if (!step.ok() || !step->Stage(0, 1.0).ok() || !step->Run(&outputs_).ok()) return Why::kFailed;
    return step->why();
  }
  const std::vector<std::string>& warnings() const { return warnings_; }
  // An executable that was evicted does not come back until the plan is cleared, and no other
  // recording's becomes this one's.
  void RefuseExecutables() {
    device_.plan().FailEveryCallOf("Graph.Instantiate", ErrorCode::kOutOfMemory);
    device_.plan().FailEveryCallOf("Executable.Update", ErrorCode::kOutOfMemory);
  }

 private:
  FaultDevice& device_;
  const std::unique_ptr<Stream> stream_;
  std::unique_ptr<Runtime> runtime_;
  ProgramId program_;
  Values outputs_;
  std::vector<std::string> warnings_;
};

TEST(RuntimeFaultsTest, AnEvictedShapeServesAgainOnceThereIsRoom) {
  FaultDevice device(MakeHost());
  CrowdedServer server(device);
  ASSERT_TRUE(server.Record().ok());
  ASSERT_EQ(server.StepOf(8), Why::kHit);
  server.RefuseExecutables();
  EXPECT_EQ(server.StepOf(16), Why::kNoMemory) << "its recording has no executable now";
  server.Record().IgnoreError();
  device.plan().Clear();
  ASSERT_TRUE(server.Record().ok());
  EXPECT_EQ(server.StepOf(16), Why::kHit);
}

TEST(RuntimeFaultsTest, ARecordingWithoutRoomIsKnownAllTheSame) {
  FaultDevice device(MakeHost());
  CrowdedServer server(device);
  ASSERT_TRUE(server.Record().ok());
  ASSERT_EQ(server.runtime().stats().recordings, 2u);
  ASSERT_EQ(server.StepOf(8), Why::kHit);
  server.RefuseExecutables();
  ASSERT_EQ(server.StepOf(16), Why::kNoMemory);
  device.plan().Clear();
  const uint64_t calls = server.runtime().tree()->stats().calls;
  ASSERT_TRUE(server.Record().ok());
  EXPECT_EQ(server.runtime().tree()->stats().calls, calls) << "nothing was left to record";
}

// The steps in between run eagerly and are not held up; and once there is room one records.
TEST(RuntimeFaultsTest, WhatAStepCouldNotRecordIsTriedAgain) {
  FaultDevice device(MakeHost());
  CrowdedServer server(device, /*needs_commit=*/true);
  ASSERT_EQ(server.StepOf(16), Why::kWarmingUp);
  server.RefuseExecutables();
  std::vector<int> tries;  // in these steps
  for (int step = 0; step < 40; ++step) {
    const uint64_t before = server.runtime().stats().failed_recordings;
    const Why why = server.StepOf(16);
    EXPECT_TRUE(why == Why::kNotRecorded || why == Why::kNoMemory || why == Why::kFailed)
        << WhyName(why);
    if (server.runtime().stats().failed_recordings > before) tries.push_back(step);
  }
  ASSERT_GE(tries.size(), 4u);
  ASSERT_LE(tries.size(), 6u);
  for (size_t i = 2; i < tries.size(); ++i) {
    EXPECT_GT(tries[i] - tries[i - 1], tries[i - 1] - tries[i - 2]) << "it pauses longer each time";
  }
  const std::vector<std::string> warnings = server.warnings();
  ASSERT_GE(warnings.size(), tries.size());
  EXPECT_NE(warnings[1].find("tried again: 2"), std::string::npos) << warnings[1];
  device.plan().Clear();
  int waited = 0;
  while (server.runtime().Uncommitted().empty() && waited < 80) {
    server.StepOf(16);
    ++waited;
  }
  ASSERT_EQ(server.runtime().Uncommitted().size(), 1u);
  ASSERT_TRUE(server.runtime().Commit(1).ok());
  EXPECT_EQ(server.StepOf(16), Why::kHit);
}

// A larger shape serves meanwhile, and such steps count, too.
TEST(RuntimeFaultsTest, WhatAStepCouldNotRecordIsTriedAgainWhileALargerShapeServes) {
  FaultDevice device(MakeHost());
  CrowdedServer server(device, /*needs_commit=*/true);
  ASSERT_EQ(server.StepOf(16), Why::kWarmingUp);
  ASSERT_EQ(server.StepOf(16), Why::kNotRecorded);
  ASSERT_TRUE(server.runtime().Commit(1).ok());
  ASSERT_EQ(server.StepOf(8), Why::kWarmingUp);
  server.RefuseExecutables();
  ASSERT_EQ(server.StepOf(8), Why::kNotRecorded);
  ASSERT_EQ(server.runtime().stats().failed_recordings, 1u);
  device.plan().Clear();
  EXPECT_EQ(server.StepOf(8), Why::kCover);
  EXPECT_EQ(server.StepOf(8), Why::kNotRecorded);
  EXPECT_EQ(server.runtime().Uncommitted().size(), 1u);
}

// Whatever has failed before: a Record that goes well leaves shapes that serve.
TEST(RuntimeFaultsTest, ARecordThatGoesWellMakesEveryShapeServe) {
  constexpr uint64_t kMostCalls = 300;
  uint64_t call = 1;
  for (bool has_failed = true; has_failed && call < kMostCalls; ++call) {
    FaultDevice device(MakeHost());
    CrowdedServer server(device);
    SCOPED_TRACE(absl::StrCat("device call ", call, " of Record fails"));
    device.plan().FailCall(call, ErrorCode::kOutOfMemory);
    server.Record().IgnoreError();
    has_failed = device.plan().fired() > 0;
    device.plan().Clear();
    ASSERT_TRUE(server.Record().ok());
    for (const int32_t tokens : {8, 16, 8, 16}) EXPECT_EQ(server.StepOf(tokens), Why::kHit);
  }
  EXPECT_GE(call, 10u);
  EXPECT_LT(call, kMostCalls);
}

}  // namespace
}  // namespace graphtree
