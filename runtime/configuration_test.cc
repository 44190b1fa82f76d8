// Every setting read and written back, where it came from, and what is refused in which words.
#include "runtime/configuration.h"

#include <cstdlib>

#include "device/base/status_matchers.h"
#include "gmock/gmock.h"

namespace graphtree {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// What the options are under these variables; fails the test if they are refused.
RuntimeOptions Read(const Environment& environment, RuntimeOptions options = {}) {
  absl::StatusOr<RuntimeOptions> read = WithEnvironment(std::move(options), environment);
  EXPECT_THAT(read, IsOk());
  return read.ok() ? *std::move(read) : RuntimeOptions();
}
std::string Refused(const std::string& name, const std::string& value) {
  const absl::StatusOr<RuntimeOptions> read = WithEnvironment({}, {{name, value}});
  EXPECT_EQ(read.status().code(), absl::StatusCode::kInvalidArgument) << name << "=" << value;
  return std::string(read.status().message());
}
Setting Find(const std::vector<Setting>& settings, const std::string& name) {
  for (const Setting& setting : settings) {
    if (setting.name == name) return setting;
  }
  ADD_FAILURE() << name;
  return {};
}

TEST(ConfigurationTest, TheEnvironmentIsOverTheStruct) {
  RuntimeOptions program;
  program.pool_bytes = 5;
  program.tree.budget.nodes = 7;
  const RuntimeOptions options =
      Read({{"GRAPHTREE_MODE", "strict"}, {"GRAPHTREE_POOL_BYTES", "2G"}, {"HOME", "/"}}, program);
  EXPECT_EQ(options.serving.serving, Serving::kStrict);
  EXPECT_EQ(options.pool_bytes, uint64_t{2} << 30);
  EXPECT_EQ(options.tree.budget.nodes, 7u);
  const std::vector<Setting> settings = SettingsOf(options, options.serving);
  EXPECT_EQ(Find(settings, "GRAPHTREE_MODE").from, SettingFrom::kEnvironment);
  EXPECT_EQ(Find(settings, "GRAPHTREE_MOST_GRAPHS").from, SettingFrom::kProgram);
  EXPECT_EQ(Find(settings, "GRAPHTREE_MOST_GRAPHS").value, "7");
  EXPECT_EQ(Find(settings, "GRAPHTREE_CHECK").from, SettingFrom::kDefault);
  EXPECT_THAT(ToString(settings), HasSubstr("GRAPHTREE_POOL_BYTES"));
  const std::vector<Setting> later = SettingsOf(options, {.serving = Serving::kOff});
  EXPECT_EQ(Find(later, "GRAPHTREE_MODE").from, SettingFrom::kSetServing);
  EXPECT_EQ(Find(later, "GRAPHTREE_MODE").value, "off");
}

// What is written is read back as it was, for every setting and a value that is not its default.
TEST(ConfigurationTest, EverySettingIsReadAndWritten) {
  for (const Setting& setting : SettingsOf({}, {})) {
    SCOPED_TRACE(setting.name);
    EXPECT_FALSE(setting.help.empty());
    const bool is_mode = setting.name == "GRAPHTREE_MODE";
    const bool is_switch = setting.value == "on" || setting.value == "off";
    const std::string other = is_mode     ? "strict"
                              : is_switch ? (setting.value == "on" ? "off" : "on")
                                          : "31";
    const RuntimeOptions options = Read({{setting.name, other}});
    const std::vector<Setting> settings = SettingsOf(options, options.serving);
    EXPECT_EQ(Find(settings, setting.name).value, other);
    for (const Setting& one : settings) {
      EXPECT_EQ(one.from, one.name == setting.name ? SettingFrom::kEnvironment
                                                   : SettingFrom::kDefault)
          << one.name;
    }
  }
}

TEST(ConfigurationTest, UnknownKeysAreErrorsWithTheNearestName) {
  EXPECT_THAT(Refused("GRAPHTREE_MOD", "off"),
              AllOf(HasSubstr("GRAPHTREE_MOD,"), HasSubstr("the nearest is GRAPHTREE_MODE")));
  EXPECT_THAT(Refused("GRAPHTREE_POOLBYTES", "1"), HasSubstr("nearest is GRAPHTREE_POOL_BYTES"));
  EXPECT_THAT(Refused("GRAPHTREE_", ""), HasSubstr("no such setting"));
}

// A shell in which a tool of the project is set up starts servers, too.
TEST(ConfigurationTest, WhatToolsReadIsLeftAlone) {
  for (const char* name : {"GRAPHTREE_NVRTC", "GRAPHTREE_SEED", "GRAPHTREE_CUPTI",
                           "GRAPHTREE_CUPTI_TEARDOWN", "GRAPHTREE_CUPTI_REINIT",
                           "GRAPHTREE_LIBRARY", "GRAPHTREE_COMMAND", "GRAPHTREE_FUZZ_CALLS"}) {
    const absl::StatusOr<RuntimeOptions> options = WithEnvironment({}, {{name, "0"}});
    ASSERT_THAT(options, IsOk()) << name;
    EXPECT_TRUE(options->from_environment.empty()) << name;
  }
}

TEST(ConfigurationTest, BadValuesAreErrorsInWords) {
  EXPECT_THAT(Refused("GRAPHTREE_MODE", "Replay"),
              AllOf(HasSubstr("GRAPHTREE_MODE=\"Replay\""),
                    HasSubstr("off, shadow, replay or strict")));
  EXPECT_THAT(Refused("GRAPHTREE_CHECK", "maybe"), HasSubstr("on or off"));
  for (const char* bytes : {"", "G", "-1", "1.5G", "8T", "8GB", "99999999999G", " 1", "+1"}) {
    EXPECT_THAT(Refused("GRAPHTREE_POOL_BYTES", bytes), HasSubstr("512M"));
  }
  for (const char* number : {"", "x", "-3", "1e3", "99999999999999999999"}) {
    EXPECT_THAT(Refused("GRAPHTREE_MOST_GRAPHS", number), HasSubstr("whole number"));
  }
  EXPECT_THAT(Refused("GRAPHTREE_PARITY_EVERY", "4294967296"), HasSubstr("2 to the 32nd"));
  for (const char* real : {"nan", "inf", "-0.1", "close"}) {
    EXPECT_THAT(Refused("GRAPHTREE_PARITY_RELATIVE", real), HasSubstr("not negative"));
  }
  const absl::StatusOr<RuntimeOptions> both = WithEnvironment(
      {}, {{"GRAPHTREE_MODE", "off"}, {"GRAPHTREE_PARITY_EVERY", "5"}});
  EXPECT_THAT(both.status().message(), HasSubstr("nothing is replayed"));
}

TEST(ConfigurationTest, OfTheProcess) {
  ASSERT_EQ(setenv("GRAPHTREE_MODE", "shadow", 1), 0);
  bool is_there = false;
  for (const auto& [name, value] : ProcessEnvironment()) {
    EXPECT_EQ(name.substr(0, 10), "GRAPHTREE_");
    is_there |= name == "GRAPHTREE_MODE" && value == "shadow";
  }
  EXPECT_TRUE(is_there);
  unsetenv("GRAPHTREE_MODE");
}

}  // namespace
}  // namespace graphtree
