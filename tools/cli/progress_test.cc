// What a terminal is sent, and that nothing else gets anything.
#include "tools/cli/progress.h"

#include <sstream>

#include "gtest/gtest.h"

namespace graphtree::cli {
namespace {

TEST(ProgressTest, ALineIsWrittenOverAndGone) {
  std::ostringstream err;
  {
    ProgressLine progress(err, /*is_terminal=*/true);
    progress.Show("eager: 100 steps");
    progress.Show("tree: 2 steps");
    EXPECT_EQ(err.str(), "\reager: 100 steps\033[K\rtree: 2 steps\033[K");
    progress.Clear();
    progress.Clear();
  }
  EXPECT_EQ(err.str(), "\reager: 100 steps\033[K\rtree: 2 steps\033[K\r\033[K") << "once";
}

TEST(ProgressTest, WhereNothingWasShownNothingIsErased) {
  std::ostringstream err;
  { ProgressLine progress(err, /*is_terminal=*/true); }
  EXPECT_EQ(err.str(), "");
}

TEST(ProgressTest, AFileGetsNothing) {
  std::ostringstream err;
  {
    ProgressLine progress(err);
    progress.Show("eager: 20 steps");
  }
  EXPECT_EQ(err.str(), "");
  EXPECT_FALSE(IsTerminal(err));
}

}  // namespace
}  // namespace graphtree::cli
