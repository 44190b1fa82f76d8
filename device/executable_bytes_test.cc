// The table, and the lines between its rows.
#include "device/executable_bytes.h"

#include <cstdint>

#include "gtest/gtest.h"

namespace graphtree {
namespace {

TEST(ExecutableBytes, AreAsMeasuredWhereMeasured) {
  for (const MeasuredExecutable& one : kMeasuredExecutables) {
    EXPECT_EQ(ExecutableBytes(one.ops), one.kib << 10) << one.ops << " ops";
  }
}

TEST(ExecutableBytes, LieOnALineBetweenTwoMeasuredSizes) {
  EXPECT_EQ(ExecutableBytes(30), uint64_t{172} << 10);  // between 20 and 40
  EXPECT_EQ(ExecutableBytes(4000), 2 * ExecutableBytes(2000)) << "beyond the last";
}

TEST(ExecutableBytes, NeverShrinkWithMoreOps) {
  for (uint64_t ops = 0; ops < 5000; ++ops) {
    ASSERT_LE(ExecutableBytes(ops), ExecutableBytes(ops + 1)) << ops << " ops";
  }
}

}  // namespace
}  // namespace graphtree
