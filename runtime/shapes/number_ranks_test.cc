// Places against a plain search, for ladders and for numbers at random.
#include "runtime/shapes/number_ranks.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <set>
#include <vector>

#include "absl/strings/str_join.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

void ExpectPlaces(const std::vector<int32_t>& numbers, const std::vector<uint32_t>& wanted) {
  const NumberRanks ranks(numbers);
  ASSERT_EQ(ranks.size(), numbers.size());
  for (const uint32_t number : wanted) {
    const auto at = std::lower_bound(numbers.begin(), numbers.end(), int64_t{number});
    const auto place = static_cast<uint32_t>(at - numbers.begin());
    const bool is_there = at != numbers.end() && *at == int64_t{number};
    ASSERT_EQ(ranks.FirstAtLeast(number), place)
        << number << " in " << absl::StrJoin(numbers, " ");
    ASSERT_EQ(ranks.PlaceOf(number), is_there ? place : numbers.size())
        << number << " in " << absl::StrJoin(numbers, " ");
  }
}

// All small numbers, the edges of every doubling, and the neighbours of what is there.
std::vector<uint32_t> WorthAsking(const std::vector<int32_t>& numbers) {
  std::vector<uint32_t> wanted = {NumberRanks::kGreatest};
  for (uint32_t number = 0; number < 300; ++number) wanted.push_back(number);
  for (uint32_t bit = 8; bit < 32; ++bit) {
    wanted.push_back((uint32_t{1} << bit) - 1);
    wanted.push_back(uint32_t{1} << bit);
  }
  for (const int32_t number : numbers) {
    if (number > 0) wanted.push_back(static_cast<uint32_t>(number) - 1);
    wanted.push_back(static_cast<uint32_t>(number));
    wanted.push_back(static_cast<uint32_t>(number) + 1);
  }
  return wanted;
}

TEST(NumberRanksTest, AmongNoneAllPlacesAreTheEnd) {
  ExpectPlaces({}, WorthAsking({}));
  EXPECT_EQ(NumberRanks().FirstAtLeast(7), 0u);
  EXPECT_EQ(NumberRanks().PlaceOf(7), 0u);
}

TEST(NumberRanksTest, LaddersAreSearchedAsAPlainSearchDoes) {
  constexpr int32_t kLast = std::numeric_limits<int32_t>::max();
  std::vector<int32_t> engine = {1, 2, 4};
  for (int32_t size = 8; size <= 512; size += size < 256 ? 8 : 16) engine.push_back(size);
  std::vector<int32_t> dense;
  for (int32_t size = 0; size < 4096; ++size) dense.push_back(size);
  for (const std::vector<int32_t>& numbers :
       {std::vector<int32_t>{0}, std::vector<int32_t>{kLast}, std::vector<int32_t>{0, kLast},
        std::vector<int32_t>{1024, 4096, 16384, 65536, 262144}, engine, dense}) {
    ExpectPlaces(numbers, WorthAsking(numbers));
    if (HasFatalFailure()) return;
  }
}

TEST(NumberRanksTest, NumbersAtRandomAreSearchedAsAPlainSearchDoes) {
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    // Crowded at some places and rare at others.
    const uint64_t clusters = 1 + random() % 4;
    std::set<int32_t> numbers;
    for (uint64_t i = 0; i < clusters; ++i) {
      const uint64_t width = uint64_t{1} << random() % 31;
      const uint64_t start = random() % (uint64_t{1} << (1 + random() % 31));
      for (uint64_t k = random() % 40; k > 0; --k) {
        numbers.insert(static_cast<int32_t>(
            std::min<uint64_t>(start + random() % width, std::numeric_limits<int32_t>::max())));
      }
    }
    const std::vector<int32_t> sorted(numbers.begin(), numbers.end());
    ExpectPlaces(sorted, WorthAsking(sorted));
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace graphtree
