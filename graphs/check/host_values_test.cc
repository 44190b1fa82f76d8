// Runs as a body would log them.
#include "graphs/check/host_values.h"

#include <optional>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace graphtree {
namespace {

using Launches = std::vector<LoggedLaunch>;

LoggedLaunch Op(std::string name, std::vector<std::string> values) {
  LoggedLaunch launch;
  launch.site.op = std::move(name);
  launch.values = std::move(values);
  return launch;
}

std::string Value(uint32_t value) { return std::string(reinterpret_cast<char*>(&value), 4); }

std::string Found(const Launches& before, const Launches& now) {
  const std::optional<HostValue> found = FindHostValue(before, now);
  return found.has_value() ? found->text : "nothing";
}

TEST(HostValuesTest, EqualRunsDifferInNothing) {
  const Launches run = {Op("plan", {"", Value(3)}), Op("attend", {"", ""})};
  EXPECT_EQ(Found(run, run), "nothing");
  EXPECT_EQ(Found({}, {}), "nothing");
}

TEST(HostValuesTest, TheFirstValueThatDiffersIsNamed) {
  EXPECT_EQ(Found({Op("bring", {""}), Op("plan", {"", Value(3)}), Op("plan", {"", Value(1)})},
                  {Op("bring", {""}), Op("plan", {"", Value(5)}), Op("plan", {"", Value(2)})}),
            "op 2 ('plan') was given 3 as argument 1, and 5 now");
}

TEST(HostValuesTest, LargeValuesAreToldByTheirFirstBytes) {
  const std::string zeros(20, '\0');
  std::string other = zeros;
  other[1] = '\x7f';
  EXPECT_EQ(Found({Op("table", {zeros})}, {Op("table", {other})}),
            "op 1 ('table') was given 20 bytes 0x00000000000000000000000000000000... as argument "
            "0, and 20 bytes 0x007f0000000000000000000000000000... now");
}

TEST(HostValuesTest, OtherOpsAndOtherNumbersOfOpsAreFound) {
  EXPECT_EQ(Found({Op("small", {})}, {Op("large", {})}), "op 1 was 'small', and is 'large' now");
  EXPECT_EQ(Found({Op("one", {})}, {Op("one", {}), Op("two", {})}),
            "it launched 1 ops, and 2 now");
  EXPECT_EQ(Found({Op("one", {}), Op("two", {})}, {Op("one", {})}),
            "it launched 2 ops, and 1 now");
}

TEST(HostValuesTest, AnotherGridIsFound) {
  LoggedLaunch wide = Op("plan", {});
  wide.grid_and_block = {8, 1, 1, 128, 1, 1};
  LoggedLaunch narrow = wide;
  narrow.grid_and_block[0] = 4;
  EXPECT_EQ(Found({wide}, {narrow}), "op 1 ('plan') was launched with another grid or block");
}

}  // namespace
}  // namespace graphtree
