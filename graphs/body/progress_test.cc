// Where a body has come to, in words.
#include "graphs/body/progress.h"

#include "gtest/gtest.h"

namespace graphtree {
namespace {

TEST(BodyProgressTest, PassedOpsAreCountedAndTheLastIsNamed) {
  BodyProgress progress;
  EXPECT_EQ(progress.Place(), "before the first op of its body");
  progress.Passed("norm");
  progress.Passed("attend");
  EXPECT_EQ(progress.ops(), 2u);
  EXPECT_EQ(progress.Place(), "after op 2 of its body ('attend')");
}

TEST(BodyProgressTest, AnOpThatCannotBeLaunchedIsNamed) {
  BodyProgress progress;
  progress.Passed("norm");
  progress.FailAt("attend", absl::InternalError("no"));
  EXPECT_FALSE(progress.ok());
  EXPECT_EQ(progress.ops(), 1u);
  EXPECT_EQ(progress.Place(), "at op 2 of its body ('attend')");
}

TEST(BodyProgressTest, TheFirstErrorStays) {
  BodyProgress progress;
  progress.Fail(absl::OkStatus());
  EXPECT_TRUE(progress.ok());
  progress.Fail(absl::InternalError("first"));
  progress.Fail(absl::InternalError("second"));
  progress.FailAt("attend", absl::InternalError("third"));
  EXPECT_EQ(progress.status(), absl::InternalError("first"));
  EXPECT_EQ(progress.Place(), "before the first op of its body") << "no op has failed";
}

}  // namespace
}  // namespace graphtree
