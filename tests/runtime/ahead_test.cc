// Preparation of the next step on a side stream: used if it is right, and made anew if it is not.
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "gmock/gmock.h"
#include "runtime/ahead.h"
#include "tests/kernels/kernels.h"
#include "tests/kernels/launches.h"
#include "tests/runtime/runtime_fixture.h"

namespace graphtree {
namespace {

using testing::AllOf;
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

// The capture is its owner's, and what was prepared is for the step after it.
TEST_P(AheadTest, AStreamThatCapturesTakesNothing) {
  Ahead ahead(runtime(), plan_);
  const Ids ids = IdsFrom(3, 4);
  ASSERT_THAT(ahead.Prepare(KeyOf(ids), Rows(ids), b()), IsOk());
  ASSERT_THAT(a().BeginCapture(CaptureMode::kThreadLocal), IsOk());
  EXPECT_THAT(std::string(ahead.Take(KeyOf(ids), Rows(ids), a()).status().message()),
              AllOf(HasSubstr("Ahead::Take"), HasSubstr("captures")));
  EXPECT_THAT(std::string(ahead.Prepare(KeyOf(ids), Rows(ids), a()).message()),
              AllOf(HasSubstr("Ahead::Prepare"), HasSubstr("captures")));
  EXPECT_THAT(a().EndCapture(), IsOk()) << "nothing has come into it";
  Serve(ahead, ids);
  EXPECT_EQ(Served(), Doubled(Doubled(ids, ids.size()), ids.size()));
  EXPECT_EQ(ahead.stats().used, 1u);
}

// What lies in a slot that is left out may be another's by then.
TEST_P(AheadTest, WithASlotLeftOutNothingIsKnown) {
  ProgramOptions options = DoubleOptions("may be left out");
  options.lane = 2;
  options.kept_outputs = {0};
  options.slots[0].may_be_left_out = true;
  ASSERT_OK_AND_ASSIGN(const ProgramId program, runtime().AddProgram(std::move(options)));
  ASSERT_OK_AND_ASSIGN(const Tensor whole, runtime().SlotWhole(program, 0));
  const uint64_t bytes = whole.shape().extent_bytes();
  ASSERT_THAT(a().Fill(whole.word(), 1, 1, bytes), IsOk());
  ASSERT_THAT(a().Synchronize(), IsOk());
  Ahead ahead(runtime(), program);
  ASSERT_THAT(ahead.Prepare({.tokens = 2}, {}, b()), IsOk());
  ASSERT_THAT(b().Synchronize(), IsOk());
  ASSERT_THAT(a().Fill(whole.word(), 2, 1, bytes), IsOk());
  ASSERT_OK_AND_ASSIGN(const Values taken, ahead.Take({.tokens = 2}, {}, a()));
  EXPECT_EQ(ReadIds(taken[0]), Ids(2, 0x04040404));
  EXPECT_EQ(ahead.stats().other_rows, 1u);
  const Ids ids = IdsFrom(3, 2);
  ASSERT_THAT(ahead.Prepare({.tokens = 2}, Rows(ids), b()), IsOk());
  ASSERT_THAT(ahead.Take({.tokens = 2}, Rows(ids), a()), IsOk());
  EXPECT_EQ(ahead.stats().used, 1u) << "the slot is staged";
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

// What lies in the gaps does not count.
TEST_P(AheadTest, RowsWithGapsAreComparedRowByRow) {
  Ahead ahead(runtime(), plan_);
  Ids wide = IdsFrom(1, 8);
  const std::vector<AheadRows> rows = {{0, HostRows{wide.data(), DType::kI32, 4, 2}}};
  for (int i = 0; i < 4; ++i) {
    ASSERT_THAT(ahead.Prepare({.tokens = 4}, rows, b()), IsOk());
    wide[1] += 1;
    if (i % 2 == 1) wide[6] += 1;
    ASSERT_OK_AND_ASSIGN(const Values planned, ahead.Take({.tokens = 4}, rows, a()));
    EXPECT_EQ(ReadIds(planned[0]), Doubled({wide[0], wide[2], wide[4], wide[6]}, 4));
    EXPECT_EQ(ahead.stats().used, static_cast<uint64_t>(1 + i / 2));
  }
  EXPECT_EQ(ahead.stats().other_rows, 2u);
  const Ids dense = {wide[0], wide[2], wide[4], wide[6]};
  ASSERT_THAT(ahead.Prepare({.tokens = 4}, rows, b()), IsOk());
  ASSERT_THAT(ahead.Take({.tokens = 4}, Rows(dense), a()), IsOk());
  EXPECT_EQ(ahead.stats().used, 3u) << "the same rows, elsewhere and without gaps";
}

TEST_P(AheadTest, RowsInPiecesAreComparedPieceByPiece) {
  ProgramOptions options;
  options.name = "pieces";
  options.slots = {
      {.name = "grid", .type = DType::kI32, .sizes = {2, 8}, .rows = KeyField::kTokens, .axis = 1}};
  options.lane = 2;
  options.kept_outputs = {0};
  options.body = [](Launcher& on, const ProgramInputs& in) -> Values {
    const Tensor out = on.Empty(DType::kI32, {2, 8});
    if (on.ok()) on.Copy(out, Tensor::Foreign(in.slot(0).word(), out.layout()));
    return {out};
  };
  ASSERT_OK_AND_ASSIGN(const ProgramId pieces, runtime().AddProgram(std::move(options)));
  ASSERT_THAT(runtime().AddShapes(pieces, {{.tokens = 3}}), IsOk());
  Ahead ahead(runtime(), pieces);
  Ids grid = IdsFrom(1, 16);
  const std::vector<AheadRows> rows = {{0, HostRows{grid.data(), DType::kI32, 3, 2, 8}}};
  for (int i = 0; i < 3; ++i) {
    ASSERT_THAT(ahead.Prepare({.tokens = 3}, rows, b()), IsOk());
    if (i == 1) grid[12] = 99;  // the last row of the second piece
    if (i == 2) grid[6] = 99;   // behind the last row of the first one
    ASSERT_OK_AND_ASSIGN(const Values planned, ahead.Take({.tokens = 3}, rows, a()));
    const Ids whole = ReadIds(planned[0]);
    ASSERT_EQ(whole.size(), 16u);
    EXPECT_EQ(Ids(whole.begin(), whole.begin() + 3), (Ids{grid[0], grid[2], grid[4]}));
    EXPECT_EQ(Ids(whole.begin() + 8, whole.begin() + 11), (Ids{grid[8], grid[10], grid[12]}));
  }
  EXPECT_EQ(ahead.stats().used, 2u);
  EXPECT_EQ(ahead.stats().other_rows, 1u);
}

TEST_P(AheadTest, DeviceRowsAreTheSameIfTheirVersionIs) {
  Ahead ahead(runtime(), plan_);
  const AddressRange here = NewWordsWith({1, 2, 3, 4});
  const AddressRange there = NewWordsWith({5, 6, 7, 8});
  const auto rows = [](AddressRange from, uint64_t version) {
    return std::vector<AheadRows>{
        {0, VersionedRows{DeviceRows{from.base, DType::kI32, 4}, version}}};
  };
  const auto take = [&](AddressRange from, uint64_t version) {
    const absl::StatusOr<Values> planned = ahead.Take({.tokens = 4}, rows(from, version), a());
    EXPECT_THAT(planned, IsOk());
    return planned.ok() ? ReadIds((*planned)[0]) : Ids();
  };
  ASSERT_THAT(ahead.Prepare({.tokens = 4}, rows(here, 7), b()), IsOk());
  EXPECT_EQ(take(here, 7), (Ids{2, 4, 6, 8}));
  EXPECT_EQ(ahead.stats().used, 1u);
  ASSERT_THAT(ahead.Prepare({.tokens = 4}, rows(here, 7), b()), IsOk());
  EXPECT_EQ(take(there, 8), (Ids{10, 12, 14, 16})) << "another version";
  ASSERT_THAT(ahead.Prepare({.tokens = 4}, rows(here, 0), b()), IsOk());
  EXPECT_EQ(take(here, 0), (Ids{2, 4, 6, 8})) << "nobody knows";
  EXPECT_EQ(ahead.stats().used, 1u);
  EXPECT_EQ(ahead.stats().other_rows, 2u);
}

TEST_P(AheadTest, ValuesAreCompared) {
  Ahead ahead(runtime(), plan_);
  const auto take = [&](std::variant<HostRows, VersionedRows, double> rows) {
    const absl::StatusOr<Values> planned = ahead.Take({.tokens = 4}, {{0, rows}}, a());
    EXPECT_THAT(planned, IsOk());
    return planned.ok() ? ReadIds((*planned)[0]) : Ids();
  };
  ASSERT_THAT(ahead.Prepare({.tokens = 4}, {{0, 3.0}}, b()), IsOk());
  EXPECT_EQ(take(3.0), Ids(4, 6));
  EXPECT_EQ(ahead.stats().used, 1u);
  ASSERT_THAT(ahead.Prepare({.tokens = 4}, {{0, 3.0}}, b()), IsOk());
  EXPECT_EQ(take(4.0), Ids(4, 8));
  ASSERT_THAT(ahead.Prepare({.tokens = 4}, {{0, 0.0}}, b()), IsOk());
  const Ids ids(4, 5);
  EXPECT_EQ(take(HostRows{ids.data(), DType::kI32, 4}), Ids(4, 10)) << "rows, and no value";
  EXPECT_EQ(ahead.stats().used, 1u);
  EXPECT_EQ(ahead.stats().other_rows, 2u);
}

TEST_P(AheadTest, ItsProgramHasALaneOfItsOwn) {
  ProgramOptions options = DoubleOptions("beside");
  options.kept_outputs = {0};
  ASSERT_OK_AND_ASSIGN(const ProgramId beside, runtime().AddProgram(options));
  Ahead ahead(runtime(), beside);
  const Ids ids = IdsFrom(1, 4);
  EXPECT_THAT(ahead.Prepare(KeyOf(ids), Rows(ids), b()).message(),
              AllOf(HasSubstr("'beside'"), HasSubstr("'main'"), HasSubstr("lane 0")));
  Serve(ahead, ids);
  EXPECT_EQ(Served(), Doubled(Doubled(ids, 4), 4)) << "Take prepares by itself";
  Ahead alone(runtime(), plan_);
  ASSERT_THAT(alone.Prepare(KeyOf(ids), Rows(ids), b()), IsOk());
  options.name = "late";
  options.lane = 1;
  ASSERT_OK_AND_ASSIGN(const ProgramId late, runtime().AddProgram(std::move(options)));
  EXPECT_THAT(alone.Prepare(KeyOf(ids), Rows(ids), b()).message(), HasSubstr("'late'"));
  ASSERT_THAT(runtime().RemoveProgram(late), IsOk());
  EXPECT_THAT(alone.Prepare(KeyOf(ids), Rows(ids), b()), IsOk());
}

TEST_P(AheadTest, RowsThatMakeNoSenseAreRefused) {
  Ahead ahead(runtime(), plan_);
  const Ids ids = IdsFrom(1, 8);
  std::vector<AheadRows> rows = {{0, HostRows{ids.data(), DType::kI32, 4, -2}}};
  EXPECT_THAT(ahead.Prepare({.tokens = 4}, rows, b()).message(), HasSubstr("-2"));
  rows = {{0, HostRows{nullptr, DType::kI32, 4}}};
  EXPECT_THAT(ahead.Prepare({.tokens = 4}, rows, b()).message(), HasSubstr("no address"));
  rows = Rows(ids);
  rows[0].slot = 3;
  EXPECT_THAT(ahead.Prepare({.tokens = 8}, rows, b()).message(), HasSubstr("slot 3"));
  EXPECT_EQ(ahead.stats().prepared, 0u);
  Serve(ahead, ids);
  EXPECT_EQ(Served(), Doubled(Doubled(ids, 8), 8));

  rows[0] = {0, HostRows{ids.data(), static_cast<DType>(99), 4}};
  EXPECT_THAT(ahead.Prepare({.tokens = 4}, rows, b()).message(), HasSubstr("are of type 99"));
  rows[0].rows = HostRows{ids.data(), DType::kI32, int64_t{1} << 62};
  EXPECT_THAT(ahead.Prepare({.tokens = 4}, rows, b()).message(), HasSubstr("which has at most"));
}

}  // namespace
}  // namespace graphtree
