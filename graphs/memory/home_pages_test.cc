// Which pages are learned, which go for them, and when all are forgotten.
#include "graphs/memory/home_pages.h"

#include "gtest/gtest.h"

namespace graphtree {
namespace {

constexpr uint64_t kPage = 1 << 16;

TEST(HomePagesTest, KnowsThePageOfWhatItLearned) {
  HomePages pages(kPage);
  EXPECT_FALSE(pages.Knows(0));
  pages.Learn(5 * kPage + 7);
  EXPECT_TRUE(pages.Knows(5 * kPage));
  EXPECT_TRUE(pages.Knows(6 * kPage - 1));
  EXPECT_FALSE(pages.Knows(5 * kPage - 1));
  EXPECT_FALSE(pages.Knows(6 * kPage));
  pages.Learn(0);
  EXPECT_TRUE(pages.Knows(0));
}

TEST(HomePagesTest, OnlyTheOldestGiveWay) {
  constexpr uint64_t kPages = 5000;
  HomePages pages(kPage);
  for (uint64_t page = 0; page < kPages; ++page) {
    pages.Learn(page * kPage);
    // Each set keeps its last four pages, so many pages before this one are still there.
    EXPECT_TRUE(pages.Knows(page * kPage));
  }
  uint64_t known = 0;
  for (uint64_t page = 0; page < kPages; ++page) known += pages.Knows(page * kPage) ? 1 : 0;
  EXPECT_EQ(known, 1024u);
  for (uint64_t page = kPages - 256; page < kPages; ++page) {
    EXPECT_TRUE(pages.Knows(page * kPage)) << page;
  }
}

TEST(HomePagesTest, ForgetsWhenAddressesMayHaveChangedHands) {
  HomePages pages(kPage);
  pages.Learn(kPage);
  pages.ForgetIfAnyMoved();
  EXPECT_TRUE(pages.Knows(kPage));
  AddressHome home("a", false);
  home.Reserved({kPage, kPage});
  pages.ForgetIfAnyMoved();
  EXPECT_FALSE(pages.Knows(kPage));
  pages.Learn(kPage);
  home.Released({kPage, kPage});
  pages.ForgetIfAnyMoved();
  EXPECT_FALSE(pages.Knows(kPage));
}

}  // namespace
}  // namespace graphtree
