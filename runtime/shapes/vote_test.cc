// Ranks that vote come to the same, whichever of them take part and in whatever order their votes
// stand; and what they come to serves every one of them.
#include "runtime/shapes/vote.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "device/base/status_matchers.h"
#include "gtest/gtest.h"
#include "runtime/shapes/key.h"
#include "runtime/shapes/mode.h"
#include "runtime/shapes/naive_shapes.h"
#include "runtime/shapes/shape_table.h"
#include "runtime/why.h"

namespace graphtree {
namespace {

using absl::StatusCode;

constexpr int32_t kLargest = std::numeric_limits<int32_t>::max();

ShapeTable MustMake(const KeyRules& rules, const std::vector<Shape>& shapes) {
  auto table = ShapeTable::Make(rules, shapes);
  EXPECT_THAT(table, IsOk());
  for (uint32_t i = 0; i < table->size(); ++i) table->SetUsable(i, Why::kHit);
  return *std::move(table);
}

ShapeTable Ladder() {
  return MustMake({}, {{8, {.tokens = 8}}, {16, {.tokens = 16}}, {32, {.tokens = 32}}});
}

std::vector<Vote> VotesOf(const ShapeTable& table, const std::vector<Ballot>& ballots) {
  std::vector<Vote> votes;
  for (const Ballot& ballot : ballots) {
    const auto vote = MakeVote(table, ballot);
    EXPECT_THAT(vote, IsOk());
    votes.push_back(*vote);
  }
  return votes;
}

// The model: what ranks with these ballots should come to, seen from above.
struct Wanted {
  VoteOutcome outcome = VoteOutcome::kAgreed;
  Modes modes = Modes::All();
  Key sizes = {};  // the largest of every field, rounded up where the rule says so
};

Wanted WantedOf(const ShapeTable& table, const std::vector<Ballot>& ballots) {
  Wanted wanted;
  bool one_is_eager = false, other_program = false, other_call = false;
  for (const Ballot& ballot : ballots) {
    one_is_eager |= ballot.modes.empty();
    wanted.modes = wanted.modes & ballot.modes;
    other_program |= ballot.program != ballots.front().program;
    for (size_t i = 0; i < kKeyNumberCount; ++i) {
      const auto field = static_cast<KeyField>(i);
      const FieldRule& rule = RuleOf(table.rules(), field);
      const int32_t number = NumberOf(ballot.call, field);
      other_call |= rule.covers == Covers::kEqual && table.Matters(field) &&
                    number != NumberOf(ballots.front().call, field);
      const auto least =
          static_cast<int32_t>(std::min<int64_t>(LeastCovering(rule, number), kLargest));
      NumberOf(wanted.sizes, field) = std::max(NumberOf(wanted.sizes, field), least);
    }
    other_call |=
        table.Matters(KeyField::kExtra) && ballot.call.extra != ballots.front().call.extra;
    wanted.sizes.extra = ballot.call.extra;
  }
  if (one_is_eager) {
    wanted.outcome = VoteOutcome::kOneIsEager;
  } else if (wanted.modes.empty()) {
    wanted.outcome = VoteOutcome::kNoCommonMode;
  } else if (other_program) {
    wanted.outcome = VoteOutcome::kOtherProgram;
  } else if (other_call) {
    wanted.outcome = VoteOutcome::kOtherCall;
  }
  if (wanted.outcome != VoteOutcome::kAgreed) wanted.modes = Modes::None();
  return wanted;
}

struct Seen {
  uint64_t agreed = 0;
  uint64_t served = 0;
  uint64_t eager[5] = {};
};

// Every rank of a subset, with the votes in one order.
void ExpectAllAlike(const ShapeTable& table, const ShapeTable& without_limits,
                    const std::vector<Ballot>& ballots, Seen* seen) {
  const std::vector<Vote> votes = VotesOf(table, ballots);
  const Wanted wanted = WantedOf(table, ballots);
  uint32_t index = kNoShape;
  for (size_t rank = 0; rank < ballots.size(); ++rank) {
    const auto agreement = Agree(table, ballots[rank], votes);
    ASSERT_THAT(agreement, IsOk());
    ASSERT_EQ(agreement->outcome, wanted.outcome);
    ASSERT_EQ(agreement->modes, wanted.modes);
    ++seen->eager[static_cast<size_t>(wanted.outcome)];
    if (wanted.outcome != VoteOutcome::kAgreed) {
      ASSERT_EQ(agreement->why(), Why::kVotedDown);
      ASSERT_EQ(agreement->key, ballots[rank].call);
      continue;
    }
    ++seen->agreed;
    for (size_t i = 0; i < kKeyNumberCount; ++i) {
      const auto field = static_cast<KeyField>(i);
      const bool is_size = RuleOf(table.rules(), field).covers != Covers::kEqual;
      if (!is_size || !table.Matters(field)) continue;
      ASSERT_GE(NumberOf(agreement->key, field), NumberOf(wanted.sizes, field));
    }
    const Choice choice = table.Choose(agreement->key, agreement->modes);
    if (rank == 0) index = choice.index;
    ASSERT_EQ(choice.index, index) << "ranks would launch different graphs";
    // Limits apart, the steps lose nothing: the largest numbers themselves choose the same.
    ASSERT_EQ(without_limits.Choose(agreement->key, agreement->modes).index,
              without_limits.Choose(wanted.sizes, wanted.modes).index);
    if (index == kNoShape) continue;
    ++seen->served;
    for (size_t i = 0; i < kKeyNumberCount; ++i) {
      const auto field = static_cast<KeyField>(i);
      const int32_t number = NumberOf(table.shape(index).key, field);
      ASSERT_TRUE(number == kAny || number >= NumberOf(ballots[rank].call, field));
    }
  }
}

KeyRules WithoutLimits(KeyRules rules) {
  for (FieldRule* rule :
       {&rules.kind, &rules.tokens, &rules.requests, &rules.query_length, &rules.context,
        &rules.adaptors, &rules.microbatches, &rules.speculation}) {
    *rule = {.covers = rule->covers};
  }
  return rules;
}

void TryRandomRanks(uint64_t seed, Seen* seen) {
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  RandomShapes random(seed);
  random.PickFields();
  const KeyRules rules = random.OneIn(2) ? KeyRules{} : random.Rules();
  std::vector<Shape> shapes;
  for (const NaiveShape& one : random.Shapes(rules, 30)) shapes.push_back(one.shape);
  if (shapes.empty()) return;
  const ShapeTable table = MustMake(rules, shapes);
  const ShapeTable without_limits = MustMake(WithoutLimits(rules), shapes);
  const Key near = shapes[random.Below(shapes.size())].key;
  std::vector<Ballot> ranks;
  const uint64_t count = 1 + random.Below(4);
  for (uint64_t i = 0; i < count; ++i) {
    ranks.push_back({.program = random.OneIn(20) ? 6u : 5u,
                     .epoch = 70'000,
                     .call = random.CallNear(near),
                     .modes = Modes::FromBits(random.OneIn(4) ? random.Below(4) : 3)});
  }
  if (MakeVote(table, ranks.front()).status().code() == StatusCode::kFailedPrecondition) return;
  for (uint32_t subset = 1; subset < 1u << count; ++subset) {
    std::vector<size_t> order;
    for (size_t i = 0; i < count; ++i) {
      if ((subset >> i & 1) != 0) order.push_back(i);
    }
    do {
      std::vector<Ballot> ballots;
      for (const size_t rank : order) ballots.push_back(ranks[rank]);
      ExpectAllAlike(table, without_limits, ballots, seen);
      if (testing::Test::HasFatalFailure()) return;
    } while (std::next_permutation(order.begin(), order.end()));
  }
}

TEST(VoteTest, RanksAreAlikeForEverySubsetAndOrder) {
  Seen seen;
  for (uint64_t seed = 1; seed <= 1500; ++seed) {
    TryRandomRanks(seed, &seen);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(seen.agreed, 1000u);
  EXPECT_GT(seen.served, 1000u);
  for (size_t i = 0; i < 5; ++i) EXPECT_GT(seen.eager[i], 100u) << "outcome " << i;
}

TEST(VoteTest, AllPadToTheLargest) {
  const ShapeTable table = Ladder();
  const std::vector<Ballot> ballots = {
      {.call = {.tokens = 5}}, {.call = {.tokens = 12}}, {.call = {.tokens = 0}}};
  for (const Ballot& own : ballots) {
    const auto agreement = Agree(table, own, VotesOf(table, ballots));
    ASSERT_THAT(agreement, IsOk());
    EXPECT_EQ(agreement->key, (Key{.tokens = 16}));
    EXPECT_EQ(agreement->why(), Why::kHit);
  }
}

TEST(VoteTest, OneThatIsAboveTheCeilingIsSeenByAll) {
  const ShapeTable table = Ladder();
  const std::vector<Ballot> ballots = {{.call = {.tokens = 5}}, {.call = {.tokens = 33}}};
  const auto agreement = Agree(table, ballots[0], VotesOf(table, ballots));
  ASSERT_THAT(agreement, IsOk());
  EXPECT_EQ(table.Choose(agreement->key, agreement->modes).why, Why::kAboveCeiling);
}

TEST(VoteTest, TheLowestModeWinsAndOneEagerMakesAllEager) {
  const ShapeTable table = Ladder();
  std::vector<Ballot> ballots(3);
  ballots[1].modes = Modes::UpTo(Mode::kSegmented);
  EXPECT_EQ(Agree(table, ballots[0], VotesOf(table, ballots))->modes,
            Modes::Only(Mode::kSegmented));
  ballots[2].modes = Modes::Only(Mode::kFull);
  const auto none = Agree(table, ballots[0], VotesOf(table, ballots));
  EXPECT_EQ(none->outcome, VoteOutcome::kNoCommonMode);
  EXPECT_EQ(none->rank, 2u);
  ballots[1].modes = Modes::UpTo(Mode::kEager);
  const auto eager = Agree(table, ballots[0], VotesOf(table, ballots));
  EXPECT_EQ(eager->outcome, VoteOutcome::kOneIsEager);
  EXPECT_EQ(eager->rank, 1u);
  EXPECT_EQ(eager->why(), Why::kVotedDown);
}

TEST(VoteTest, RanksThatMayReplayOtherShapesRunEagerly) {
  const ShapeTable table = Ladder();
  ShapeTable other = Ladder();
  other.SetUsable(1, Why::kFailed);
  const Ballot ballot = {.call = {.tokens = 9}};
  const std::vector<Vote> votes = {*MakeVote(table, ballot), *MakeVote(other, ballot)};
  for (const ShapeTable* own : {&table, static_cast<const ShapeTable*>(&other)}) {
    const auto agreement = Agree(*own, ballot, votes);
    ASSERT_THAT(agreement, IsOk());
    EXPECT_EQ(agreement->outcome, VoteOutcome::kOtherCall);
    EXPECT_EQ(agreement->rank, 1u);
  }
}

TEST(VoteTest, AVoteOfAnotherEpochIsAnErrorThatNamesTheRank) {
  const ShapeTable table = Ladder();
  std::vector<Ballot> ballots(4, {.epoch = 8});
  ballots[0].epoch = 7;
  const std::vector<Vote> votes = VotesOf(table, ballots);
  for (const Ballot& own : ballots) {
    EXPECT_THAT(Agree(table, own, votes), FailsWith(StatusCode::kFailedPrecondition,
                                                    "rank 0 has epoch 7, and 3 of 4 ranks have 8"));
  }
}

TEST(VoteTest, AVoteWithAnotherTableIsAnErrorThatNamesTheRank) {
  const ShapeTable table = Ladder();
  const ShapeTable other = MustMake({}, {{8, {.tokens = 8}}});
  const Ballot ballot = {.program = 3, .call = {.tokens = 8}};
  std::vector<Vote> votes = {*MakeVote(table, ballot), *MakeVote(table, ballot),
                             *MakeVote(other, ballot)};
  EXPECT_THAT(Agree(table, ballot, votes),
              FailsWith(StatusCode::kFailedPrecondition, "rank 2 has a table of shapes with the"));
  EXPECT_THAT(Agree(other, ballot, votes),
              FailsWith(StatusCode::kFailedPrecondition, "rank 2 has a table of shapes with the"));
  votes[2] = *MakeVote(other, {.program = 4, .call = {.tokens = 8}});
  EXPECT_EQ(Agree(table, ballot, votes)->outcome, VoteOutcome::kOtherProgram)
      << "another program has other shapes";
}

TEST(VoteTest, WhatIsNoVoteIsRefused) {
  const ShapeTable table = Ladder();
  const Ballot ballot = {.call = {.tokens = 8}};
  const Vote vote = *MakeVote(table, ballot);
  EXPECT_THAT(Agree(table, ballot, {}), FailsWith(StatusCode::kInvalidArgument, "no rank"));
  EXPECT_THAT(Agree(table, ballot, {vote, Vote()}),
              FailsWith(StatusCode::kInvalidArgument, "rank 1 is no vote"));
  const Vote other = *MakeVote(table, {.call = {.tokens = 9}});
  EXPECT_THAT(Agree(table, ballot, {other, other}),
              FailsWith(StatusCode::kFailedPrecondition, "own vote is not among the 2"));
  EXPECT_THAT(MakeVote(table, {.call = {.tokens = -1}}),
              FailsWith(StatusCode::kInvalidArgument, "call's tokens is -1"));
}

TEST(VoteTest, ASizeBeyondTheTableIsRefused) {
  const ShapeTable table = MustMake(
      {}, {{1, {.tokens = 1}}, {2, {.tokens = 2}}, {3, {.tokens = 3}}, {4, {.tokens = 4}}});
  const Ballot ballot = {.call = {.tokens = 8}};
  Vote vote = *MakeVote(table, ballot);
  EXPECT_EQ(vote.bytes[0] & 7, 4) << "above all four";
  Vote broken = vote;
  broken.bytes[0] |= 3;
  EXPECT_THAT(Agree(table, ballot, {vote, broken}),
              FailsWith(StatusCode::kInvalidArgument, "rank 1 is no vote: it has a size beyond"));
}

TEST(VoteTest, TablesThatDoNotFitIntoAVoteAreRefused) {
  std::vector<Shape> shapes;
  for (int32_t i = 0; i < 1100; ++i) {
    shapes.push_back({uint64_t(i), {.tokens = i, .requests = i, .context = i, .adaptors = i}});
  }
  const ShapeTable three = MustMake({}, shapes);
  EXPECT_THAT(MakeVote(three, {}), IsOk());
  const ShapeTable four = MustMake({.adaptors = {.covers = Covers::kAtMost}}, shapes);
  EXPECT_THAT(MakeVote(four, {}), FailsWith(StatusCode::kFailedPrecondition, "take 44 bits"));
}

TEST(VoteTest, TheBytesAreTheSameOnEveryMachine) {
  const ShapeTable table = Ladder();
  const Vote vote = *MakeVote(table, {.program = 0x1234, .epoch = 0x10203, .call = {.tokens = 9}});
  std::string text;
  for (const uint8_t byte : vote.bytes) absl::StrAppend(&text, absl::Hex(byte, absl::kZeroPad2));
  // Step 1, epoch 0x0203, both modes and the mark; what is alike, the program and the table.
  EXPECT_EQ(text, "010000000003028399c6b9740e64fee0");
}

}  // namespace
}  // namespace graphtree
