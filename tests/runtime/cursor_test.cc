// Every step reads its own block, whatever ran before it and however many are queued: the cursor on
// the device and what the host takes it for never part.
//
// Each program adds what its steps bring to a sum of its own. A step that read another step's
// block, or read one twice, leaves a wrong sum. Nobody waits for the device between steps but the
// ring.
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "device/fault/every_call.h"
#include "device/fault/fault_device.h"
#include "device/host/host_device.h"
#include "gmock/gmock.h"
#include "tests/kernels/kernels.h"
#include "tests/runtime/runtime_fixture.h"

namespace graphtree {
namespace {

constexpr int32_t kRows = 64;

// What bodies and parts do, as the test goes on.
struct Moods {
  bool body_fails = false;
  bool part_fails = false;
};

// A program and what its sum must be.
struct Summing {
  ProgramId id;
  AddressRange sum;
  std::vector<uint32_t> expected = std::vector<uint32_t>(kRows);
};

// The last op adds to the sum, so a step that fails has not added to it. `breaks`: that op is
// behind a part that may fail.
ProgramOptions SumOptions(std::string name, AddressRange sum, bool breaks, Moods* moods) {
  ProgramOptions options;
  options.name = std::move(name);
  options.slots = {
      {.name = "ids", .type = DType::kI32, .sizes = {kRows}, .rows = KeyField::kTokens}};
  options.body = [sum, breaks, moods](Launcher& on, const ProgramInputs& in) -> Values {
    const Tensor total = Tensor::Foreign(sum.base, Layout::Of(DType::kI32, {kRows}));
    if (moods->body_fails) on.Fail(absl::UnavailableError("the body fails"));
    if (breaks) {
      on.Break("may fail", {}, [moods](Launcher& part, absl::Span<const Tensor>) {
        if (moods->part_fails) part.Fail(absl::UnavailableError("the part fails"));
      });
    }
    on.Launch(AddKernel(), TestShape(),
              {Out(total), In(total), In(in.slot(0)),
               Val(static_cast<uint32_t>(in.key().tokens))});
    return {};
  };
  return options;
}

// Begins, stages and runs one step; the sum is to have it only if it went well.
absl::Status AddStep(Runtime& runtime, Summing& program, const Ids& ids, Stream& on,
                     const StepOptions& options, bool cancels = false) {
  const auto count = static_cast<int32_t>(ids.size());
  absl::StatusOr<Step> step = runtime.Begin(program.id, {.tokens = count}, on, options);
  if (!step.ok()) return step.status();
  absl::Status staged = step->Stage(0, HostRows{ids.data(), DType::kI32, count});
  if (!staged.ok() || cancels) {
    step->Cancel();
    return staged;
  }
  Values none;
  const absl::Status status = step->Run(&none);
  for (size_t i = 0; status.ok() && i < ids.size(); ++i) {
    program.expected[i] += static_cast<uint32_t>(ids[i]);
  }
  return status;
}

class CursorTest : public RuntimeTest {
 protected:
  Summing Add(const std::string& name, bool breaks, std::vector<DepId> deps = {}) {
    Summing program;
    program.sum = NewWordsWith(std::vector<uint32_t>(kRows));
    ProgramOptions options = SumOptions(name, program.sum, breaks, &moods_);
    options.deps = std::move(deps);
    const absl::StatusOr<ProgramId> id = runtime().AddProgram(std::move(options));
    EXPECT_THAT(id, IsOk());
    if (!id.ok()) return program;
    program.id = *id;
    EXPECT_THAT(runtime().AddShapes(*id, {{.tokens = 3}, {.tokens = 20}, {.tokens = kRows}},
                                    breaks ? Mode::kSegmented : Mode::kFull),
                IsOk());
    return program;
  }
  void ExpectSums(const Summing& program) {
    ASSERT_THAT(a().Synchronize(), IsOk());
    ASSERT_THAT(b().Synchronize(), IsOk());
    EXPECT_EQ(Read(program.sum), program.expected);
  }
  Moods moods_;
};
GRAPHTREE_ON_EVERY_DEVICE(CursorTest);

Ids RandomIds(std::mt19937_64& random) {
  Ids ids(1 + random() % kRows);
  for (int32_t& id : ids) id = static_cast<int32_t>(random());
  return ids;
}

TEST_P(CursorTest, ReplaysAreToldOnceWhereTheirBlockIs) {
  Summing program = Add("sum", /*breaks=*/false);
  ASSERT_THAT(runtime().Record(program.id, a()), IsOk());
  const uint64_t told = runtime().stats().staging_told;
  for (int32_t i = 0; i < 1000; ++i) {
    // Shapes alternate, and the ring goes round several times.
    ASSERT_THAT(AddStep(runtime(), program, Ids(i % 2 == 0 ? 64 : 20, i), a(), {}), IsOk());
  }
  EXPECT_EQ(Count(Why::kHit), 1000u);
  EXPECT_EQ(runtime().stats().staging_told, told + 1) << "the first one after the recordings";
  ExpectSums(program);
}

TEST_P(CursorTest, EveryStepReadsItsOwnBlockWhateverRanBefore) {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    RuntimeOptions options;
    if (seed % 3 == 0) options.tree.budget.nodes = 2;  // recordings are evicted all the time
    if (seed % 4 == 0) options.tree.budget.executables = 1;
    OpenRuntime(options);
    std::mt19937_64 random(seed);
    ASSERT_OK_AND_ASSIGN(const DepId dep, runtime().DeclareDep("weights"));
    std::vector<Summing> programs;
    programs.push_back(Add("whole", /*breaks=*/false, {dep}));
    programs.push_back(Add("cut", /*breaks=*/true, {dep}));
    uint64_t failures = 0;
    for (int i = 0; i < 600 && !HasFailure(); ++i) {
      moods_ = {.body_fails = random() % 40 == 0, .part_fails = random() % 25 == 0};
      Summing& program = programs[random() % 2];
      if (random() % 60 == 0) {
        ASSERT_THAT(runtime().Touch(dep), IsOk());
      }
      if (random() % 150 == 0) runtime().Record(program.id, b()).IgnoreError();
      StepOptions step;
      if (random() % 20 == 0) step.modes = Modes::None();
      step.continues = random() % 3 == 0;
      const bool cancels = random() % 20 == 0;
      Stream& on = random() % 4 == 0 ? b() : a();
      if (!AddStep(runtime(), program, RandomIds(random), on, step, cancels).ok()) ++failures;
    }
    EXPECT_GT(failures, 5u);
    EXPECT_GT(Count(Why::kHit) + Count(Why::kCover), 100u);
    for (const Summing& program : programs) ExpectSums(program);
  }
}

// Work that no launch declares may hold any address, so the tree copies what comes at changing
// ones.
TEST_P(CursorTest, ABodyThatCouldHideTheBlocksAddressIsGivenTheBlockItself) {
  Summing program;
  program.sum = NewWordsWith(std::vector<uint32_t>(kRows));
  ProgramOptions options = SumOptions("hides", program.sum, /*breaks=*/false, &moods_);
  options.body = [body = options.body](Launcher& on, const ProgramInputs& in) -> Values {
    on.Fail(on.stream().CallHost([] {}));
    return body(on, in);
  };
  ASSERT_OK_AND_ASSIGN(program.id, runtime().AddProgram(std::move(options)));
  ASSERT_THAT(runtime().AddShapes(program.id, {{.tokens = 20}, {.tokens = kRows}}), IsOk());
  Summing plain = Add("plain", /*breaks=*/false);
  for (int32_t i = 0; i < 300; ++i) {
    const Ids ids(i % 3 == 0 ? 20 : 64, i);
    ASSERT_THAT(AddStep(runtime(), program, ids, a(), {}), IsOk());
    ASSERT_THAT(AddStep(runtime(), plain, ids, a(), {}), IsOk());
  }
  EXPECT_GT(Count(Why::kHit), 500u);
  ExpectSums(program);
  ExpectSums(plain);
}

// One shape hides the address and another does not: the recording of the former comes after replays
// of the latter, when the block would be left to the cursor.
TEST_P(CursorTest, ARecordingThatCopiesItsBlockIsGivenNoCursor) {
  for (const bool is_always : {true, false}) {
    const std::string name = is_always ? "always" : "later";
    Summing program;
    program.sum = NewWordsWith(std::vector<uint32_t>(kRows));
    bool hides = is_always;
    ProgramOptions options =
        SumOptions(name, program.sum, /*breaks=*/false, &moods_);
    options.body = [body = options.body, &hides](Launcher& on, const ProgramInputs& in) -> Values {
      if (hides && in.key().tokens == kRows) on.Fail(on.stream().CallHost([] {}));
      return body(on, in);
    };
    ASSERT_OK_AND_ASSIGN(const DepId dep, runtime().DeclareDep(name));
    options.deps = {dep};
    ASSERT_OK_AND_ASSIGN(program.id, runtime().AddProgram(std::move(options)));
    ASSERT_THAT(runtime().AddShapes(program.id, {{.tokens = 20}, {.tokens = kRows}}), IsOk());
    const auto steps = [&](int32_t count, int32_t tokens) {
      for (int32_t i = 1; i <= count; ++i) {
        ASSERT_THAT(AddStep(runtime(), program, Ids(tokens, 100 * i + tokens), a(), {}), IsOk());
      }
    };
    steps(4, 20);
    steps(1, kRows);
    steps(2, 20);
    steps(1, kRows);  // is recorded
    steps(2, 20);
    steps(3, kRows);
    ExpectSums(program);
    hides = true;
    steps(2, 20);
    ASSERT_THAT(runtime().Touch(dep), IsOk());
    for (int round = 0; round < 4; ++round) {
      steps(2, kRows);  // is recorded again, and hides now
      steps(2, 20);
    }
    ExpectSums(program);
  }
}

TEST_P(CursorTest, AShapeWithoutRowsLeavesTheCursor) {
  ProgramOptions options = DoubleOptions();
  options.slots.push_back(
      {.name = "more", .type = DType::kI32, .sizes = {8}, .rows = KeyField::kRequests});
  ASSERT_OK_AND_ASSIGN(const ProgramId program, runtime().AddProgram(std::move(options)));
  ASSERT_THAT(runtime().AddShapes(program, {{.tokens = 8}, {.tokens = 0}}), IsOk());
  for (int32_t i = 0; i < 30; ++i) {
    const Ids ids = IdsFrom(100 * i, i % 3 == 0 ? 0 : 8);
    const Key key = {.tokens = static_cast<int32_t>(ids.size())};
    ASSERT_OK_AND_ASSIGN(Step step, runtime().Begin(program, key, a()));
    ASSERT_THAT(step.Stage(0, HostRows{ids.data(), DType::kI32, key.tokens}), IsOk());
    ASSERT_THAT(step.Stage(1, HostRows{ids.data(), DType::kI32, 0}), IsOk());
    Values outputs;
    ASSERT_THAT(step.Run(&outputs), IsOk());
    EXPECT_EQ(ReadIds(outputs[0]), Doubled(ids, ids.size()));
  }
}

// Whichever call of the device fails, in whichever kind of run: a step that says that it went well
// is in the sum once, one that failed is not.
TEST(CursorFaultsTest, AnyCallMayFail) {
  const auto make = [] {
    HostOptions options;
    options.seed = 7;
    return OpenHostDevice(options).value();
  };
  const uint64_t calls = ForEveryFailingCall(make, [](FaultDevice& device) {
    const std::unique_ptr<HostBuffer> memory =
        device.wrapped().memory().AllocateHost(kRows * sizeof(uint32_t)).value();
    const auto* const sum = static_cast<const uint32_t*>(memory->data());
    absl::StatusOr<std::unique_ptr<Stream>> stream = device.NewStream();
    if (!stream.ok()) return;
    Moods moods;
    Summing program;
    program.sum = memory->range();
    {
      RuntimeOptions options;
      options.tree.pool_bytes = 16 << 20;
      options.tree.warn = [](const std::string&) {};
      absl::StatusOr<std::unique_ptr<Runtime>> runtime = Runtime::Create(device, options);
      if (!runtime.ok()) return;
      const absl::StatusOr<ProgramId> id =
          (*runtime)->AddProgram(SumOptions("sum", program.sum, /*breaks=*/true, &moods));
      if (!id.ok()) return;
      program.id = *id;
      EXPECT_THAT((*runtime)->AddShapes(*id, {{.tokens = 3}}, Mode::kSegmented), IsOk());
      for (int32_t i = 1; i <= 12; ++i) {
        AddStep(**runtime, program, {i, 10 * i, 100 * i}, **stream, {}).IgnoreError();
      }
    }
    if (!(*stream)->Synchronize().ok()) {
      EXPECT_THAT((*stream)->Synchronize(), IsOk());
    }
    EXPECT_EQ(std::vector<uint32_t>(sum, sum + 3),
              std::vector<uint32_t>(program.expected.begin(), program.expected.begin() + 3));
  });
  EXPECT_GT(calls, 50u);
}

}  // namespace
}  // namespace graphtree
