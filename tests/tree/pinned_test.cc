// Memory that a body says is registered elsewhere: it stays where it is and mapped, whatever else
// leaves, and a recording tells where it points there.
#include <utility>
#include <vector>

#include "allocator/pool.h"
#include "graphs/reports/captured_pointers.h"
#include "tests/kernels/launches.h"
#include "tests/tree/tree_fixture.h"

namespace graphtree {
namespace {

class PinnedTest : public TreeTest {
 protected:
  static constexpr int64_t kLarge = 20 << 20;  // words: more than a piece of physical memory

  // x -> x + x, over a large tensor that is pinned and one that is not.
  FunctionId RegisterReducing(bool pins = true) {
    return Register("reduces", {}, [this, pins](Launcher& on, Values& inputs) {
      const Tensor pinned = on.Empty(DType::kI32, {kWords});
      const Tensor apart = on.Empty(DType::kU8, {4 * kLarge});
      const Tensor beside = on.Empty(DType::kI32, {kWords});
      if (!on.ok()) return Values{};
      if (pins) on.Pin(pinned);
      pinned_ = pinned.raw_bytes();
      beside_ = beside.raw_bytes();
      on.Copy(pinned, Tensor::From(inputs[0]));
      on.Fill(apart, 7);
      on.Launch(AddKernel(), TestShape(),
                {Out(beside), In(pinned), In(pinned), Val(static_cast<uint32_t>(kWords))});
      return Values{beside, pinned};
    });
  }
  bool IsMapped(AddressRange range) {
    bool is_mapped = true;
    tree().Inspect([&] {
      for (const Region region : {Region::kStep, Region::kLasting}) {
        const PieceRow& row = tree().pool().row(region);
        for (uint32_t i = 0; i < row.count(); ++i) {
          if (row.RangeOf(i).Overlaps(range)) is_mapped = is_mapped && row.piece(i).is_mapped();
        }
      }
    });
    return is_mapped;
  }
  uint64_t mapped() { return tree().pool().Stats().mapped_bytes; }

  AddressRange pinned_;
  AddressRange beside_;
};
GRAPHTREE_ON_EVERY_DEVICE(PinnedTest);

TEST_P(PinnedTest, ParkingLeavesItMappedAndTakesTheRest) {
  for (const ParkContents contents : {ParkContents::kDrop, ParkContents::kToHost}) {
    OpenTree({.pool_bytes = 512 << 20});
    const FunctionId function = RegisterReducing();
    const Tensor x = Given(1);
    const Values out = CallInSteps(3, function, {x});
    ASSERT_EQ(graphs(), 1u);
    const uint64_t before = mapped();
    EXPECT_GT(tree().pool().Stats().pinned_bytes, 0u);
    EXPECT_LT(tree().pool().Stats().pinned_bytes, before);
    tree().Inspect([&] { EXPECT_THAT(tree().pool().parking().Park(contents), IsOk()); });
    EXPECT_TRUE(IsMapped(pinned_));
    EXPECT_FALSE(IsMapped(beside_));
    EXPECT_EQ(mapped(), tree().pool().Stats().pinned_bytes);
    // The bytes are still there for whoever has registered them.
    EXPECT_EQ(ConformanceTest::Read(pinned_), PatternOf(1));
    EXPECT_FALSE(Tensor::From(out[1]).bytes().ok()) << "the tree itself waits for its wake";
    tree().Inspect([&] { EXPECT_THAT(tree().pool().parking().Wake(), IsOk()); });
    EXPECT_EQ(Read(CallInSteps(2, function, {x})[0]), Times(PatternOf(1), 2));
    EXPECT_EQ(graphs(), 1u) << "the recording is as good as before";
  }
}

TEST_P(PinnedTest, TrimmingNeverUnmapsItThoughItsRecordingIsGone) {
  OpenTree({.pool_bytes = 512 << 20});
  const FunctionId function = RegisterReducing();
  CallInSteps(4, function, {Given(1)});
  NewStep();
  ASSERT_THAT(tree().Unregister(function), IsOk());
  NewStep();
  ASSERT_THAT(a().Synchronize(), IsOk());
  NewStep();
  tree().Inspect([&] { EXPECT_THAT(tree().pool().memory().Trim(0), IsOk()); });
  EXPECT_TRUE(IsMapped(pinned_));
  EXPECT_LT(mapped(), 8u << 20) << "all that was large has gone";
}

TEST_P(PinnedTest, WithoutAPinItAllGoes) {
  OpenTree({.pool_bytes = 512 << 20});
  const FunctionId function = RegisterReducing(/*pins=*/false);
  CallInSteps(3, function, {Given(1)});
  NewStep();
  tree().Inspect([&] { EXPECT_THAT(tree().pool().parking().Park(ParkContents::kDrop), IsOk()); });
  EXPECT_FALSE(IsMapped(pinned_));
  EXPECT_EQ(mapped(), 0u);
}

TEST_P(PinnedTest, PinningAgainAndAgainIsOnePin) {
  OpenTree({.pool_bytes = 512 << 20});
  FunctionOptions options;
  options.exclude = true;
  const FunctionId function = Register("eager", options, [](Launcher& on, Values& inputs) {
    const Tensor sum = Sum(on, inputs[0], inputs[0]);
    on.Pin(sum);
    on.Pin(sum);
    on.Pin(Tensor::From(inputs[0]));  // the caller's own: nothing of the tree's
    return Values{sum};
  });
  const Tensor x = Given(1);
  CallInSteps(1, function, {x});
  const uint64_t pinned = tree().pool().Stats().pinned_bytes;
  EXPECT_GT(pinned, 0u);
  EXPECT_EQ(Read(CallInSteps(50, function, {x})[0]), Times(PatternOf(1), 2));
  EXPECT_EQ(tree().pool().Stats().pinned_bytes, pinned);
}

TEST_P(PinnedTest, PartsPinToo) {
  AddressRange made, taken;
  const FunctionId function = Register("cut", {}, [&](Launcher& on, Values& inputs) {
    const Tensor sum = Sum(on, inputs[0], inputs[0]);
    on.Break("pins", {InOut(sum)}, [&](Launcher& part, absl::Span<const Tensor> t) {
      const Tensor own = part.Empty(DType::kI32, {kWords});
      part.Pin(own);
      part.Pin(t[0]);
      made = own.raw_bytes();
      taken = t[0].raw_bytes();
      part.Copy(own, t[0]);
    });
    return Values{Sum(on, sum, sum)};
  });
  EXPECT_EQ(Read(CallInSteps(5, function, {Given(1)})[0]), Times(PatternOf(1), 4));
  EXPECT_GT(replays(), 0u);
  NewStep();
  tree().Inspect([&] { EXPECT_THAT(tree().pool().parking().Park(ParkContents::kDrop), IsOk()); });
  EXPECT_TRUE(IsMapped(made));
  EXPECT_TRUE(IsMapped(taken));
}

TEST_P(PinnedTest, AnotherTreesMemoryIsRefused) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Tree> other,
                       Tree::Create(device(), {.pool_bytes = 64 << 20}));
  const FunctionId makes = other->Register("makes", {.exclude = true}, Twice);
  ASSERT_OK_AND_ASSIGN(Values made, other->Run(makes, Values{Given(1)}, a()));
  const FunctionId function = Register("pins", {.exclude = true}, [](Launcher& on, Values& inputs) {
    on.Pin(Tensor::From(inputs[0]));
    return Values{Sum(on, inputs[0], inputs[0])};
  });
  EXPECT_THAT(Refusal(function, {made[0]}),
              FailsWith(absl::StatusCode::kInvalidArgument, "another tree's memory"));
  made.clear();
}

TEST_P(PinnedTest, ARecordingTellsWhereItPointsThere) {
  OpenTree({.pool_bytes = 512 << 20});
  const FunctionId function = RegisterReducing();
  CallInSteps(3, function, {Given(1)});
  const std::vector<uint64_t> recordings = tree().RecordingsOf(function);
  ASSERT_EQ(recordings.size(), 1u);
  EXPECT_TRUE(tree().RecordingsOf(function + 100).empty());
  ASSERT_OK_AND_ASSIGN(const std::vector<Op> ops, tree().OpsOf(recordings[0]));
  const CapturedPointers pointers = PointersInto(pinned_, recordings[0], ops);
  EXPECT_EQ(pointers.hidden_ops, 0u);
  ASSERT_EQ(pointers.found.size(), 3u);
  for (const CapturedPointer& pointer : pointers.found) {
    EXPECT_EQ(pointer.address, pinned_.base);
    EXPECT_EQ(pointer.recording, recordings[0]);
    EXPECT_EQ(pointer.byte, 0u);
    EXPECT_EQ(ops[pointer.op].name, pointer.name);
  }
  EXPECT_EQ(ops[pointers.found[0].op].kind, OpKind::kCopy);
  EXPECT_EQ(pointers.found[0].argument, 0);
  EXPECT_EQ(ops[pointers.found[1].op].kind, OpKind::kKernel);
  EXPECT_EQ(pointers.found[1].argument, 1);
  EXPECT_EQ(pointers.found[2].argument, 2);
  EXPECT_EQ(pointers.found[1].op, pointers.found[2].op);
  EXPECT_EQ(tree().OpsOf(12345).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace graphtree
