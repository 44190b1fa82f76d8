// Profiles through the C interface: what is in the file, and what is an error.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "runtime/c/test_tree.h"

namespace graphtree::c {
namespace {

using ::testing::HasSubstr;

size_t CountOf(const std::string& text, const std::string& word) {
  size_t count = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

class ProfileCTest : public TreeCTest {
 protected:
  ProfileCTest() { add_ = Register("add three", AddThree); }

  gt_profile_options OptionsOf(gt_profile_mode mode) {
    gt_profile_options options = GT_INIT(gt_profile_options);
    options.path = path_.c_str();
    options.mode = mode;
    return options;
  }
  gt_profile Start(const gt_profile_options& options) {
    gt_profile profile = nullptr;
    EXPECT_FINE(gt_profile_start(device(), &options, &profile));
    return profile;
  }
  gt_profile_report Stop(gt_profile profile) {
    gt_profile_report report = GT_INIT(gt_profile_report);
    EXPECT_FINE(gt_profile_stop(profile, &report));
    return report;
  }
  void Steps(int steps) {
    for (int step = 0; step < steps; ++step) {
      EXPECT_FINE(gt_tree_begin_step(tree()));
      const gt_value out = Call(add_, {x_});
      EXPECT_EQ(Read(out), std::vector<int32_t>(kCount, 4));
      EXPECT_FINE(gt_release(out.storage));
    }
  }
  std::string Written() const {
    std::ifstream file(path_);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  void ExpectRefused(const gt_profile_options& options, gt_code code, const std::string& text) {
    gt_profile profile = nullptr;
    EXPECT_FAILS(gt_profile_start(device(), &options, &profile), code, text);
    EXPECT_EQ(profile, nullptr);
  }

  const std::string path_ = ::testing::TempDir() + "/profile_" + std::to_string(getpid()) + ".json";

 private:
  gt_function add_ = nullptr;
  const gt_value x_ = Words(1);
};

TEST_F(ProfileCTest, EachLaunchOfAProfileIsInItsFile) {
  Steps(3);
  const gt_profile profile = Start(OptionsOf(GT_PROFILE_HOST));
  Steps(5);
  const gt_profile_report report = Stop(profile);
  EXPECT_EQ(report.mode, GT_PROFILE_HOST);
  EXPECT_EQ(report.is_running, 0);
  EXPECT_GE(report.launches, 5u);
  EXPECT_EQ(report.dropped, 0u);
  EXPECT_EQ(CountOf(Written(), "cudaGraphLaunch add three"), 5u);
  EXPECT_FINE(gt_release(profile));
  std::remove(path_.c_str());
}

// Where a GPU's ops cannot be had, the profile says so.
TEST_F(ProfileCTest, AFullOneHasEachOpUnderItsNameAndScope) {
  const gt_function scoped = Register("scoped", [&](gt_launcher on) -> gt_error {
    EXPECT_FINE(gt_launcher_push_scope(on, "layer 3"));
    const gt_error error = Add(on, 1);
    EXPECT_FINE(gt_launcher_pop_scope(on));
    return error;
  });
  EXPECT_FINE(gt_tree_push_scope(tree(), "decode"));
  const gt_value x = Words(1);
  const gt_profile profile = Start(OptionsOf(GT_PROFILE_FULL));
  for (int step = 0; step < 4; ++step) {
    EXPECT_FINE(gt_tree_begin_step(tree()));
    EXPECT_FINE(gt_release(Call(scoped, {x}).storage));
  }
  EXPECT_FINE(gt_stream_synchronize(stream()));
  const gt_profile_report report = Stop(profile);
  EXPECT_FINE(gt_tree_pop_scope(tree()));
  gt_text why = nullptr;
  EXPECT_FINE(gt_profile_describe(profile, GT_PROFILE_WHY_NOT_FULL, &why));
  const std::string words = WordsOf(why);
  EXPECT_FINE(gt_release(profile));
  EXPECT_EQ(words == "", report.mode == GT_PROFILE_FULL);
  if (report.mode != GT_PROFILE_FULL) GTEST_SKIP() << words;
  EXPECT_EQ(report.mismatched, 0u);
  EXPECT_GE(report.ops, 3u);
  EXPECT_EQ(CountOf(Written(), "cudaGraphLaunch scoped"), 3u);
  EXPECT_THAT(Written(), HasSubstr("layer 3;decode"));
}

TEST_F(ProfileCTest, ReportsAreReadBeforeAndAfterTheEnd) {
  gt_profile_options options = OptionsOf(GT_PROFILE_LIGHT);
  options.light_in = 1;
  const gt_profile profile = Start(options);
  gt_profile_report report = GT_INIT(gt_profile_report);
  EXPECT_FINE(gt_profile_look(profile, &report));
  EXPECT_EQ(report.is_running, 1);
  gt_text text = nullptr;
  EXPECT_FAILS(gt_profile_describe(profile, GT_PROFILE_WHY_NOT_FULL, &text),
               GT_FAILED_PRECONDITION, "still runs");
  Steps(4);
  EXPECT_FINE(gt_profile_stop(profile, nullptr));
  EXPECT_FINE(gt_profile_look(profile, &report));
  EXPECT_EQ(report.is_running, 0);
  EXPECT_GE(report.launches, 3u);
  const gt_profile_report again = Stop(profile);
  EXPECT_EQ(again.launches, report.launches);
  EXPECT_EQ(again.ops, report.ops);
  ASSERT_FINE(gt_profile_describe(profile, GT_PROFILE_WHY_NOT_FULL, &text));
  EXPECT_EQ(WordsOf(text), "");
  ASSERT_FINE(gt_profile_describe(profile, GT_PROFILE_REMARKS, &text));
  EXPECT_FINE(gt_release(text));
  EXPECT_FAILS(gt_profile_describe(profile, 4, &text), GT_INVALID_ARGUMENT, "text 4");
  EXPECT_FINE(gt_release(profile));
}

TEST_F(ProfileCTest, AWindowIsOverAfterItsReplays) {
  Steps(3);
  gt_profile_options options = OptionsOf(GT_PROFILE_HOST);
  options.most_replays = 2;
  const gt_profile profile = Start(options);
  int32_t over = 1;
  EXPECT_FINE(gt_profile_wait(profile, 0, &over));
  EXPECT_EQ(over, 0);
  Steps(3);
  EXPECT_FINE(gt_profile_wait(profile, UINT64_MAX, &over));
  EXPECT_EQ(over, 1);
  EXPECT_FINE(gt_release(profile));
}

TEST_F(ProfileCTest, AWindowOfTimeIsOverByItself) {
  gt_profile_options options = OptionsOf(GT_PROFILE_HOST);
  options.most_ms = 1;
  const gt_profile profile = Start(options);
  int32_t over = 0;
  EXPECT_FINE(gt_profile_wait(profile, UINT64_MAX, &over));
  EXPECT_EQ(over, 1);
  EXPECT_FINE(gt_profile_stop(profile, nullptr));
  EXPECT_FINE(gt_profile_wait(profile, 0, &over));
  EXPECT_EQ(over, 1);
  EXPECT_FINE(gt_release(profile));
}

TEST_F(ProfileCTest, ASecondProfileIsAnErrorAndLeavesTheFirstOnesFile) {
  Steps(2);
  const gt_profile profile = Start(OptionsOf(GT_PROFILE_HOST));
  ExpectRefused(OptionsOf(GT_PROFILE_HOST), GT_FAILED_PRECONDITION, "runs in this process already");
  Steps(3);
  Stop(profile);
  EXPECT_EQ(CountOf(Written(), "cudaGraphLaunch add three"), 3u);
  const gt_profile next = Start(OptionsOf(GT_PROFILE_HOST));
  EXPECT_FINE(gt_release(next));
  EXPECT_FINE(gt_release(profile));
}

TEST_F(ProfileCTest, WhatMakesNoSenseIsRefused) {
  gt_profile_options options = OptionsOf(GT_PROFILE_HOST);
  options.path = "trace.txt";
  ExpectRefused(options, GT_INVALID_ARGUMENT, ".pftrace");
  options.path = nullptr;
  ExpectRefused(options, GT_INVALID_ARGUMENT, "path is null");
  options.path = "/nowhere/at/all/trace.json";
  ExpectRefused(options, GT_UNAVAILABLE, "/nowhere/at/all");
  options = OptionsOf(3);
  ExpectRefused(options, GT_INVALID_ARGUMENT, "mode 3");
  options = OptionsOf(GT_PROFILE_HOST);
  options.most_replays = -1;
  ExpectRefused(options, GT_INVALID_ARGUMENT, "would show nothing");
  options = OptionsOf(GT_PROFILE_HOST);
  options.reserved = 1;
  ExpectRefused(options, GT_INVALID_ARGUMENT, "reserved");
  options = OptionsOf(GT_PROFILE_HOST);
  options.runtime = reinterpret_cast<gt_runtime>(tree());
  ExpectRefused(options, GT_BAD_HANDLE, "runtime is a tree");
  EXPECT_FAILS(gt_profile_start(device(), nullptr, nullptr), GT_INVALID_ARGUMENT, "path is null");
  EXPECT_FAILS(gt_profile_stop(nullptr, nullptr), GT_BAD_HANDLE, "profile is null");
}

TEST_F(ProfileCTest, ADeviceIsNotClosedBeforeItsProfileHasEnded) {
  gt_device other = nullptr;
  ASSERT_FINE(gt_device_open("host", nullptr, &other));
  gt_profile profile = nullptr;
  const gt_profile_options options = OptionsOf(GT_PROFILE_HOST);
  ASSERT_FINE(gt_profile_start(other, &options, &profile));
  EXPECT_FAILS(gt_release(other), GT_FAILED_PRECONDITION, "profiles left");
  EXPECT_FINE(gt_release(profile));
  EXPECT_FINE(gt_release(other));
}

TEST_F(ProfileCTest, OneThatBeginsOrEndsWithinAnObserversCallIsAnError) {
  struct Both {
    ProfileCTest* test;
    gt_profile profile;
    std::vector<std::string> said;
  } both = {this, Start(OptionsOf(GT_PROFILE_HOST)), {}};
  gt_observer observer = nullptr;
  ASSERT_FINE(gt_observe(
      tree(), nullptr,
      [](void* context, const gt_observed*) {
        auto& it = *static_cast<Both*>(context);
        it.said = {TextOf(gt_profile_stop(it.profile, nullptr)), TextOf(gt_release(it.profile))};
      },
      &both, nullptr, &observer));
  Steps(2);
  ASSERT_EQ(both.said.size(), 2u);
  for (const std::string& said : both.said) EXPECT_THAT(said, HasSubstr("within a call"));
  EXPECT_FINE(gt_release(observer));
  EXPECT_FINE(gt_release(both.profile));
}

TEST_F(ProfileCTest, FiguresNeedNoFile) {
  std::remove(path_.c_str());  // of an earlier test
  Steps(3);
  gt_profile_options options = OptionsOf(GT_PROFILE_FULL);
  options.path = nullptr;
  options.figures = 1;
  const gt_profile profile = Start(options);
  gt_text text = nullptr;
  ASSERT_FINE(gt_profile_describe(profile, GT_PROFILE_FIGURES_JSON, &text));
  EXPECT_EQ(WordsOf(text), "[]") << "nothing has run yet";
  Steps(5);
  EXPECT_FINE(gt_stream_synchronize(stream()));
  const gt_profile_report report = Stop(profile);
  EXPECT_EQ(report.lingers, 0);
  if (report.mode == GT_PROFILE_FULL) {
    ASSERT_FINE(gt_profile_describe(profile, GT_PROFILE_TABLE, &text));
    EXPECT_THAT(WordsOf(text), HasSubstr("of add three, node"));
    ASSERT_FINE(gt_profile_describe(profile, GT_PROFILE_FIGURES_JSON, &text));
    EXPECT_THAT(WordsOf(text), HasSubstr("{\"level\":\"function\",\"function\":\"add three\""));
  }
  EXPECT_FINE(gt_release(profile));
  EXPECT_NE(access(path_.c_str(), F_OK), 0) << "a file was made";
}

TEST_F(ProfileCTest, FiguresAndAFileAtOnce) {
  gt_profile_options options = OptionsOf(GT_PROFILE_HOST);
  const gt_profile without = Start(options);
  gt_text text = nullptr;
  EXPECT_FAILS(gt_profile_describe(without, GT_PROFILE_TABLE, &text), GT_FAILED_PRECONDITION,
               "without gt_profile_options.figures");
  EXPECT_FINE(gt_release(without));
  options.figures = 1;
  const gt_profile profile = Start(options);
  Steps(3);
  Stop(profile);
  ASSERT_FINE(gt_profile_describe(profile, GT_PROFILE_TABLE, &text));
  EXPECT_FINE(gt_release(text));
  EXPECT_FINE(gt_release(profile));
  EXPECT_EQ(CountOf(Written(), "cudaGraphLaunch add three"), 2u);
}

TEST_F(ProfileCTest, LabelsOfRequestsAreInTheFile) {
  const gt_profile profile = Start(OptionsOf(GT_PROFILE_HOST));
  EXPECT_FINE(gt_label_push("request 81"));
  EXPECT_FINE(gt_label_push("token 4"));
  Steps(1);
  EXPECT_FINE(gt_label_pop());
  EXPECT_FINE(gt_label_pop());
  EXPECT_FAILS(gt_label_pop(), GT_FAILED_PRECONDITION, "no label");
  EXPECT_FAILS(gt_label_push(nullptr), GT_INVALID_ARGUMENT, "label is null");
  EXPECT_FAILS(gt_label_push(""), GT_INVALID_ARGUMENT, "empty");
  Stop(profile);
  EXPECT_EQ(CountOf(Written(), "\"request 81\""), 1u);
  EXPECT_EQ(CountOf(Written(), "\"token 4\""), 1u);
  EXPECT_FINE(gt_release(profile));
}

TEST_F(ProfileCTest, NothingLingersWhereNobodyElseLaunches) {
  uint64_t lingering = 7;
  EXPECT_FINE(gt_cupti_leave(0, &lingering));
  EXPECT_EQ(lingering, 0u);
  EXPECT_FINE(gt_cupti_leave(1, nullptr));
}

TEST_F(ProfileCTest, AFileThatIsDeletedMeanwhileIsAnErrorOfTheEnd) {
  const gt_profile profile = Start(OptionsOf(GT_PROFILE_HOST));
  Steps(2);
  ASSERT_EQ(std::remove(path_.c_str()), 0);
  EXPECT_FAILS(gt_profile_stop(profile, nullptr), GT_UNAVAILABLE, "was deleted");
  EXPECT_FINE(gt_release(profile));
}

TEST_F(ProfileCTest, AForkedProcessIsTold) {
  const gt_profile profile = Start(OptionsOf(GT_PROFILE_FULL));
  const pid_t child = fork();
  if (child == 0) {
    int32_t over = 0;
    const bool said =
        TextOf(gt_profile_stop(profile, nullptr)).find("was forked") != std::string::npos &&
        TextOf(gt_profile_wait(profile, 1000, &over)).find("was forked") != std::string::npos &&
        gt_release(profile) == nullptr;
    _exit(said ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  Stop(profile);
  EXPECT_FINE(gt_release(profile));
}

TEST_F(ProfileCTest, ADiskThatIsFullIsAnErrorOfTheEnd) {
  if (access("/dev/full", W_OK) != 0) GTEST_SKIP() << "no /dev/full";
  const std::string full = path_ + ".full.json";
  ASSERT_EQ(symlink("/dev/full", full.c_str()), 0);
  gt_profile_options options = OptionsOf(GT_PROFILE_HOST);
  options.path = full.c_str();
  const gt_profile profile = Start(options);
  Steps(4);
  gt_profile_report report = GT_INIT(gt_profile_report);
  EXPECT_FAILS(gt_profile_stop(profile, &report), GT_UNAVAILABLE, full);
  EXPECT_EQ(report.launches, 0u) << "a function that fails sets nothing";
  EXPECT_FINE(gt_profile_look(profile, &report));
  EXPECT_GE(report.launches, 3u);
  EXPECT_FINE(gt_release(profile));
  std::remove(full.c_str());
}

}  // namespace
}  // namespace graphtree::c
