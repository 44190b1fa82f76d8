// Times as people read them.
#include "profiler/stats/time_text.h"

#include "gtest/gtest.h"

namespace graphtree::trace {
namespace {

TEST(TimeTextTest, TimesHaveThreeDigits) {
  EXPECT_EQ(TimeText(0), "0 ns");
  EXPECT_EQ(TimeText(999), "999 ns");
  EXPECT_EQ(TimeText(1000), "1.00 us");
  EXPECT_EQ(TimeText(9994), "9.99 us");
  EXPECT_EQ(TimeText(9996), "10.0 us");
  EXPECT_EQ(TimeText(999'600), "1.00 ms");
  EXPECT_EQ(TimeText(12'345'678), "12.35 ms");
  EXPECT_EQ(TimeText(1.5e9), "1.500 s");
  EXPECT_EQ(TimeText(-1500), "-1.50 us");
}

}  // namespace
}  // namespace graphtree::trace
