// The published known answers of Philox, and the floats that its words are made into.
#include "graphs/random/philox.h"

#include <array>
#include <set>

#include "gtest/gtest.h"

namespace graphtree {
namespace {

std::array<uint32_t, 4> Words(RandomBlock block) {
  return {block.word[0], block.word[1], block.word[2], block.word[3]};
}

using Four = std::array<uint32_t, 4>;

TEST(PhiloxTest, KnownAnswers) {
  EXPECT_EQ(Words(Philox({{0, 0, 0, 0}}, 0, 0)),
            (Four{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const uint32_t ones = 0xffffffff;
  EXPECT_EQ(Words(Philox({{ones, ones, ones, ones}}, ones, ones)),
            (Four{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  const RandomBlock pi = {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}};
  EXPECT_EQ(Words(Philox(pi, 0xa4093822, 0x299f31d0)),
            (Four{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(PhiloxTest, APositionIsAWordOfItsBlock) {
  for (uint64_t position : {uint64_t{0}, uint64_t{7}, uint64_t{1} << 40}) {
    EXPECT_EQ(RandomWord(5, position), RandomWords(5, position / 4).word[position % 4]);
  }
}

TEST(PhiloxTest, SeedsAndPositionsTellApartInAllTheirBits) {
  std::set<uint32_t> words;
  for (int bit = 0; bit < 64; ++bit) {
    words.insert(RandomWord(uint64_t{1} << bit, 0));
    if (bit > 1) words.insert(RandomWord(0, uint64_t{1} << bit));
  }
  EXPECT_EQ(words.size(), 64u + 62u);
}

TEST(PhiloxTest, UniformFloatsAreInTheHalfOpenUnitInterval) {
  EXPECT_EQ(UniformFloat(0), 0.0f);
  EXPECT_LT(UniformFloat(0xffffffff), 1.0f);
  double sum = 0;
  for (uint64_t i = 0; i < 100000; ++i) sum += UniformFloat(RandomWord(1, i));
  EXPECT_NEAR(sum / 100000, 0.5, 0.005);
}

}  // namespace
}  // namespace graphtree
