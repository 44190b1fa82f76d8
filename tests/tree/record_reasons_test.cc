// What Tree::Record says about a function whose runs or recordings have failed before: what
// happened, and not only what follows from it.
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "graphs/reason.h"
#include "tests/tree/tree_fixture.h"

namespace graphtree {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class RecordReasonsTest : public TreeTest {
 protected:
  std::string RefusalOf(FunctionId function, Values inputs = {}) {
    const absl::Status recorded = tree().Record(function, std::move(inputs), a());
    EXPECT_FALSE(recorded.ok());
    return std::string(recorded.message());
  }
  FunctionId Fails(const std::string& why) {
    return Register("fails", {}, [this, why](Launcher& on, Values&) -> Values {
      if (fails_) on.Fail(absl::UnavailableError(why));
      if (asks_) on.WarmUpAgain("a tuner has more to try");
      return {on.ok() ? Filled(on, 1, kWords) : Tensor()};
    });
  }

  bool fails_ = false;
  bool asks_ = false;
};
GRAPHTREE_ON_EVERY_DEVICE(RecordReasonsTest);

TEST_P(RecordReasonsTest, ItHasNotRun) {
  EXPECT_THAT(RefusalOf(Fails("")), AllOf(HasSubstr("not warmed up"), Not(HasSubstr("failed"))));
}

TEST_P(RecordReasonsTest, ItsWarmUpFailed) {
  const FunctionId function = Fails("no model is loaded");
  fails_ = true;
  NewStep();
  EXPECT_FALSE(Refusal(function, {}).ok());
  EXPECT_THAT(RefusalOf(function),
              AllOf(HasSubstr("not warmed up"), HasSubstr("no model is loaded")));
  fails_ = false;
  NewStep();
  Call(function, {});
  NewStep();
  EXPECT_THAT(tree().Record(function, {}, a()), IsOk());
}

TEST_P(RecordReasonsTest, ItsRecordingFailedAndItIsWarm) {
  const FunctionId function = Fails("no model is loaded");
  NewStep();
  Call(function, {});
  fails_ = true;
  for (int i = 0; i < 6; ++i) {
    NewStep();
    EXPECT_THAT(RefusalOf(function),
                AllOf(HasSubstr("no model is loaded"), Not(HasSubstr("warmed up"))));
  }
}

TEST_P(RecordReasonsTest, ItsBodyAsksForAnotherWarmUp) {
  const FunctionId function = Fails("");
  NewStep();
  Call(function, {});
  asks_ = true;
  NewStep();
  EXPECT_THAT(RefusalOf(function), AllOf(HasSubstr(ReasonSentence(Reason::kWarmUpAsked)),
                                         HasSubstr("a tuner has more to try")));
}

TEST_P(RecordReasonsTest, ItsRecordingFoundNoMemory) {
  OpenTree({.pool_bytes = 8 << 20});
  int64_t bytes = 64;
  const FunctionId function = Register("grows", {}, [&bytes](Launcher& on, Values&) -> Values {
    const Tensor out = on.Empty(DType::kU8, {bytes});
    on.Fill(out, 7);
    return {out};
  });
  NewStep();
  Call(function, {});
  bytes = 64 << 20;
  NewStep();
  const std::string first = RefusalOf(function), sentence = ReasonSentence(Reason::kOutOfPool);
  const size_t at = first.find(sentence);
  ASSERT_NE(at, std::string::npos) << first;
  const std::string why = first.substr(at + sentence.size() + 2);
  EXPECT_THAT(why, HasSubstr("pool"));
  EXPECT_THAT(RefusalOf(function), AllOf(HasSubstr("not warmed up"), HasSubstr(why)));
  bytes = 64;
  NewStep();
  Call(function, {});
  NewStep();
  EXPECT_THAT(tree().Record(function, {}, a()), IsOk());
}

TEST_P(RecordReasonsTest, ItFollowsAWarmUp) {
  const FunctionId first = Register("first", {}, Twice), second = Register("second", {}, Twice);
  NewStep();
  Call(second, {Given(1)});
  NewStep();
  const Values held = Call(first, {Given(1)});
  EXPECT_THAT(RefusalOf(second, {held[0]}),
              AllOf(HasSubstr("follows a warm-up"), Not(HasSubstr("not warmed up"))));
}

}  // namespace
}  // namespace graphtree
