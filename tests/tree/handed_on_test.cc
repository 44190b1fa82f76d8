// An output that a body stores, and that another body takes from there and returns: a replay runs
// neither, so between the two nobody holds it.
#include <cstdint>
#include <utility>
#include <vector>

#include "tests/tree/tree_fixture.h"

namespace graphtree {
namespace {

class HandedOnTest : public TreeTest {
 protected:
  void SetUp() override {
    TreeTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    RegisterAll();
  }
  void TearDown() override {
    stored_ = Value();
    TreeTest::TearDown();
  }
  void RegisterAll() {
    make_ = Register("make", {}, Twice);
    store_ = Register("store", {}, [this](Launcher&, Values& inputs) {
      stored_ = inputs[0];
      return Values{};
    });
    take_ = Register("take", {}, [this](Launcher& on, Values&) {
      const bool is_good = Tensor::From(stored_).bytes().ok();
      const Tensor taken = is_good ? Tensor::From(stored_) : Filled(on, kOwnSeed, kWords);
      Bump(on, taken, 1);
      return Values{taken};
    });
    other_ = Register("other", {}, Thrice);
    fail_ = Register("fail", {}, [](Launcher& on, Values&) {
      for (int i = 0; i < 4; ++i) Filled(on, 7, kWords);
      on.Fail(absl::InternalError("not now"));
      return Values{};
    });
  }
  // What `take_` returns of an output of `make_`.
  static Words Taken() { return Plus(Times(Pattern(1, kWords), 2), Words(kWords, 1)); }
  // `make_`, `store_`, `take_` are recorded, and `other_` is warm.
  void RecordAll() {
    const Tensor x = Given(1);
    x_ = x;
    for (int step = 0; step < 2; ++step) {
      NewStep();
      Call(store_, Call(make_, {x_}));
      EXPECT_EQ(Read(Call(take_, {})[0]), Taken());
    }
    EXPECT_EQ(graphs(), 3u);
    NewStep();
    Call(other_, {x_});
    NewStep();
  }

  static constexpr uint32_t kOwnSeed = 9;
  FunctionId make_, store_, take_, other_, fail_;
  Value x_;
  Value stored_;
};
GRAPHTREE_ON_EVERY_DEVICE(HandedOnTest);

// What is recorded behind it finds the books with it.
TEST_P(HandedOnTest, AReplayHoldsWhatItReturnsAgain) {
  RecordAll();
  Call(store_, Call(make_, {x_}));
  const Values taken = Call(take_, {});
  EXPECT_EQ(live(), 1u);
  EXPECT_EQ(replays(), 3u);
  const Values others = Call(other_, {x_});
  EXPECT_EQ(graphs(), 4u) << "recorded behind replays";
  EXPECT_EQ(Read(others[0]), Times(PatternOf(1), 3));
  EXPECT_EQ(Read(taken[0]), Taken());
  NewStep();
  EXPECT_FALSE(Tensor::From(taken[0]).bytes().ok());
}

}  // namespace
}  // namespace graphtree
