// Compares the pieces with a table that has one entry for each byte.
#include "graphs/history/range_uses.h"

#include <algorithm>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace graphtree {
namespace {

uint32_t FunctionAt(const RangeUses& uses, AddressRange range) {
  const RangeUse* use = uses.Find(range);
  return use == nullptr ? 0 : use->function;
}

TEST(RangeUsesTest, ALaterUseHidesWhatItCovers) {
  RangeUses uses;
  uses.Note({100, 300}, {1, 3, 0});
  uses.Note({200, 100}, {2, 4, 0});
  EXPECT_EQ(FunctionAt(uses, {100, 100}), 1u);
  EXPECT_EQ(FunctionAt(uses, {200, 100}), 2u);
  EXPECT_EQ(FunctionAt(uses, {300, 100}), 1u);
  EXPECT_EQ(FunctionAt(uses, {100, 300}), 2u) << "the latest of all";
  EXPECT_EQ(FunctionAt(uses, {400, 1}), 0u);
  EXPECT_EQ(FunctionAt(uses, {99, 1}), 0u);
  EXPECT_EQ(uses.Find({250, 1})->step, 4u);
}

TEST(RangeUsesTest, NothingIsNotedOfNoBytes) {
  RangeUses uses;
  uses.Note({100, 0}, {1, 1, 0});
  EXPECT_EQ(uses.Find({100, 1}), nullptr);
  uses.Note({100, 10}, {1, 1, 0});
  EXPECT_EQ(uses.Find({100, 0}), nullptr);
}

TEST(RangeUsesTest, WhenItIsFullItBeginsAnew) {
  RangeUses uses(2);
  for (Address base : {100, 200, 300}) uses.Note({base, 10}, {1, 1, 0});
  EXPECT_EQ(uses.Find({100, 10}), nullptr);
  EXPECT_NE(uses.Find({300, 10}), nullptr);
}

TEST(RangeUsesTest, LikeATableOfBytes) {
  constexpr uint64_t kBytes = 64;
  std::mt19937 random(7);
  RangeUses uses;
  std::vector<uint32_t> table(kBytes, 0);  // functions count up, so the largest is the latest
  for (uint32_t function = 1; function <= 2000; ++function) {
    const Address base = random() % kBytes;
    const uint64_t bytes = random() % (kBytes - base) + 1;
    uses.Note({base, bytes}, {function, 0, 0});
    for (Address at = base; at < base + bytes; ++at) table[at] = function;
    const Address asked = random() % kBytes;
    const uint64_t asked_bytes = random() % (kBytes - asked) + 1;
    uint32_t expected = 0;
    for (Address at = asked; at < asked + asked_bytes; ++at) {
      expected = std::max(expected, table[at]);
    }
    ASSERT_EQ(FunctionAt(uses, {asked, asked_bytes}), expected) << "after " << function;
  }
}

}  // namespace
}  // namespace graphtree
