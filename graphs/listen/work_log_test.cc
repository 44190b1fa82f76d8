// Work is reported as missing only where all captured ops are known.
#include "graphs/listen/work_log.h"

#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "graphs/inputs/access_log.h"
#include "graphs/layout.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

using Kind = MissingWork::Kind;
using testing::HasSubstr;

constexpr AddressRange kInput = {0x1000, 64};
constexpr AddressRange kOther = {0x2000, 64};

class WorkLogTest : public testing::Test {
 protected:
  static Tensor At(AddressRange range) {
    return Tensor::Foreign(range.base, Layout::Of(DType::kU8, {int64_t(range.bytes)}));
  }
  // Tells the log of an op that the launcher captures.
  void FillOf(AddressRange range) {
    log_.Accessed(Access::kWrite, At(range), 0);
    log_.Filled({range.base, 1, 1, range.bytes});
  }
  std::optional<MissingWork> MissingFor(AddressRange returned) {
    return log_.Missing({{5, {0, returned}}});
  }

  AccessLog end_{{}};
  WorkLog log_{&end_};
};

TEST_F(WorkLogTest, NothingIsMissingOfNothing) {
  log_.EndSection(0, 0);
  EXPECT_FALSE(MissingFor({}).has_value());
}

TEST_F(WorkLogTest, WhatIsSaidOrReturnedMustBeTaken) {
  log_.EndSection(0, 0);
  const std::optional<MissingWork> returned = MissingFor(kOther);
  ASSERT_TRUE(returned.has_value());
  EXPECT_EQ(returned->kind, Kind::kReturned);
  EXPECT_THAT(ToString(*returned), HasSubstr("its output 5 is memory that it made"));
  log_.Accessed(Access::kWrite, At(kOther), -1);
  const std::optional<MissingWork> said = MissingFor({});
  ASSERT_TRUE(said.has_value());
  EXPECT_EQ(said->kind, Kind::kSaid);
  EXPECT_THAT(ToString(*said), HasSubstr("writes to 64 bytes at 0x2000 (Launcher::Writes)"));
}

// The launcher captures an op that sets an event, and that op writes no memory.
TEST_F(WorkLogTest, AnEventIsAnOpThatTakesNothing) {
  log_.SetsEvent();
  log_.EndSection(1, 0);
  EXPECT_TRUE(MissingFor(kOther).has_value());
  log_.EndSection(1, 0);
  EXPECT_FALSE(MissingFor(kOther).has_value()) << "an op that is not the launcher's may be any";
}

// An op that reads memory is not taken for one that writes it.
TEST_F(WorkLogTest, AnOpThatReadsTakesNothing) {
  log_.Accessed(Access::kRead, At(kInput), 0);
  log_.Filled({kInput.base, 1, 1, 64});
  log_.EndSection(1, 0);
  EXPECT_TRUE(MissingFor(kInput).has_value());
  log_.Doubted(At(kInput));
  EXPECT_FALSE(MissingFor(kInput).has_value());
}

TEST_F(WorkLogTest, AnOpOfTheLauncherTakesWhatItNames) {
  FillOf(kInput);
  log_.Accessed(Access::kWrite, At(kInput), -1);
  log_.EndSection(1, 0);
  EXPECT_FALSE(MissingFor(kInput).has_value());
  EXPECT_TRUE(MissingFor(kOther).has_value());
}

TEST_F(WorkLogTest, AnOpaqueOpMayBeAnyWork) {
  FillOf(kInput);
  log_.EndSection(3, 1);  // the fill, one of the recorder's own, and one of nobody's
  EXPECT_FALSE(MissingFor(kOther).has_value());
}

TEST_F(WorkLogTest, TheRecordersOwnOpsAreNoWork) {
  FillOf(kInput);
  log_.EndSection(3, 2);
  EXPECT_TRUE(MissingFor(kOther).has_value());
}

TEST_F(WorkLogTest, SectionsAreCountedApart) {
  FillOf(kInput);
  log_.EndSection(1, 0);
  log_.EndSection(1, 0);  // the launcher launched no op of this section
  EXPECT_FALSE(MissingFor(kOther).has_value());
}

TEST_F(WorkLogTest, APartMayBeAnyWork) {
  log_.Broke("part");
  log_.EndSection(0, 0);
  EXPECT_FALSE(MissingFor(kOther).has_value());
}

TEST_F(WorkLogTest, CopiesAndFillsOfNothingCaptureNothing) {
  log_.Filled({0x1000, 1, 1, 0});
  log_.Copied({0x1000, 0x2000, 0});
  log_.EndSection(1, 0);
  EXPECT_FALSE(MissingFor(kOther).has_value());
}

TEST_F(WorkLogTest, MemoryOfAnotherStorageIsNotTheInput) {
  FillOf(kInput);
  log_.EndSection(1, 0);
  EXPECT_FALSE(log_.Missing({{0, {7, kInput}}}).has_value()) << "a fill of foreign memory";
}

}  // namespace
}  // namespace graphtree
