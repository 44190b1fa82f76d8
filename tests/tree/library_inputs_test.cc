// Inputs that a library takes on the raw stream, where no launch of ours shows their addresses:
// they are found by recording twice, and patched.
#include <string>
#include <utility>

#include "tests/kernels/kernels.h"
#include "tests/kernels/launches.h"
#include "tests/tree/tree_fixture.h"

namespace graphtree {
namespace {

// What a library does: it launches, and declares nothing. The body says what it touched.
void LibraryAdd(Launcher& on, const Tensor& out, const Tensor& a, const Tensor& b) {
  if (!on.ok()) return;
  on.Reads(a);
  on.Reads(b);
  on.Writes(out);
  const absl::Status status = Add(on.stream(), out.raw_bytes(), a.raw_bytes(), b.raw_bytes());
  if (!status.ok()) on.Fail(status);
}

void LibraryBump(Launcher& on, const Tensor& data, uint32_t by) {
  if (!on.ok()) return;
  on.Reads(data);
  on.Writes(data);
  const absl::Status status = Increment(on.stream(), data.raw_bytes(), by);
  if (!status.ok()) on.Fail(status);
}

class LibraryInputsTest : public TreeTest {
 protected:
  void SetUp() override {
    TreeTest::SetUp();
    if (!IsSkipped() && !HasFatalFailure()) OpenTree({.patch_bytes = 1});
  }
  uint64_t copied() { return tree().stats().copied_inputs; }
  uint64_t patched() { return tree().stats().patched_inputs; }
};
GRAPHTREE_ON_EVERY_DEVICE(LibraryInputsTest);

TEST_P(LibraryInputsTest, AreFoundAndPatched) {
  int runs = 0;
  const FunctionId add = Register("add", {}, [&runs](Launcher& on, Values& inputs) {
    ++runs;
    const Tensor x = Tensor::From(inputs[0]), y = Tensor::From(inputs[1]);
    const Tensor first = Sum(on, x, y);  // ours takes them, too
    const Tensor out = on.Empty(WordsLayout(kWords));
    LibraryAdd(on, out, first, Slice(x, 0, kWords));
    LibraryAdd(on, out, out, y);
    return Values{out};
  });
  const Tensor places[] = {Given(1), Given(2), Given(3)};
  for (int turn = 0; turn < 9; ++turn) {
    const uint32_t x = turn % 3, y = turn / 3;
    Values out = CallInSteps(1, add, {places[x], places[y]});
    EXPECT_EQ(Read(out[0]), Times(Plus(PatternOf(x + 1), PatternOf(y + 1)), 2)) << turn;
  }
  EXPECT_EQ(runs, 3) << "once to warm up, and twice to be recorded";
  EXPECT_EQ(graphs(), 1u);
  EXPECT_EQ(patched(), 2u);
  EXPECT_EQ(copied(), 0u);
  EXPECT_EQ(eager(), 0u);
}

TEST_P(LibraryInputsTest, CopiesAndFillsOfALibraryAreFound) {
  const FunctionId function = Register("copies", {}, [](Launcher& on, Values& inputs) {
    const Tensor x = Tensor::From(inputs[0]), y = Tensor::From(inputs[1]);
    const Tensor out = on.Empty(WordsLayout(kWords));
    if (!on.ok()) return Values{};
    on.Reads(x);
    on.Writes(y);
    on.Writes(out);
    on.Fail(on.stream().Copy(out.word(), x.word(), kWords * 4));
    on.Fail(on.stream().Fill(y.word() + 16, 7, 1, 8));
    return Values{out};
  });
  for (uint32_t step = 0; step < 6; ++step) {
    const Tensor x = Given(10 + step), y = Given(20 + step);
    Values out = CallInSteps(1, function, {x, y});
    Words filled = PatternOf(20 + step);
    filled[4] = filled[5] = 0x07070707;
    EXPECT_EQ(Read(out[0]), PatternOf(10 + step));
    EXPECT_EQ(Read(y), filled);
  }
  EXPECT_EQ(graphs(), 1u);
  EXPECT_EQ(eager(), 0u);
  EXPECT_EQ(copied(), 0u);
}

// A copy would take the write, so without the search it could not be recorded at all.
TEST_P(LibraryInputsTest, OneThatIsWrittenToIsPatchedWhateverItsSize) {
  OpenTree({});
  const FunctionId mutator = Register("mutator", {}, [](Launcher& on, Values& inputs) {
    LibraryBump(on, Tensor::From(inputs[0]), 2);
    return Values{inputs[0]};
  });
  const Tensor places[] = {Given(1), Given(2)};
  Words expected[] = {PatternOf(1), PatternOf(2)};
  for (const int at : {0, 0, 1, 0, 1, 1}) {
    CallInSteps(1, mutator, {places[at]});
    expected[at] = Plus(expected[at], Words(kWords, 2));
    EXPECT_EQ(Read(places[at]), expected[at]);
    EXPECT_EQ(Read(places[1 - at]), expected[1 - at]);
  }
  EXPECT_EQ(graphs(), 1u);
  EXPECT_EQ(eager(), 0u);
}

TEST_P(LibraryInputsTest, AStaticOneThatMovesIsPatchedFromItsSecondAddress) {
  const FunctionId bump = Register("bump", {.static_inputs = {0}}, [](Launcher& on, Values& in) {
    const Tensor out = on.Empty(WordsLayout(kWords));
    LibraryAdd(on, out, Tensor::From(in[0]), Tensor::From(in[0]));
    return Values{out};
  });
  for (uint32_t step = 0; step < 8; ++step) {
    Values out = CallInSteps(1, bump, {Given(step)});
    EXPECT_EQ(Read(out[0]), Times(PatternOf(step), 2));
  }
  EXPECT_EQ(graphs(), 2u);
  EXPECT_EQ(patched(), 1u);
}

// The library goes on with an address that it was not given in this call.
TEST_P(LibraryInputsTest, AnAddressFromElsewhereMakesItACopy) {
  const Tensor x = Given(1), moved = Given(2);
  const FunctionId function = Register("elsewhere", {}, [x](Launcher& on, Values& inputs) {
    const Tensor out = on.Empty(WordsLayout(kWords));
    LibraryAdd(on, out, Tensor::From(inputs[0]), x);
    return Values{out};
  });
  for (int step = 0; step < 3; ++step) CallInSteps(1, function, {x});
  Values out = CallInSteps(1, function, {moved});
  EXPECT_EQ(Read(out[0]), Plus(PatternOf(1), PatternOf(2)));
  EXPECT_EQ(graphs(), 1u);
  EXPECT_EQ(copied(), 1u);
}

TEST_P(LibraryInputsTest, ABodyThatRecordsDifferentlyEveryTimeMakesItACopy) {
  auto count = std::make_shared<uint32_t>(0);
  const FunctionId function = Register("changing", {}, [count](Launcher& on, Values& inputs) {
    const Tensor out = on.Empty(WordsLayout(kWords));
    LibraryAdd(on, out, Tensor::From(inputs[0]), Tensor::From(inputs[0]));
    LibraryBump(on, out, ++*count % 2);
    return Values{out};
  });
  const Tensor x = Given(1), moved = Given(2);
  CallInSteps(1, function, {x});
  CallInSteps(1, function, {x});
  EXPECT_EQ(copied(), 1u);
  const Words recorded(kWords, *count % 2);
  Values out = CallInSteps(1, function, {moved});
  EXPECT_EQ(Read(out[0]), Plus(Times(PatternOf(2), 2), recorded));
  EXPECT_EQ(graphs(), 1u);
}

// The body says that it was read, and yet no argument of an op holds its address.
TEST_P(LibraryInputsTest, OneWhoseAddressIsNowhereIsACopy) {
  const FunctionId function = Register("nowhere", {}, [](Launcher& on, Values& inputs) {
    const Tensor out = Filled(on, 5, kWords);
    if (on.ok()) on.Reads(Tensor::From(inputs[0]));
    return Values{out};
  });
  for (uint32_t step = 0; step < 4; ++step) {
    Values out = CallInSteps(1, function, {Given(step)});
    EXPECT_EQ(Read(out[0]), PatternOf(5));
  }
  EXPECT_EQ(graphs(), 1u);
  EXPECT_EQ(copied(), 1u);
}

// Managed inputs die inside, requests are counted once, and the pool's books are as after one
// recording.
TEST_P(LibraryInputsTest, ARehearsalLeavesNothingBehind) {
  const FunctionId make = Register("make", {}, [](Launcher& on, Values&) {
    return Values{Filled(on, 3, kWords)};
  });
  const FunctionId use = Register("use", {}, [](Launcher& on, Values& inputs) {
    const Tensor out = on.Empty(WordsLayout(kWords));
    LibraryAdd(on, out, Tensor::From(inputs[0]), Tensor::From(inputs[1]));
    inputs[0] = Value();
    const Tensor more = Sum(on, out, inputs[1]);
    return Values{more};
  });
  for (uint32_t step = 0; step < 6; ++step) {
    NewStep();
    Values made = Call(make, {});
    Values inputs = Gathered(std::move(made[0]), Given(step));
    made.clear();
    Values out = Call(use, std::move(inputs));
    EXPECT_EQ(Read(out[0]), Plus(PatternOf(3), Times(PatternOf(step), 2)));
    EXPECT_EQ(live(), 1u);
  }
  EXPECT_EQ(graphs(), 2u);
  EXPECT_EQ(patched(), 1u);
}

}  // namespace
}  // namespace graphtree
