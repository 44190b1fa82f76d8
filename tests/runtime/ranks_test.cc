// Several ranks that vote before each step: every rank has a runtime of its own.
#include <memory>
#include <vector>

#include "gmock/gmock.h"
#include "runtime/shapes/launch_history.h"
#include "tests/runtime/runtime_fixture.h"

namespace graphtree {
namespace {

using testing::HasSubstr;

class RanksTest : public RuntimeTest {
 protected:
  static constexpr size_t kRanks = 3;

  struct Rank {
    std::unique_ptr<Runtime> runtime;
    ProgramId program;
  };

  void SetUp() override {
    RuntimeTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    for (size_t i = 0; i < kRanks; ++i) {
      Rank rank;
      RuntimeOptions options;
      options.tree.pool_bytes = 16 << 20;
      ASSERT_OK_AND_ASSIGN(rank.runtime, Runtime::Create(device(), options));
      ASSERT_OK_AND_ASSIGN(rank.program, rank.runtime->AddProgram(DoubleOptions()));
      ASSERT_THAT(rank.runtime->AddShapes(rank.program, {{.tokens = 8}, {.tokens = 16}}), IsOk());
      ASSERT_THAT(rank.runtime->Record(rank.program, a()), IsOk());
      ranks_.push_back(std::move(rank));
    }
  }
  void TearDown() override {
    ranks_.clear();
    RuntimeTest::TearDown();
  }

  // Votes, agrees and steps on every rank; what each said.
  std::vector<Why> StepAll(const std::vector<int32_t>& tokens, uint32_t epoch,
                           const std::vector<Modes>& modes) {
    std::vector<Vote> votes;
    for (size_t i = 0; i < kRanks; ++i) {
      const absl::StatusOr<Vote> vote =
          ranks_[i].runtime->MakeVote(ranks_[i].program, {.tokens = tokens[i]}, modes[i], epoch);
      EXPECT_THAT(vote, IsOk());
      votes.push_back(*vote);
    }
    std::vector<Why> whys;
    for (size_t i = 0; i < kRanks; ++i) {
      whys.push_back(StepOn(i, tokens[i], modes[i], epoch, votes));
    }
    return whys;
  }

  Why StepOn(size_t i, int32_t tokens, Modes modes, uint32_t epoch,
             const std::vector<Vote>& votes) {
    Rank& rank = ranks_[i];
    const absl::StatusOr<Agreement> agreed =
        rank.runtime->Agree(rank.program, {.tokens = tokens}, modes, epoch, votes);
    EXPECT_THAT(agreed, IsOk());
    absl::StatusOr<Step> step =
        rank.runtime->Begin(rank.program, agreed->key, a(),
                            {.modes = agreed->modes,
                             .is_voted_down = agreed->outcome != VoteOutcome::kAgreed});
    EXPECT_THAT(step, IsOk());
    const Ids ids = IdsFrom(1, tokens);
    EXPECT_THAT(step->Stage(0, HostRows{ids.data(), DType::kI32, tokens}), IsOk());
    Values outputs;
    EXPECT_THAT(step->Run(&outputs), IsOk());
    EXPECT_EQ(ReadIds(outputs[0]), Doubled(ids, step->choice().key.tokens));
    return step->why();
  }

  std::vector<Rank> ranks_;
};
GRAPHTREE_ON_EVERY_DEVICE(RanksTest);

TEST_P(RanksTest, AllPadToWhatTheLargestNeeds) {
  const std::vector<Modes> all(kRanks, Modes::All());
  for (const Why why : StepAll({3, 12, 7}, 1, all)) EXPECT_TRUE(IsReplay(why));
  for (const Rank& rank : ranks_) {
    ASSERT_EQ(rank.runtime->history().count(), 1u);
    EXPECT_EQ(rank.runtime->history().at(0).key.tokens, 16);
  }
  EXPECT_EQ(ranks_[0].runtime->history().digest(), ranks_[2].runtime->history().digest());
}

TEST_P(RanksTest, OneThatMayNotReplayMakesAllRunEagerly) {
  std::vector<Modes> modes(kRanks, Modes::All());
  modes[1] = Modes::None();
  for (const Why why : StepAll({3, 4, 5}, 1, modes)) EXPECT_EQ(why, Why::kVotedDown);
  EXPECT_EQ(ranks_[0].runtime->history().count(), 1u);
  EXPECT_EQ(ranks_[0].runtime->history().digest(), ranks_[1].runtime->history().digest())
      << "each ran what it was asked for, and all did so eagerly";
}

// Found by two processes that vote: the key that was agreed on then was none that slots can hold.
TEST_P(RanksTest, ACallAboveAllShapesMakesAllRunEagerlyEachWithItsOwn) {
  const std::vector<Modes> all(kRanks, Modes::All());
  for (const Why why : StepAll({3, 40, 7}, 1, all)) EXPECT_EQ(why, Why::kVotedDown);
  EXPECT_EQ(ranks_[0].runtime->history().digest(), ranks_[1].runtime->history().digest());
  for (const Why why : StepAll({3, 12, 7}, 2, all)) EXPECT_TRUE(IsReplay(why));
}

TEST_P(RanksTest, AVoteOfAnotherEpochIsAnErrorThatNamesTheRank) {
  ASSERT_OK_AND_ASSIGN(const Vote mine, ranks_[0].runtime->MakeVote(
                                            ranks_[0].program, {.tokens = 3}, Modes::All(), 7));
  ASSERT_OK_AND_ASSIGN(const Vote theirs, ranks_[1].runtime->MakeVote(
                                              ranks_[1].program, {.tokens = 3}, Modes::All(), 6));
  const absl::StatusOr<Agreement> agreed =
      ranks_[0].runtime->Agree(ranks_[0].program, {.tokens = 3}, Modes::All(), 7, {mine, theirs});
  EXPECT_THAT(agreed.status().message(), HasSubstr("rank 1"));
}

TEST_P(RanksTest, ARankThatWentAnotherWayIsFound) {
  const std::vector<Modes> all(kRanks, Modes::All());
  StepAll({3, 12, 7}, 1, all);
  std::vector<Vote> alone;
  for (const size_t i : {0, 1}) {
    ASSERT_OK_AND_ASSIGN(const Vote vote,
                         ranks_[i].runtime->MakeVote(ranks_[i].program, {.tokens = i == 0 ? 3 : 9},
                                                     Modes::All(), 2));
    StepOn(i, i == 0 ? 3 : 9, Modes::All(), 2, {vote});
  }
  const Difference found =
      FirstDifference(ranks_[0].runtime->history(), ranks_[1].runtime->history());
  EXPECT_EQ(found.kind, Difference::Kind::kParted);
  EXPECT_EQ(found.number, 1u);
}

}  // namespace
}  // namespace graphtree
