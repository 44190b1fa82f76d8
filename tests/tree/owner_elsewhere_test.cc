// Two trees on two threads: one records, and meanwhile the other is called, which made a tensor
// that the first has used.
//
//   thread 1   E warms up with t   E records: its stream captures ------------------+
//   thread 2                             L, which made t, is called, and returns ---^
//
// L goes on behind what E did with t. It joins no capture for that, and is not refused.
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>

#include "tests/kernels/launches.h"
#include "tests/tree/other_trees_fixture.h"

namespace graphtree {
namespace {

class OwnerElsewhereTest : public OtherTreesFixture {
 protected:
  void SetUp() override {
    OtherTreesFixture::SetUp();
    if (IsSkipped()) return;
    ASSERT_OK_AND_ASSIGN(stream_, device().NewStream());
    for (uint32_t seed = 0; seed < kSeeds; ++seed) inputs_.push_back(Given(seed));
  }
  void TearDown() override {
    made_ = Value();
    inputs_.clear();
    stream_.reset();
    OtherTreesFixture::TearDown();
  }
  // Calls the owner's function on another thread, and comes back when the call has returned.
  void CallOwnerElsewhere(Tree& owner, FunctionId function, uint32_t seed) {
    std::thread([&] {
      Values inputs = {inputs_[seed]}, outputs;
      called_ = owner.Run(function, absl::MakeSpan(inputs), a(), &outputs);
      made_ = outputs.empty() ? Value() : outputs[0];
    }).join();
  }
  void CallOwnerElsewhere(uint32_t seed) { CallOwnerElsewhere(other(), makes_, seed); }
  // What the owner's function returns as often as it takes to be replayed, if it is.
  void SetMaker(bool replays) {
    makes_ = other().Register("makes", {.exclude = !replays}, Twice);
    for (uint32_t seed = 0; seed < 3; ++seed) {
      other().BeginStep();
      FromOther(makes_, seed);
    }
  }
  absl::Status RunOnOwn(FunctionId function, const Value& input, Values* outputs) {
    NewStep();
    Values inputs = {input};
    return tree().Run(function, absl::MakeSpan(inputs), *stream_, outputs);
  }
  Words ReadOnOwn(const Value& value) {
    EXPECT_THAT(stream_->Synchronize(), IsOk());
    return Read(value);
  }
  // The body returns `factor` times its input, and calls the owner elsewhere where it is recorded.
  void ExpectOwnerIsServed(const Body& body, uint32_t factor) {
    for (const bool replays : {false, true}) {
      OpenTree({});
      SetMaker(replays);
      const FunctionId uses = Register("uses", {}, body);
      known_ = FromOther(makes_, 1);
      ASSERT_THAT(a().Synchronize(), IsOk());
      Values outputs;
      ASSERT_THAT(RunOnOwn(uses, known_, &outputs), IsOk());
      EXPECT_EQ(ReadOnOwn(outputs[0]), Times(PatternOf(1), 2 * factor));
      other().BeginStep();
      ASSERT_THAT(RunOnOwn(uses, inputs_[2], &outputs), IsOk()) << "owner replays: " << replays;
      EXPECT_THAT(called_, IsOk()) << "owner replays: " << replays;
      ASSERT_TRUE(made_.is_tensor());
      EXPECT_EQ(Read(made_), Times(PatternOf(3), 2)) << "owner replays: " << replays;
      EXPECT_EQ(ReadOnOwn(outputs[0]), Times(PatternOf(2), factor));
      EXPECT_EQ(graphs(), 1u) << "owner replays: " << replays;
      ASSERT_THAT(RunOnOwn(uses, inputs_[3], &outputs), IsOk());
      EXPECT_EQ(ReadOnOwn(outputs[0]), Times(PatternOf(3), factor));
      EXPECT_EQ(OwnerElsewhereTest::replays(), 1u);
      made_ = Value();
    }
    EXPECT_THAT(device().health(), IsOk());
  }

  static constexpr uint32_t kSeeds = 8;
  std::unique_ptr<Stream> stream_;
  Values inputs_;
  absl::Status called_;
  Value made_;
};
GRAPHTREE_ON_EVERY_DEVICE(OwnerElsewhereTest);

TEST_P(OwnerElsewhereTest, AnInputOfAWarmUp) {
  ExpectOwnerIsServed(
      [this](Launcher& on, Values& inputs) {
        if (on.stream().IsCapturing()) CallOwnerElsewhere(3);
        return Twice(on, inputs);
      },
      2);
}

// The owner has the bytes for something else by then.
TEST_P(OwnerElsewhereTest, AnInputThatHasDied) {
  ExpectOwnerIsServed(
      [this](Launcher& on, Values& inputs) {
        if (on.stream().IsCapturing()) {
          known_ = Value();
          CallOwnerElsewhere(3);
        }
        return Twice(on, inputs);
      },
      2);
}

// The warm-up calls the owner in its middle, so that the owner has been told of the stream before.
TEST_P(OwnerElsewhereTest, TheOwnerHasGoneOnInTheMiddleOfTheWarmUp) {
  ExpectOwnerIsServed(
      [this](Launcher& on, Values& inputs) {
        Values outputs = Twice(on, inputs);
        CallOwnerElsewhere(on.stream().IsCapturing() ? 3 : 5);
        EXPECT_THAT(called_, IsOk());
        return outputs;
      },
      2);
}

// The stream that the body forks off its own captures, too.
TEST_P(OwnerElsewhereTest, AForkOfTheWarmUp) {
  ExpectOwnerIsServed(
      [this](Launcher& on, Values& inputs) {
        const Tensor out = TwiceOnSide(on, inputs[0]);
        on.UsedOn(Tensor::From(inputs[0]), b());
        if (on.stream().IsCapturing()) CallOwnerElsewhere(3);
        JoinSide(on);
        return Values{out};
      },
      2);
}

// As a body does that fills a table in its first run. The other tree's last work is then on the
// stream of the warm-up.
TEST_P(OwnerElsewhereTest, ATreeThatTheWarmUpHasCalledOnItsStream) {
  ExpectOwnerIsServed(
      [this](Launcher& on, Values& inputs) {
        if (on.stream().IsCapturing()) {
          CallOwnerElsewhere(3);
        } else {
          Values given = {inputs_[5]}, made;
          on.Fail(other().Run(makes_, absl::MakeSpan(given), on.stream(), &made));
        }
        return Twice(on, inputs);
      },
      2);
}

}  // namespace
}  // namespace graphtree
