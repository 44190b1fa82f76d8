// The sentence about one storage, with more and more facts known.
#include "graphs/history/step_history.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

constexpr AddressRange kBytes = {0x1000, 0x100};
constexpr AddressRange kElsewhere = {0x2000, 0x100};

class StepHistoryTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"make", "other"}) history_.AddFunction(name);
    storage_.producer = 0;
    storage_.output = 2;
    storage_.step = 4;
    storage_.ended_in = 5;
  }
  void TakeStacks() {
    storage_.made_at = history_.stacks().Here();
    storage_.ended_at = history_.stacks().Here();
  }
  std::string Told() const { return history_.Explain(storage_); }

  StepHistory history_;
  Storage storage_{nullptr, kBytes, StorageState::kStale};
};

TEST_F(StepHistoryTest, NamesAndStepsAreAlwaysKnown) {
  history_.SetLastRun(1);
  EXPECT_THAT(Told(), AllOf(HasSubstr("output 2 of 'make' was made in step 4"),
                            HasSubstr("when step 5 began"), HasSubstr("last: 'other'")));
  EXPECT_THAT(Told(), EndsWith("(TreeOptions::check tells from where each was called)"));
}

TEST_F(StepHistoryTest, ATensorThatIsNoOutput) {
  storage_.output = kNotReturned;
  EXPECT_THAT(Told(), HasSubstr("a tensor that the body of 'make' stored and did not return was "
                                "made in step 4"));
}

TEST_F(StepHistoryTest, ATensorOfARunThatFailed) {
  storage_.output = kOfFailedRun;
  EXPECT_THAT(Told(), HasSubstr("the body of 'make' stored in step 4 was taken back"));
}

TEST_F(StepHistoryTest, StacksFollowTheSentence) {
  TakeStacks();
  EXPECT_THAT(Told(), AllOf(HasSubstr("\n  it was made by the call at:\n    "),
                            HasSubstr("\n  its step was ended at:\n    "),
                            Not(HasSubstr("TreeOptions::check"))));
  EXPECT_THAT(Told(), EndsWith("\n  no checked call has been given its bytes since"));
}

TEST_F(StepHistoryTest, WhoWroteOverIt) {
  TakeStacks();
  history_.NoteWrites({kElsewhere}, {1, 6, history_.stacks().Here()});
  EXPECT_THAT(Told(), EndsWith("given its bytes since")) << "those were others";
  history_.NoteWrites({kBytes}, {0, 4, history_.stacks().Here()});
  EXPECT_THAT(Told(), EndsWith("given its bytes since")) << "that was before its step ended";
  history_.NoteWrites({kElsewhere, {0x10ff, 8}}, {1, 6, history_.stacks().Here()});
  EXPECT_THAT(Told(), HasSubstr("given to 'other' in step 6 by the call at:\n    "));
}

TEST_F(StepHistoryTest, WhenOutsideMemoryWasLastAlive) {
  EXPECT_EQ(history_.ToldAlive(kBytes), "");
  history_.NoteAlive(kBytes, {1, 3, history_.stacks().Here()});
  EXPECT_THAT(history_.ToldAlive(kBytes),
              HasSubstr("\n  it was alive in step 3, when a call of 'other' brought it at:\n    "));
  EXPECT_EQ(history_.ToldAlive(kElsewhere), "");
}

}  // namespace
}  // namespace graphtree
