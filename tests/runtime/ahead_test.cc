// Preparation of the next step on a side stream: used if it is right, and made anew if it is not.
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "runtime/ahead.h"
#include "tests/kernels/kernels.h"
#include "tests/kernels/launches.h"
#include "tests/runtime/runtime_fixture.h"

namespace graphtree {
namespace {

using testing::HasSubstr;

class AheadTest : public RuntimeTest {
 protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    ASSERT_OK_AND_ASSIGN(weights_, runtime().DeclareDep("weights"));
    ProgramOptions plan = DoubleOptions("plan");
    plan.lane = 1;
    plan.kept_outputs = {0};
    plan.deps = {weights_};
    ASSERT_OK_AND_ASSIGN(plan_, runtime().AddProgram(std::move(plan)));
    ASSERT_THAT(runtime().AddShapes(plan_, {{.tokens = 4}, {.tokens = 8}}), IsOk());
    main_ = AddDouble({4, 8}, "main");
  }

  std::vector<AheadRows> Rows(const Ids& ids) {
    return {{0, HostRows{ids.data(), DType::kI32, static_cast<int64_t>(ids.size())}}};
  }
  static Key KeyOf(const Ids& ids) { return {.tokens = static_cast<int32_t>(ids.size())}; }
  // Takes the plan of these ids and runs the main program on it: 4 * ids.
  void Serve(Ahead& ahead, const Ids& ids) {
    absl::StatusOr<Values> planned = ahead.Take(KeyOf(ids), Rows(ids), a());
    EXPECT_THAT(planned, IsOk());
    if (!planned.ok()) return;
    absl::StatusOr<Step> step = runtime().Begin(main_, KeyOf(ids), a());
    EXPECT_THAT(step, IsOk());
    EXPECT_THAT(step->Stage(0, Tensor::From((*planned)[0])), IsOk());
    planned->clear();
    Values outputs;
    EXPECT_THAT(step->Run(&outputs), IsOk());
    outputs_ = std::move(outputs);
  }
  Ids Served() { return ReadIds(outputs_[0]); }
  void TearDown() override {
    outputs_.clear();
    RuntimeTest::TearDown();
  }

  DepId weights_;
  ProgramId plan_;
  ProgramId main_;
  Values outputs_;
};
GRAPHTREE_ON_EVERY_DEVICE(AheadTest);

TEST_P(AheadTest, WhatWasPreparedServesTheStepItWasPreparedFor) {
  Ahead ahead(runtime(), plan_);
  Ids next = IdsFrom(1, 4);
  for (int32_t i = 0; i < 40; ++i) {
    const Ids ids = next;
    Serve(ahead, ids);
    next = IdsFrom(i, i % 3 == 0 ? 8 : 4);
    ASSERT_THAT(ahead.Prepare(KeyOf(next), Rows(next), b()), IsOk());
    if (i % 8 != 7) continue;
    EXPECT_EQ(Served(), Doubled(Doubled(ids, ids.size()), ids.size())) << i;
  }
  EXPECT_EQ(ahead.stats().prepared, 40u);
  EXPECT_EQ(ahead.stats().used, 39u);
  EXPECT_GT(Count(Why::kHit), 60u);
}

TEST_P(AheadTest, WhatWasPreparedForSomethingElseIsMadeAnew) {
  Ahead ahead(runtime(), plan_);
  for (int round = 0; round < 3; ++round) {
    const Ids ids = IdsFrom(round, 4);
    Ids other = ids;
    other[2] += 1;
    const Ids longer = IdsFrom(round, 8);
    ASSERT_THAT(ahead.Prepare(KeyOf(ids), Rows(ids), b()), IsOk());
    Serve(ahead, other);
    EXPECT_EQ(Served(), Doubled(Doubled(other, 4), 4));
    ASSERT_THAT(ahead.Prepare(KeyOf(ids), Rows(ids), b()), IsOk());
    Serve(ahead, longer);
    EXPECT_EQ(Served(), Doubled(Doubled(longer, 8), 8));
    ASSERT_THAT(ahead.Prepare(KeyOf(ids), Rows(ids), b()), IsOk());
    ASSERT_THAT(runtime().Touch(weights_), IsOk());
    Serve(ahead, ids);
    EXPECT_EQ(Served(), Doubled(Doubled(ids, 4), 4));
    Serve(ahead, ids);
    EXPECT_EQ(Served(), Doubled(Doubled(ids, 4), 4)) << "nothing was prepared";
  }
  EXPECT_EQ(ahead.stats().used, 0u);
  EXPECT_EQ(ahead.stats().other_rows, 3u);
  EXPECT_EQ(ahead.stats().other_key, 3u);
  EXPECT_EQ(ahead.stats().touched, 3u);
}

TEST_P(AheadTest, RowsThatCannotBeComparedAreRefused) {
  Ahead ahead(runtime(), plan_);
  const Ids ids = IdsFrom(1, 8);
  std::vector<AheadRows> rows = Rows(ids);
  rows[0].rows.rows = 4;
  rows[0].rows.row_stride = 2;
  EXPECT_THAT(ahead.Prepare({.tokens = 4}, rows, b()).message(), HasSubstr("no gaps"));
  rows = Rows(ids);
  rows[0].slot = 3;
  EXPECT_THAT(ahead.Prepare({.tokens = 8}, rows, b()).message(), HasSubstr("slot 3"));
  EXPECT_EQ(ahead.stats().prepared, 0u);
  Serve(ahead, ids);
  EXPECT_EQ(Served(), Doubled(Doubled(ids, 8), 8));
}

}  // namespace
}  // namespace graphtree
