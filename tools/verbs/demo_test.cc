// The demo verb: it runs on the host device, and says no to a device that is not there.
#include "tools/verbs/demo.h"

#include <sstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/cli/registry.h"

namespace graphtree {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct Outcome {
  int code;
  std::string out;
  std::string err;
};

Outcome RunDemo(const std::vector<std::string>& args) {
  cli::Registry registry;
  registry.Add(DemoVerb());
  std::istringstream in;
  std::ostringstream out, err;
  const int code = registry.Run(args, {in, out, err});
  return {code, out.str(), err.str()};
}

TEST(DemoTest, ReplaysOnTheHostWithEqualBytes) {
  const Outcome outcome = RunDemo({"demo", "--device", "host"});
  EXPECT_EQ(outcome.code, cli::kFine) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("equal, all 12288 of them"));
  EXPECT_THAT(outcome.out, HasSubstr("100 launches"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("cuda")));
}

TEST(DemoTest, WithoutADeviceItRunsOnAllOfThemAndSaysWhichAreNotThere) {
  const Outcome outcome = RunDemo({"demo"});
  EXPECT_EQ(outcome.code, cli::kFine) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("  host"));
  EXPECT_THAT(outcome.out, HasSubstr("  cuda"));
}

TEST(DemoTest, JsonHasBothTimes) {
  const Outcome outcome = RunDemo({"demo", "--device=host", "--json"});
  EXPECT_EQ(outcome.code, cli::kFine) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr(R"("name":"host")"));
  EXPECT_THAT(outcome.out, HasSubstr(R"("eager":{"host_ns":)"));
  EXPECT_THAT(outcome.out, HasSubstr(R"("bytes_different":0)"));
}

TEST(DemoTest, ADeviceThatIsNotThereIsBadInput) {
  const Outcome outcome = RunDemo({"demo", "--device", "cuda:99"});
  EXPECT_EQ(outcome.code, cli::kBadInput);
  EXPECT_THAT(outcome.err, HasSubstr("cuda"));
  EXPECT_EQ(RunDemo({"demo", "--device", "tpu"}).code, cli::kBadInput);
}

}  // namespace
}  // namespace graphtree
