// The doctor on the host device, where every mode works, and on what is no device.
#include "tools/verbs/profile_doctor.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/cli/registry.h"
#include "tools/cli/run_verbs.h"
#include "tools/cli/verb.h"

namespace graphtree {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

cli::Outcome RunDoctor(std::vector<std::string> args) {
  cli::Registry registry;
  registry.Add(ProfileDoctorVerb());
  args.insert(args.begin(), {"profile", "doctor"});
  return cli::RunVerbs(registry, args);
}

TEST(ProfileDoctorTest, EachModeIsTriedOnTheHostDevice) {
  const cli::Outcome outcome = RunDoctor({"--device", "host"});
  EXPECT_EQ(outcome.code, cli::kFine) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("host    works: 8 launches\n"));
  EXPECT_THAT(outcome.out, HasSubstr("light   works: 8 launches, each with its time\n"));
  EXPECT_THAT(outcome.out, HasSubstr("full    works: 8 launches, 32 ops by name\n"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("to do")));
}

TEST(ProfileDoctorTest, JsonSaysTheSame) {
  const cli::Outcome outcome = RunDoctor({"--device", "host", "--json"});
  EXPECT_EQ(outcome.code, cli::kFine);
  EXPECT_THAT(outcome.out, HasSubstr("\"mode\":\"full\",\"works\":true"));
  EXPECT_THAT(outcome.out, HasSubstr("\"cure\":\"\""));
}

TEST(ProfileDoctorTest, WhatIsNoDeviceIsTold) {
  const cli::Outcome outcome = RunDoctor({"--device", "tpu"});
  EXPECT_EQ(outcome.code, cli::kBadInput);
  EXPECT_THAT(outcome.err, HasSubstr("tpu"));
}

}  // namespace
}  // namespace graphtree
