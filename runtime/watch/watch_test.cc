// The list of programs, of which some were removed.
#include "runtime/watch/watch.h"

#include <memory>
#include <string>

#include "gtest/gtest.h"

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

}  // namespace
}  // namespace graphtree
