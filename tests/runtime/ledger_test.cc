// The ledger against what the device says it gave.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "runtime/plan/ledger.h"
#include "tests/kernels/kernels.h"
#include "tests/kernels/launches.h"
#include "tests/runtime/runtime_fixture.h"

namespace graphtree {
namespace {

class LedgerTest : public RuntimeTest {
 protected:
  uint64_t FreeBytes() {
    const absl::StatusOr<MemoryInfo> info = device().memory().Info();
    EXPECT_THAT(info, IsOk());
    return info.ok() ? info->free_bytes : 0;
  }

  // `blocks` MiB for each token, and what it returns.
  ProgramOptions HungryOptions(std::string name, int64_t blocks, uint32_t lane) {
    ProgramOptions options = DoubleOptions(std::move(name));
    options.lane = lane;
    options.body = [blocks](Launcher& on, const ProgramInputs& in) -> Values {
      const Tensor room = on.Empty(DType::kI32, {blocks * in.key().tokens << 18});
      if (!on.ok()) return {};
      const Values outputs = DoubleBody(on, in);
      if (!on.ok()) return {};
      on.Launch(IncrementKernel(), TestShape(), {InOut(room), Val(1u), Val(64u)});
      return outputs;
    };
    return options;
  }
};
GRAPHTREE_ON_EVERY_DEVICE(LedgerTest);

TEST_P(LedgerTest, AddsUpToWhatTheDeviceSays) {
  CloseRuntime();
  const uint64_t before = FreeBytes();
  RuntimeOptions options;
  options.tree.pool_bytes = 512 << 20;
  OpenRuntime(options);
  ASSERT_OK_AND_ASSIGN(const ProgramId wide, runtime().AddProgram(HungryOptions("wide", 2, 0)));
  ASSERT_OK_AND_ASSIGN(const ProgramId slim, runtime().AddProgram(HungryOptions("slim", 1, 0)));
  ASSERT_OK_AND_ASSIGN(const ProgramId apart, runtime().AddProgram(HungryOptions("apart", 1, 1)));
  for (const ProgramId program : {wide, slim, apart}) {
    ASSERT_THAT(runtime().AddShapes(program, {{.tokens = 1}, {.tokens = 4}, {.tokens = 16}}),
                IsOk());
    ASSERT_THAT(runtime().Record(program, a()), IsOk());
  }
  const MemoryLedger ledger = runtime().ledger();
  ASSERT_THAT(a().Synchronize(), IsOk());
  const uint64_t taken = before - FreeBytes();
  if (device().info().architecture == "host") {
    EXPECT_EQ(ledger.device(), taken);
  } else {
    EXPECT_NEAR(static_cast<double>(ledger.device()), static_cast<double>(taken),
                static_cast<double>(taken) / 50);
  }
  ASSERT_EQ(ledger.recordings.size(), 9u);
  ASSERT_EQ(ledger.programs.size(), 3u);
  ASSERT_EQ(ledger.lanes.size(), 2u);
  constexpr uint64_t kMiB = 1 << 20;
  // The largest of "wide" has 32 MiB, and everybody else in its lane uses half of these at most.
  EXPECT_GE(ledger.programs[0].bytes.alone, 15 * kMiB);
  EXPECT_LE(ledger.programs[0].bytes.alone, 17 * kMiB);
  EXPECT_GE(ledger.programs[0].bytes.shared, 16 * kMiB);
  EXPECT_LE(ledger.programs[1].bytes.alone, kMiB);
  EXPECT_EQ(ledger.programs[2].bytes.shared, 0u);
  EXPECT_GE(ledger.programs[2].bytes.alone, 16 * kMiB);
  EXPECT_GE(ledger.lanes[0].mapped(), 32 * kMiB);
  EXPECT_GT(ledger.programs[0].bytes.executables, 0u);
  EXPECT_THAT(LedgerText(ledger), testing::HasSubstr("wide[tokens=16]"));
}

TEST_P(LedgerTest, KnowsWorkspacesAndFunctionsBesidePrograms) {
  ASSERT_OK_AND_ASSIGN(const DepId scratch,
                       runtime().DeclareWorkspace("scratch", NewWords(1024)));
  for (const char* name : {"one", "two"}) {
    ProgramOptions options = DoubleOptions(name);
    options.deps = {scratch};
    ASSERT_OK_AND_ASSIGN(const ProgramId program, runtime().AddProgram(options));
    ASSERT_THAT(runtime().AddShapes(program, {{.tokens = 8}}), IsOk());
    ASSERT_THAT(runtime().Record(program, a()), IsOk());
  }
  Tree& tree = *runtime().tree();
  const FunctionId beside = tree.Register("beside", {}, [](Launcher& on, Values&) -> Values {
    const Tensor out = on.Empty(DType::kI32, {64});
    if (!on.ok()) return {};
    on.Launch(IncrementKernel(), TestShape(), {InOut(out), Val(1u), Val(64u)});
    return {out};
  });
  for (int i = 0; i < 2; ++i) {
    tree.BeginStep();
    ASSERT_THAT(tree.Run(beside, {}, a()), IsOk());
  }
  const MemoryLedger ledger = runtime().ledger();
  EXPECT_EQ(ledger.workspaces, 4096u);
  EXPECT_EQ(ledger.programs[0].bytes.workspace, 4096u);
  EXPECT_EQ(ledger.programs[1].bytes.workspace, 4096u);
  ASSERT_EQ(ledger.functions.size(), 3u);
  bool is_there = false;
  for (const LedgerRow& row : ledger.functions) {
    is_there |= row.program.empty() && row.function == "beside";
  }
  EXPECT_TRUE(is_there);
}

// A body asks for memory inside of a function beside the programs, which runs in the step, is
// recorded over the bytes that the programs' recordings use, and runs eagerly: each byte is there
// once.
TEST_P(LedgerTest, MemoryOfAFunctionBesideProgramsIsCountedOnce) {
  ASSERT_OK_AND_ASSIGN(const ProgramId program, runtime().AddProgram(DoubleOptions("program")));
  ASSERT_THAT(runtime().AddShapes(program, {{.tokens = 8}}), IsOk());
  ASSERT_THAT(runtime().Record(program, a()), IsOk());
  constexpr uint64_t kAsked = 8 << 20, kSlack = 1 << 18;
  const auto body = [](Launcher& on, Values&) -> Values {
    const Tensor asked = on.Empty(DType::kI32, {int64_t{kAsked} / 4});
    if (!on.ok()) return {};
    on.Launch(IncrementKernel(), TestShape(), {InOut(asked), Val(1u), Val(64u)});
    return {asked};
  };
  Tree& tree = *runtime().tree();
  const FunctionId beside = tree.Register("beside", {}, body);
  const FunctionId eager = tree.Register("eager", {.exclude = true}, body);
  for (int i = 0; i < 4; ++i) {
    for (const FunctionId function : {beside, eager}) {
      tree.BeginStep();
      ASSERT_THAT(tree.Run(function, {}, a()), IsOk());
      const MemoryLedger ledger = runtime().ledger();
      const uint64_t mapped = tree.stats().pool_reserved_bytes;
      EXPECT_EQ(ledger.lanes[0].mapped(), mapped);
      uint64_t alone = 0;
      for (const LedgerRow& row : ledger.functions) {
        alone += row.bytes.alone;
        if (row.function != "beside") continue;
        EXPECT_GE(row.bytes.alone + row.bytes.shared, kAsked);
        EXPECT_LE(row.bytes.alone + row.bytes.shared, kAsked + kSlack);
      }
      EXPECT_LE(alone, mapped);
      EXPECT_LE(mapped, 8 * kAsked);
    }
  }
}

}  // namespace
}  // namespace graphtree
