// Memory of a program that is registered elsewhere: each of its shapes tells where it points there.
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "allocator/pool.h"
#include "tests/kernels/kernels.h"
#include "tests/kernels/launches.h"
#include "tests/runtime/runtime_fixture.h"

namespace graphtree {
namespace {

using testing::HasSubstr;

class PinnedProgramTest : public RuntimeTest {};
GRAPHTREE_ON_EVERY_DEVICE(PinnedProgramTest);

TEST_P(PinnedProgramTest, EachShapeTellsWhereItPoints) {
  AddressRange pinned;
  ProgramOptions options = DoubleOptions();
  options.body = [&](Launcher& on, const ProgramInputs& in) -> Values {
    const uint32_t tokens = static_cast<uint32_t>(in.key().tokens);
    const Tensor reduced = on.Empty(DType::kI32, {in.key().tokens});
    const Tensor out = on.Empty(DType::kI32, {in.key().tokens});
    if (!on.ok()) return {};
    on.Pin(reduced);
    pinned = reduced.raw_bytes();
    on.Launch(AddKernel(), TestShape(),
              {Out(reduced), In(in.slot(0)), In(in.slot(0)), Val(tokens)});
    // The large shape reads it twice.
    on.Launch(AddKernel(), TestShape(),
              {Out(out), In(reduced), In(tokens > 8 ? reduced : in.slot(0)), Val(tokens)});
    return {out};
  };
  ASSERT_OK_AND_ASSIGN(const ProgramId program, runtime().AddProgram(std::move(options)));
  ASSERT_THAT(runtime().AddShapes(program, {{.tokens = 8}, {.tokens = 64}, {.tokens = 32}}),
              IsOk());
  ASSERT_OK_AND_ASSIGN(CapturedPointers pointers,
                       runtime().Pointers(program, {.tokens = 8}, {0, ~uint64_t{0}}));
  EXPECT_TRUE(pointers.found.empty()) << "it is not recorded yet";
  ASSERT_THAT(runtime().Record(program, a()), IsOk());
  const auto count = [&](int32_t tokens) -> size_t {
    const absl::StatusOr<CapturedPointers> found =
        runtime().Pointers(program, {.tokens = tokens}, {pinned.base, 1});
    EXPECT_THAT(found, IsOk());
    if (!found.ok()) return 0;
    EXPECT_EQ(found->hidden_ops, 0u);
    for (const CapturedPointer& pointer : found->found) EXPECT_EQ(pointer.address, pinned.base);
    return found->found.size();
  };
  // All shapes begin at the same place of the pool.
  EXPECT_EQ(count(8), 2u);
  EXPECT_EQ(count(64), 3u);
  EXPECT_EQ(count(32), 3u);
  EXPECT_GT(runtime().tree()->pool().Stats().pinned_bytes, 0u);
  EXPECT_EQ(StepWith(program, IdsFrom(1, 64)), Why::kHit);
  EXPECT_EQ(LastOutput(), Doubled(Doubled(IdsFrom(1, 64), 64), 64));

  EXPECT_THAT(runtime().Pointers(program, {.tokens = 9}, pinned).status().message(),
              HasSubstr("has no shape tokens=9"));
  EXPECT_THAT(runtime().Pointers({}, {.tokens = 8}, pinned).status().message(),
              HasSubstr("no runtime"));
}

TEST_P(PinnedProgramTest, ItStaysWhereProgramsComeAndGo) {
  AddressRange pinned;
  for (int round = 0; round < 3; ++round) {
    ProgramOptions options = DoubleOptions();
    options.body = [&](Launcher& on, const ProgramInputs& in) -> Values {
      Values outputs = DoubleBody(on, in);
      if (!outputs.empty()) {
        on.Pin(Tensor::From(outputs[0]));
        pinned = Tensor::From(outputs[0]).raw_bytes();
      }
      return outputs;
    };
    ASSERT_OK_AND_ASSIGN(const ProgramId program, runtime().AddProgram(std::move(options)));
    ASSERT_THAT(runtime().AddShapes(program, {{.tokens = 8}}), IsOk());
    ASSERT_THAT(runtime().Record(program, a()), IsOk());
    EXPECT_EQ(StepWith(program, IdsFrom(round, 8)), Why::kHit);
    EXPECT_EQ(LastOutput(), Doubled(IdsFrom(round, 8), 8));
    ASSERT_THAT(runtime().RemoveProgram(program), IsOk());
    Tree& tree = *runtime().tree();
    tree.BeginStep();
    tree.Inspect([&] { EXPECT_THAT(tree.pool().memory().Trim(0), IsOk()); });
    EXPECT_EQ(Read(pinned).size(), 8u) << "mapped, or the device would be lost";
  }
}

}  // namespace
}  // namespace graphtree
