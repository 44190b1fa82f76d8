// Streams that a body forks off its own: the launcher joins them where the body does not.
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "tests/kernels/launches.h"
#include "tests/tree/tree_fixture.h"

namespace graphtree {
namespace {

using testing::HasSubstr;

class ForksTest : public TreeTest {
 protected:
  // x + x on stream b(), which the body has forked with Fork.
  Tensor TwiceOnFork(Launcher& on, const Tensor& x) {
    const Tensor out = on.Empty(x.layout());
    on.Writes(out);
    on.Reads(x);
    on.Fork(b());
    if (!on.ok()) return out;
    if (absl::Status added = Add(b(), out.raw_bytes(), x.raw_bytes(), x.raw_bytes());
        !added.ok()) {
      on.Fail(added);
    }
    on.UsedOn(out, b());
    return out;
  }
  void ExpectSteps(FunctionId function, uint32_t factor) {
    for (uint32_t seed = 1; seed < 7; ++seed) {
      NewStep();
      const Values out = Call(function, {Given(seed)});
      EXPECT_EQ(Read(out[0]), Times(PatternOf(seed), factor)) << "step " << seed;
    }
    EXPECT_GE(replays(), 4u);
  }
};
GRAPHTREE_ON_EVERY_DEVICE(ForksTest);

TEST_P(ForksTest, AForkIsJoinedAtTheEndOfTheBody) {
  ExpectSteps(Register("forks", {},
                       [this](Launcher& on, Values&) {
                         return Values{TwiceOnFork(on, on.Input(0))};
                       }),
              2);
}

TEST_P(ForksTest, AForkIsJoinedBeforeABreak) {
  const FunctionId function = Register("forks", {}, [this](Launcher& on, Values&) {
    const Tensor twice = TwiceOnFork(on, on.Input(0));
    on.Break("a look", {InOut(twice)}, [](Launcher& part, absl::Span<const Tensor> tensors) {
      Bump(part, tensors[0], 0);
    });
    return Values{Sum(on, twice, twice)};
  });
  ExpectSteps(function, 4);
  EXPECT_GE(tree().stats().eager_parts, 5u);
}

TEST_P(ForksTest, APartsForksAreJoinedAtItsEnd) {
  const FunctionId function = Register("forks", {}, [this](Launcher& on, Values&) {
    const Tensor twice = Sum(on, on.Input(0), on.Input(0));
    on.Break("on the side", {InOut(twice)},
             [this](Launcher& part, absl::Span<const Tensor> tensors) {
               part.Fork(b());
               const AddressRange range = tensors[0].raw_bytes();
               part.Fail(Add(b(), range, range, range));
             });
    return Values{Sum(on, twice, twice)};
  });
  ExpectSteps(function, 8);
}

TEST_P(ForksTest, JoinForksLetsTheBodyGoOn) {
  const FunctionId function = Register("forks", {}, [this](Launcher& on, Values&) {
    const Tensor twice = TwiceOnFork(on, on.Input(0));
    on.JoinForks();
    const Tensor four = Sum(on, twice, twice);
    const Tensor again = TwiceOnFork(on, four);
    on.JoinForks();
    return Values{Sum(on, again, four)};
  });
  ExpectSteps(function, 12);
}

// What a failed body has written stays, as its function is not known to break; but the caller's
// stream comes after that, whichever stream it was on.
TEST_P(ForksTest, TheForkOfABodyThatFailsIsJoined) {
  const Tensor x = Given(3);
  FunctionOptions options;
  options.static_inputs = {0};
  bool fails = true;
  const FunctionId function = Register("fails", options, [this, &fails](Launcher& on, Values&) {
    const Tensor input = on.Input(0);
    on.Writes(input);
    on.Fork(b());
    if (!on.ok()) return Values{};
    on.Fail(Delay(b(), 100));
    on.Fail(Increment(b(), input.raw_bytes(), 5));
    if (fails) on.Fail(absl::InternalError("no more"));
    return Values{};
  });
  Words expected = PatternOf(3);
  for (int i = 0; i < 7; ++i) {
    fails = i < 3;
    NewStep();
    if (fails) {
      EXPECT_THAT(Refusal(function, {x}).message(), HasSubstr("no more"));
    } else {
      Call(function, {x});
    }
    for (uint32_t& word : expected) word += 5;
    EXPECT_EQ(Read(x), expected) << i;
  }
}

// Its work is joined all the same.
TEST_P(ForksTest, AStreamOfTheBodysOwnMayGoBeforeItIsJoined) {
  ExpectSteps(Register("forks", {},
                       [this](Launcher& on, Values&) {
                         const Tensor x = on.Input(0);
                         const Tensor out = on.Empty(x.layout());
                         on.Writes(out);
                         on.Reads(x);
                         const auto side = device().NewStream();
                         if (!side.ok()) {
                           on.Fail(side.status());
                           return Values{};
                         }
                         on.Fork(**side);
                         if (!on.ok()) return Values{};
                         on.Fail(Delay(**side, 100));
                         on.Fail(Add(**side, out.raw_bytes(), x.raw_bytes(), x.raw_bytes()));
                         on.UsedOn(out, **side);
                         return Values{out};
                       }),
              2);
}

TEST_P(ForksTest, ForkingTheBodysOwnStreamIsAnError) {
  const FunctionId function = Register("own", {}, [](Launcher& on, Values&) {
    on.Fork(on.stream());
    return Values{};
  });
  NewStep();
  EXPECT_THAT(Refusal(function, {}).message(), HasSubstr("off itself"));
}

}  // namespace
}  // namespace graphtree
