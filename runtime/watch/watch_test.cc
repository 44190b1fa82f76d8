// The list of programs, of which some were removed.
#include "runtime/watch/watch.h"

#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/watch/last_warnings.h"

namespace graphtree {
namespace {

TEST(WatchTest, OfProgramsThatWereRemovedItKnowsTheLastOnes) {
  Watch watch;
  watch.AddProgram(0, std::make_shared<ProgramWatch>("stays", 0, 0));
  for (uint32_t number = 1; number <= 1000; ++number) {
    watch.AddProgram(number, std::make_shared<ProgramWatch>(std::to_string(number), 0, 0));
    watch.RemoveProgram(number);
  }
  const std::vector<WatchedProgram> programs = watch.programs();
  ASSERT_EQ(programs.size(), 1 + Watch::kMostRemoved);
  EXPECT_EQ(programs[0].name, "stays");
  EXPECT_EQ(programs[1].name, std::to_string(1001 - Watch::kMostRemoved));
  EXPECT_EQ(programs.back().name, "1000");
}

TEST(LastWarningsTest, KeepsTheLastOnesEachOnce) {
  LastWarnings warnings;
  EXPECT_TRUE(warnings.get().empty());
  for (size_t i = 0; i < 3 * LastWarnings::kMost; ++i) {
    warnings.Add(std::to_string(i));
    warnings.Add("again and again");
  }
  const std::vector<std::string> last = warnings.get();
  ASSERT_EQ(last.size(), LastWarnings::kMost);
  EXPECT_EQ(last.back(), "again and again");
  EXPECT_EQ(last[0], std::to_string(2 * LastWarnings::kMost + 1));
  warnings.Add(std::string(LastWarnings::kMostBytes + 9, 'x'));
  EXPECT_EQ(warnings.get().back().size(), LastWarnings::kMostBytes);
}

}  // namespace
}  // namespace graphtree
