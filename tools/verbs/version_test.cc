// The version verb: both outputs say the same.
#include "tools/verbs/version.h"

#include <sstream>
#include <string>

#include "device/base/version.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/cli/registry.h"
#include "tools/cli/verb.h"

namespace graphtree {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

std::string Output(const std::vector<std::string>& args) {
  cli::Registry registry;
  registry.Add(VersionVerb());
  std::istringstream in;
  std::ostringstream out, err;
  EXPECT_EQ(registry.Run(args, {in, out, err}), cli::kFine) << err.str();
  return out.str();
}

TEST(VersionTest, TextStartsWithNameAndVersion) {
  const std::string text = Output({"version"});
  EXPECT_THAT(text, MatchesRegex("graphtree [0-9]+\\.[0-9]+\\.[0-9]+\n(.|\n)*"));
  EXPECT_THAT(text, HasSubstr("cuda:     "));
}

TEST(VersionTest, JsonHasTheSameVersionAndEitherAToolkitOrAReason) {
  const std::string json = Output({"version", "--json"});
  EXPECT_THAT(json, HasSubstr(std::string("\"version\":\"") + kVersion + "\""));
  const bool no_toolkit = json.find("\"cuda_toolkit\":null") != std::string::npos;
  const bool no_reason = json.find("\"cuda_missing\":null") != std::string::npos;
  EXPECT_NE(no_toolkit, no_reason) << json;
}

}  // namespace
}  // namespace graphtree
