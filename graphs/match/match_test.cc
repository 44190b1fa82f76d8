// Which calls a recording serves; live sets against a plain set.
#include "graphs/match/match.h"

#include <random>
#include <set>
#include <utility>

#include "gtest/gtest.h"

namespace graphtree {
namespace {

const Layout* Eight() { return Layout::Of(DType::kF32, {8}); }

std::vector<RecordedInput> Rows(const std::vector<InputRole>& roles, const Values& inputs) {
  std::vector<RecordedInput> rows;
  for (size_t i = 0; i < roles.size(); ++i) rows.push_back(RowFor(roles[i], inputs[i], 16));
  return rows;
}

class MatchTest : public testing::Test {
 protected:
  const std::vector<InputRole> roles_ = {InputRole::kStatic, InputRole::kInteger,
                                         InputRole::kCopied, InputRole::kPatched,
                                         InputRole::kNone};
  const Values recorded_ = {Tensor::Foreign(0x1000, Eight()), Value::Integer(5),
                            Tensor::Foreign(0x2000, Eight()), Tensor::Foreign(0x3010, Eight()),
                            Value()};
  const std::vector<RecordedInput> rows_ = Rows(roles_, recorded_);
};

TEST_F(MatchTest, TheRecordedCallMatches) {
  EXPECT_TRUE(InputsMatch(rows_, recorded_));
  EXPECT_EQ(FirstMismatch(rows_, recorded_), rows_.size());
}

TEST_F(MatchTest, StaticAddressesAndIntegersMustBeEqual) {
  Values call = recorded_;
  call[0] = Tensor::Foreign(0x1010, Eight());
  EXPECT_EQ(FirstMismatch(rows_, call), 0u);
  call = recorded_;
  call[1] = Value::Integer(6);
  EXPECT_EQ(FirstMismatch(rows_, call), 1u);
}

TEST_F(MatchTest, CopiedInputsMayMoveAnywhereAndPatchedOnesIfAligned) {
  Values call = recorded_;
  call[2] = Tensor::Foreign(0x9001, Eight());
  call[3] = Tensor::Foreign(0x7770, Eight());
  EXPECT_TRUE(InputsMatch(rows_, call));
  EXPECT_EQ(HashInputs(roles_, call), HashInputs(roles_, recorded_));
  call[3] = Tensor::Foreign(0x7774, Eight());
  EXPECT_EQ(FirstMismatch(rows_, call), 3u);
}

TEST_F(MatchTest, LayoutsMustBeEqualWhateverTheRole) {
  for (size_t i : {0, 2, 3}) {
    Values call = recorded_;
    call[i] = Tensor::Foreign(call[i].word(), Layout::Of(DType::kI32, {8}));
    EXPECT_EQ(FirstMismatch(rows_, call), i);
    EXPECT_NE(HashInputs(roles_, call), HashInputs(roles_, recorded_));
  }
}

TEST_F(MatchTest, AnIntegerIsNotATensorOrNothing) {
  Values call = recorded_;
  call[1] = Tensor::Foreign(5, Eight());
  EXPECT_EQ(FirstMismatch(rows_, call), 1u);
  call = recorded_;
  call[4] = Value::Integer(0);
  EXPECT_EQ(FirstMismatch(rows_, call), 4u);
}

// The pattern compares runs as memory and must agree with the rows in every case.
TEST_F(MatchTest, APatternAgreesWithItsRows) {
  const uint32_t seed = 4;
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 500; ++round) {
    std::vector<InputRole> roles;
    Values inputs;
    for (uint32_t n = random() % 12; n > 0; --n) {
      const size_t like = random() % roles_.size();
      roles.push_back(roles_[like] == InputRole::kPatched ? InputRole::kCopied : roles_[like]);
      inputs.push_back(recorded_[like]);
    }
    const InputPattern pattern(roles, inputs);
    ASSERT_TRUE(pattern.Compare(inputs).match);
    if (inputs.empty()) continue;
    Values call = inputs;
    call[random() % call.size()] = recorded_[random() % recorded_.size()];
    ASSERT_EQ(pattern.Compare(call).match, InputsMatch(pattern.rows(), call));
  }
}

TEST(LiveSetTest, AgreesWithAPlainSet) {
  const uint32_t seed = 77;
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 300; ++round) {
    std::set<std::pair<uint32_t, uint32_t>> model;
    const uint32_t levels = 1 + random() % 12;
    for (uint32_t n = random() % 40; n > 0; --n) {
      model.insert({random() % levels, random() % (random() % 7 == 0 ? 130 : 5)});
    }
    std::vector<OutputRef> live;
    for (auto [level, output] : model) live.push_back({level, output});
    const LiveSet set(live);
    for (uint32_t level = 0; level < 14; ++level) {
      for (uint32_t output = 0; output < 135; ++output) {
        ASSERT_EQ(set.Contains({level, output}), model.count({level, output}) > 0)
            << "level " << level << " output " << output;
      }
    }
  }
}

}  // namespace
}  // namespace graphtree
