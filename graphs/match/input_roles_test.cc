// Which role each kind of input gets, or why it is refused.
#include "graphs/match/input_roles.h"

#include "gtest/gtest.h"

namespace graphtree {
namespace {

constexpr uint64_t kPatchBytes = 1000;

class InputRolesTest : public testing::Test {
 protected:
  InputRole Role(Moving moving = Moving::kPatch) {
    return ChooseRole(facts_, {moving, kPatchBytes}).role;
  }
  RoleObstacle Obstacle(Moving moving = Moving::kPatch) {
    return ChooseRole(facts_, {moving, kPatchBytes}).obstacle;
  }

  InputFacts facts_ = {.role = InputRole::kCopied, .bytes = 999, .known = true, .use = {.ops = 1}};
};

TEST_F(InputRolesTest, ACallersInputIsCopiedUntilItIsLargeForItsOps) {
  EXPECT_EQ(Role(), InputRole::kCopied);
  facts_.bytes = 1000;
  EXPECT_EQ(Role(), InputRole::kPatched);
  EXPECT_EQ(Role(Moving::kEager), InputRole::kPatched);
  EXPECT_EQ(Role(Moving::kCopy), InputRole::kCopied);
  facts_.use.ops = 4;
  EXPECT_EQ(Role(), InputRole::kCopied);
  facts_.bytes = 4000;
  EXPECT_EQ(Role(), InputRole::kPatched);
  facts_.known = false;
  EXPECT_EQ(Role(), InputRole::kCopied) << "before its first run nothing is known";
}

TEST_F(InputRolesTest, WhatALibraryTakesIsSought) {
  facts_.use.opaque = true;
  EXPECT_EQ(Role(), InputRole::kCopied) << "small";
  facts_.bytes = 1 << 30;
  EXPECT_EQ(Role(), InputRole::kPatched);
  EXPECT_TRUE(ChooseRole(facts_, {Moving::kPatch, kPatchBytes}).sought);
  facts_.use.opaque = false;
  EXPECT_FALSE(ChooseRole(facts_, {Moving::kPatch, kPatchBytes}).sought);
}

TEST_F(InputRolesTest, WhatWasNotFoundIsNeverPatched) {
  facts_.bytes = 1 << 30;
  facts_.use = {.ops = 1, .hidden = true};
  EXPECT_EQ(Role(), InputRole::kCopied);
}

TEST_F(InputRolesTest, AWrittenInputIsPatchedOrRefused) {
  facts_.written = true;
  EXPECT_EQ(Role(), InputRole::kPatched);
  EXPECT_EQ(Obstacle(), RoleObstacle::kNone);
  EXPECT_EQ(Obstacle(Moving::kCopy), RoleObstacle::kWritten);
  facts_.use.opaque = true;
  EXPECT_EQ(Role(), InputRole::kPatched);
  facts_.use.hidden = true;
  EXPECT_EQ(Obstacle(), RoleObstacle::kWritten);
}

TEST_F(InputRolesTest, APinnedInputStaysUntilItMoves) {
  for (const InputRole pinned : {InputRole::kStatic, InputRole::kManaged}) {
    facts_ = {.role = pinned, .bytes = 1, .known = true, .use = {.ops = 1}};
    EXPECT_EQ(Role(), pinned);
    facts_.moved = true;
    EXPECT_EQ(Role(), InputRole::kPatched);
    EXPECT_EQ(Role(Moving::kCopy), InputRole::kCopied);
    EXPECT_EQ(Obstacle(Moving::kEager), RoleObstacle::kMoves);
    facts_.use.ops = 3;
    EXPECT_EQ(Role(), InputRole::kCopied) << "three patches for one byte";
    facts_.use.hidden = true;
    facts_.use.ops = 1;
    EXPECT_EQ(Role(), InputRole::kCopied);
    facts_.written = true;
    EXPECT_EQ(Role(), pinned) << "a copy would take the write";
    EXPECT_EQ(Obstacle(), RoleObstacle::kNone);
  }
}

TEST_F(InputRolesTest, AMisalignedInputIsCopied) {
  facts_ = {.role = InputRole::kStatic, .bytes = 1 << 30, .known = true, .aligned = false};
  EXPECT_EQ(Role(), InputRole::kCopied);
  EXPECT_EQ(Obstacle(), RoleObstacle::kNone);
  facts_.written = true;
  EXPECT_EQ(Obstacle(), RoleObstacle::kWritten);
}

TEST_F(InputRolesTest, IntegersAndNothingsStayWhatTheyAre) {
  for (const InputRole role : {InputRole::kInteger, InputRole::kNone}) {
    facts_ = {.role = role, .moved = true};
    EXPECT_EQ(Role(Moving::kEager), role);
    EXPECT_EQ(Obstacle(Moving::kEager), RoleObstacle::kNone);
  }
}

TEST_F(InputRolesTest, APatchedInputPromisesNoMoreAlignmentThanItHas) {
  EXPECT_EQ(PatchAlignment(0x1000, 1), 16u);
  EXPECT_EQ(PatchAlignment(0x1000, 128), 128u);
  EXPECT_EQ(PatchAlignment(0x1040, 128), 64u);
  EXPECT_EQ(PatchAlignment(0x1004, 1), 4u);
  EXPECT_EQ(PatchAlignment(0x1001, 1), 1u);
  EXPECT_EQ(PatchAlignment(0, 1), 16u);
}

}  // namespace
}  // namespace graphtree
