// How long a shape pays, and how much goes at a time.
#include "graphs/match/given_up.h"

#include <cstdint>

#include "gtest/gtest.h"

namespace graphtree {
namespace {

constexpr uint64_t kMost = 20;

TEST(GivenUpTest, RentDoublesUntilARecordingHasPaid) {
  uint64_t rent = 0;
  for (const uint64_t expected : {3, 6, 12, 20, 20}) {
    rent = RentAfterGivingUp(rent, kReplaysThatPay - 1, kMost);
    EXPECT_EQ(rent, expected);
  }
  EXPECT_EQ(RentAfterGivingUp(rent, kReplaysThatPay, kMost), 3u);
  EXPECT_EQ(RentAfterGivingUp(UINT64_MAX, 0, UINT64_MAX - 1), UINT64_MAX - 1);
  EXPECT_EQ(RentAfterGivingUp(0, 0, 1), 1u);
}

// In as many attempts as a pool makes even a tree of many recordings gives all of them up.
TEST(GivenUpTest, AFewGoOneByOneAndThenManyAtOnce) {
  uint64_t all = 0;
  for (int attempt = 0; attempt < 16; ++attempt) {
    const uint64_t more = RecordingsToGiveUp(attempt);
    EXPECT_LE(more, attempt < 4 ? 1 : all + 1) << attempt;
    all += more;
  }
  EXPECT_GT(all, 4096u);
}

}  // namespace
}  // namespace graphtree
