// Memory of programs leaves and comes back: graphs replay afterwards, nothing of value is lost, and
// nobody uses what is away.
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "allocator/pool.h"
#include "gmock/gmock.h"
#include "runtime/parking.h"
#include "tests/kernels/kernels.h"
#include "tests/kernels/launches.h"
#include "tests/runtime/runtime_fixture.h"

namespace graphtree {
namespace {

using absl::StatusCode;

constexpr Contents kAll[] = {Contents::kKeep, Contents::kDrop, Contents::kPinned};

class ParkTest : public RuntimeTest {
 protected:
  ProgramOptions Tagged(std::string name, std::string tag, uint32_t lane = 0) {
    ProgramOptions options = DoubleOptions(std::move(name));
    options.tag = std::move(tag);
    options.lane = lane;
    return options;
  }
  ProgramId AddRecorded(ProgramOptions options) {
    const absl::StatusOr<ProgramId> program = runtime().AddProgram(std::move(options));
    EXPECT_THAT(program, IsOk());
    if (!program.ok()) return {};
    EXPECT_THAT(runtime().AddShapes(*program, {{.tokens = 8}, {.tokens = 64}}), IsOk());
    EXPECT_THAT(runtime().Record(*program, a()), IsOk());
    return *program;
  }
  void ExpectSteps(ProgramId program, int32_t first) {
    for (int32_t i = first; i < first + 3; ++i) {
      EXPECT_EQ(StepWith(program, IdsFrom(i, 8)), Why::kHit);
      EXPECT_EQ(LastOutput(), Doubled(IdsFrom(i, 8), 8));
      EXPECT_EQ(StepWith(program, IdsFrom(i, 50)), Why::kCover);
      EXPECT_EQ(LastOutput(), Doubled(IdsFrom(i, 50), 64));
    }
  }
  absl::Status BeginOf(ProgramId program) {
    absl::StatusOr<Step> step = runtime().Begin(program, {.tokens = 8}, a());
    if (step.ok()) step->Cancel();
    return step.status();
  }
  uint64_t mapped(uint32_t lane = 0) {
    return runtime().tree(lane)->stats().pool_reserved_bytes;
  }
  // Of the lane's pool, on the host.
  std::vector<HostBuffer*> Saved(uint32_t lane = 0) {
    std::vector<HostBuffer*> saved;
    Pool& pool = runtime().tree(lane)->pool();
    for (const Region region : {Region::kStep, Region::kLasting}) {
      const PieceRow& row = pool.row(region);
      for (uint32_t i = 0; i < row.count(); ++i) {
        if (row.piece(i).saved != nullptr) saved.push_back(row.piece(i).saved.get());
      }
    }
    return saved;
  }
};
GRAPHTREE_ON_EVERY_DEVICE(ParkTest);

TEST_P(ParkTest, GraphsReplayAfterAWakeWhateverBecameOfTheContents) {
  const ProgramId program = AddRecorded(Tagged("double", "graphs"));
  const uint64_t recordings = runtime().stats().recordings;
  int32_t first = 0;
  for (const Contents contents : {Contents::kKeep, Contents::kDrop, Contents::kPinned,
                                  Contents::kDrop, Contents::kKeep}) {
    SCOPED_TRACE(ContentsName(contents));
    ExpectSteps(program, first += 10);
    const uint64_t before = mapped();
    ASSERT_GT(before, 0u);
    ASSERT_THAT(runtime().Park("graphs", contents), IsOk());
    EXPECT_EQ(mapped(), contents == Contents::kPinned ? before : 0u);
    EXPECT_THAT(BeginOf(program),
                FailsWith(StatusCode::kFailedPrecondition, "'double' is parked: 'graphs'"));
    EXPECT_THAT(runtime().Park("graphs", contents), IsOk()) << "parked already";
    ASSERT_THAT(runtime().Wake("graphs"), IsOk());
    EXPECT_THAT(runtime().Wake("graphs"), IsOk()) << "awake already";
    ExpectSteps(program, first += 10);
  }
  EXPECT_EQ(runtime().stats().recordings, recordings);
}

TEST_P(ParkTest, WhatIsHeldComesBackOrIsAnErrorToUse) {
  const ProgramId program = AddRecorded(Tagged("double", "graphs"));
  for (const Contents contents : kAll) {
    SCOPED_TRACE(ContentsName(contents));
    ASSERT_EQ(StepWith(program, IdsFrom(5, 8)), Why::kHit);
    ASSERT_THAT(runtime().Park("graphs", contents), IsOk());
    ASSERT_THAT(runtime().Wake("graphs"), IsOk());
    absl::StatusOr<Step> step = runtime().Begin(program, {.tokens = 8}, a());
    ASSERT_THAT(step, IsOk());
    step->Cancel();
    if (contents != Contents::kDrop) {
      EXPECT_EQ(LastOutput(), Doubled(IdsFrom(5, 8), 8));
    } else {
      EXPECT_THAT(Tensor::From(LastValue()).bytes().status(),
                  FailsWith(StatusCode::kFailedPrecondition, "step"));
    }
  }
}

TEST_P(ParkTest, KeptOutputsOutliveAParkThatDrops) {
  ProgramOptions options = Tagged("double", "graphs");
  options.kept_outputs = {0};
  const ProgramId program = AddRecorded(std::move(options));
  for (int32_t round = 0; round < 4; ++round) {
    ASSERT_EQ(StepWith(program, IdsFrom(round, 8)), Why::kHit);
    const Value held = LastValue();
    ASSERT_THAT(runtime().Park("graphs", round % 2 == 0 ? Contents::kDrop : Contents::kKeep),
                IsOk());
    EXPECT_THAT(Tensor::From(held).bytes().status(),
                FailsWith(StatusCode::kFailedPrecondition, "parked"));
    ASSERT_THAT(runtime().Wake("graphs"), IsOk());
    EXPECT_EQ(ReadIds(held), Doubled(IdsFrom(round, 8), 8));
    ExpectSteps(program, round);
    EXPECT_EQ(ReadIds(held), Doubled(IdsFrom(round, 8), 8));
  }
}

// What a step leaves out it finds as it was, or as in a program that was just added.
TEST_P(ParkTest, SlotsAreKeptOrAreAsNew) {
  ProgramOptions options = Tagged("double", "graphs");
  options.slots.push_back({.name = "scale",
                           .sizes = {kMost},
                           .rows = KeyField::kTokens,
                           .pad = PadRule::kFillOnce,
                           .pad_value = 7,
                           .may_be_left_out = true});
  options.body = [](Launcher& on, const ProgramInputs& in) -> Values {
    const Tensor out = on.Empty(DType::kI32, {in.key().tokens});
    if (!on.ok()) return {};
    on.Launch(AddKernel(), TestShape(),
              {Out(out), In(in.slot(0)), In(in.slot(1)),
               Val(static_cast<uint32_t>(in.key().tokens))});
    return {out};
  };
  const ProgramId program = AddRecorded(std::move(options));
  for (const Contents contents : kAll) {
    SCOPED_TRACE(ContentsName(contents));
    absl::StatusOr<Step> step = runtime().Begin(program, {.tokens = 8}, a());
    ASSERT_THAT(step, IsOk());
    const Ids ids = IdsFrom(1, 8), scale = IdsFrom(100, 8);
    ASSERT_THAT(step->Stage(0, HostRows{ids.data(), DType::kI32, 8}), IsOk());
    ASSERT_THAT(step->Stage(1, HostRows{scale.data(), DType::kI32, 8}), IsOk());
    Values outputs;
    ASSERT_THAT(step->Run(&outputs), IsOk());
    ASSERT_THAT(runtime().Park("graphs", contents), IsOk());
    ASSERT_THAT(runtime().Wake("graphs"), IsOk());
    ASSERT_EQ(StepWith(program, ids), Why::kHit);
    Ids expected(8);
    for (int32_t i = 0; i < 8; ++i) {
      expected[i] = ids[i] + (contents == Contents::kDrop ? 7 : scale[i]);
    }
    EXPECT_EQ(LastOutput(), expected);
  }
}

// A replay after a wake reads its block where the host put it, wherever the cursor was.
TEST_P(ParkTest, TheCursorIsRightAgain) {
  const ProgramId program = AddRecorded(Tagged("double", "graphs"));
  for (int32_t round = 0; round < 40; ++round) {
    for (int32_t i = 0; i <= round % 5; ++i) {
      ASSERT_EQ(StepWith(program, IdsFrom(100 * round + i, 64)), Why::kHit);
      ASSERT_EQ(LastOutput(), Doubled(IdsFrom(100 * round + i, 64), 64));
    }
    ASSERT_THAT(runtime().Park("graphs", kAll[round % 3]), IsOk());
    ASSERT_THAT(runtime().Wake("graphs"), IsOk());
  }
}

TEST_P(ParkTest, WhatABodyHasPinnedStaysMappedWithItsBytes) {
  AddressRange pinned;
  ProgramOptions options = Tagged("double", "graphs");
  options.body = [&](Launcher& on, const ProgramInputs& in) -> Values {
    Values outputs = DoubleBody(on, in);
    if (!outputs.empty()) {
      on.Pin(Tensor::From(outputs[0]));
      pinned = Tensor::From(outputs[0]).raw_bytes();
    }
    return outputs;
  };
  const ProgramId program = AddRecorded(std::move(options));
  ASSERT_EQ(StepWith(program, IdsFrom(3, 64)), Why::kHit);
  const uint64_t before = runtime().tree()->pool().Stats().pinned_bytes;
  ASSERT_GT(before, 0u);
  for (const Contents contents : kAll) {
    ExpectSteps(program, 4);
    ASSERT_EQ(StepWith(program, IdsFrom(3, 8)), Why::kHit);
    ASSERT_THAT(a().Synchronize(), IsOk());
    ASSERT_THAT(runtime().Park("graphs", contents), IsOk());
    EXPECT_GE(mapped(), before);
    EXPECT_EQ(Read(pinned).size() * 4, pinned.bytes) << "or the device would be lost";
    ASSERT_THAT(runtime().Wake("graphs"), IsOk());
    EXPECT_EQ(runtime().tree()->pool().Stats().pinned_bytes, before);
    ExpectSteps(program, 5);
  }
}

// The other lane's steps go on.
TEST_P(ParkTest, LanesAreParkedApart) {
  const ProgramId first = AddRecorded(Tagged("first", "a", 0));
  const ProgramId second = AddRecorded(Tagged("second", "b", 1));
  const ProgramId third = AddRecorded(Tagged("third", "", 2));
  ASSERT_THAT(runtime().Park("a", Contents::kKeep), IsOk());
  EXPECT_THAT(BeginOf(first), FailsWith(StatusCode::kFailedPrecondition, "'a'"));
  ExpectSteps(second, 1);
  ExpectSteps(third, 2);
  ASSERT_THAT(runtime().Park("b", Contents::kDrop), IsOk());
  ASSERT_THAT(runtime().Wake("a"), IsOk());
  EXPECT_THAT(BeginOf(second), FailsWith(StatusCode::kFailedPrecondition, "'b'"));
  ExpectSteps(first, 3);
  ASSERT_THAT(runtime().Wake("b"), IsOk());
  ExpectSteps(second, 4);
}

class ParkMemoryTest : public ParkTest {
 protected:
  // ids + what lies in memory "weights" under tag "weights".
  ProgramOptions WithWeights(AddressRange weights, std::vector<std::string> needs) {
    ProgramOptions options = Tagged("model", "graphs");
    options.needs = std::move(needs);
    options.body = [weights](Launcher& on, const ProgramInputs& in) -> Values {
      const Tensor out = on.Empty(DType::kI32, {in.key().tokens});
      if (!on.ok()) return {};
      const Tensor known = Tensor::Foreign(weights.base, Layout::Of(DType::kI32, {kMost}));
      on.Launch(AddKernel(), TestShape(),
                {Out(out), In(in.slot(0)), In(known),
                 Val(static_cast<uint32_t>(in.key().tokens))});
      return {out};
    };
    return options;
  }
  AddressRange AddWeights(std::optional<Contents> contents = std::nullopt) {
    const absl::StatusOr<AddressRange> weights = runtime().AddMemory(
        {.tag = "weights", .name = "layer 0", .bytes = kMost * 4, .contents = contents});
    EXPECT_THAT(weights, IsOk());
    if (!weights.ok()) return {};
    SetWeights(*weights, 1000);
    return *weights;
  }
  void SetWeights(AddressRange weights, uint32_t value) {
    EXPECT_THAT(a().Fill(weights.base, value, 4, kMost), IsOk());
    EXPECT_THAT(a().Synchronize(), IsOk());
  }
  void ExpectModel(ProgramId program, int32_t weight) {
    EXPECT_EQ(StepWith(program, IdsFrom(3, 8)), Why::kHit);
    Ids expected = IdsFrom(3, 8);
    for (int32_t& id : expected) id += weight;
    EXPECT_EQ(LastOutput(), expected);
  }
};
GRAPHTREE_ON_EVERY_DEVICE(ParkMemoryTest);

TEST_P(ParkMemoryTest, WeightsLeaveAndComeBackUnderTheirGraphs) {
  const AddressRange weights = AddWeights();
  const ProgramId program = AddRecorded(WithWeights(weights, {"weights"}));
  ExpectModel(program, 1000);
  for (const Contents contents : kAll) {
    SCOPED_TRACE(ContentsName(contents));
    ASSERT_THAT(runtime().Park("weights", contents), IsOk());
    EXPECT_THAT(BeginOf(program),
                FailsWith(StatusCode::kFailedPrecondition, "'model' is parked: 'weights'"));
    ASSERT_THAT(runtime().Park("graphs", Contents::kDrop), IsOk());
    EXPECT_THAT(BeginOf(program), FailsWith(StatusCode::kFailedPrecondition,
                                            "'model' is parked: 'weights', 'graphs'"));
    ASSERT_THAT(runtime().Wake("weights"), IsOk());
    EXPECT_THAT(BeginOf(program),
                FailsWith(StatusCode::kFailedPrecondition, "'model' is parked: 'graphs'"));
    ASSERT_THAT(runtime().Wake("graphs"), IsOk());
    if (contents == Contents::kDrop) SetWeights(weights, 1000);
    ExpectModel(program, 1000);
  }
}

TEST_P(ParkMemoryTest, APolicyOfItsOwnHolds) {
  const AddressRange weights = AddWeights(Contents::kKeep);
  const ProgramId program = AddRecorded(WithWeights(weights, {"weights"}));
  ASSERT_THAT(runtime().Park("weights", Contents::kDrop), IsOk());
  ASSERT_THAT(runtime().Wake("weights"), IsOk());
  ExpectModel(program, 1000);
}

TEST_P(ParkMemoryTest, MemoryThatAGraphPointsToLeavesOnlyIfItsProgramSaysThatItNeedsIt) {
  const AddressRange weights = AddWeights();
  const ProgramId program = AddRecorded(WithWeights(weights, {}));
  EXPECT_THAT(runtime().Park("weights", Contents::kKeep),
              FailsWith(StatusCode::kFailedPrecondition,
                        "recordings of 'model' point into 'layer 0' of 'weights'"));
  ExpectModel(program, 1000);
  EXPECT_THAT(runtime().Park("weights", Contents::kPinned), IsOk()) << "it stays";
  ExpectModel(program, 1000);
}

TEST_P(ParkMemoryTest, WrongOptionsAreRefused) {
  const MemoryOptions good = {.tag = "kv_cache", .name = "cache", .bytes = 4096};
  const auto refused = [&](void (*change)(MemoryOptions&), const char* words) {
    MemoryOptions options = good;
    change(options);
    EXPECT_THAT(runtime().AddMemory(options).status(),
                FailsWith(StatusCode::kInvalidArgument, words));
  };
  refused([](MemoryOptions& options) { options.tag.clear(); }, "has no tag");
  refused([](MemoryOptions& options) { options.name.clear(); }, "has no name");
  refused([](MemoryOptions& options) { options.bytes = 0; }, "of 0 bytes is none");
  refused([](MemoryOptions& options) { options.device = 9; }, "is for device 9");
  refused([](MemoryOptions& options) { options.contents = static_cast<Contents>(7); },
          "contents 7, and there is none");
  ASSERT_THAT(runtime().AddMemory(good), IsOk());
  EXPECT_THAT(runtime().AddMemory(good).status(),
              FailsWith(StatusCode::kAlreadyExists, "there is memory 'cache' already"));
  ASSERT_THAT(runtime().Park("kv_cache", Contents::kDrop), IsOk());
  MemoryOptions other = good;
  other.name = "more cache";
  EXPECT_THAT(runtime().AddMemory(other).status(),
              FailsWith(StatusCode::kFailedPrecondition, "while 'kv_cache' is parked"));
  EXPECT_THAT(runtime().RemoveMemory("cache"), IsOk());
  EXPECT_THAT(runtime().RemoveMemory("cache"), FailsWith(StatusCode::kNotFound, "'cache'"));
  EXPECT_THAT(runtime().Wake("kv_cache"), IsOk());
  EXPECT_THAT(runtime().Wake("kv_cache"), FailsWith(StatusCode::kNotFound, "'kv_cache'"));
}

TEST_P(ParkTest, WhatRunsIsNotParked) {
  const ProgramId program = AddRecorded(Tagged("double", "graphs"));
  absl::StatusOr<Step> step = runtime().Begin(program, {.tokens = 8}, a());
  ASSERT_THAT(step, IsOk());
  EXPECT_THAT(runtime().Park("graphs", Contents::kDrop),
              FailsWith(StatusCode::kFailedPrecondition,
                        "while a step of 'double' is under way in lane 0"));
  const Ids ids = IdsFrom(1, 8);
  ASSERT_THAT(step->Stage(0, HostRows{ids.data(), DType::kI32, 8}), IsOk());
  Values outputs;
  ASSERT_THAT(step->Run(&outputs), IsOk());
  EXPECT_EQ(step->why(), Why::kHit);
  EXPECT_EQ(ReadIds(outputs[0]), Doubled(ids, 8));
}

TEST_P(ParkTest, ABodyParksNothing) {
  AddRecorded(Tagged("double", "graphs"));
  absl::Status parked, woken;
  ProgramOptions options = Tagged("parks", "", 1);
  options.body = [&](Launcher& on, const ProgramInputs& in) -> Values {
    parked = runtime().Park("graphs", Contents::kDrop);
    woken = runtime().Wake("graphs");
    return DoubleBody(on, in);
  };
  ASSERT_OK_AND_ASSIGN(const ProgramId program, runtime().AddProgram(std::move(options)));
  StepWith(program, IdsFrom(1, 8));
  EXPECT_THAT(parked, FailsWith(StatusCode::kFailedPrecondition, "by a body of lane 1"));
  EXPECT_THAT(woken, FailsWith(StatusCode::kFailedPrecondition, "by a body of lane 1"));
}

TEST_P(ParkTest, NothingIsParkedWhileACaptureIsOpen) {
  const ProgramId program = AddRecorded(Tagged("double", "graphs"));
  ASSERT_THAT(b().BeginCapture(CaptureMode::kThreadLocal), IsOk());
  EXPECT_THAT(runtime().Park("graphs", Contents::kDrop),
              FailsWith(StatusCode::kFailedPrecondition, "while a capture is open"));
  ASSERT_THAT(b().EndCapture(), IsOk());
  ExpectSteps(program, 1);
  ASSERT_THAT(runtime().Park("graphs", Contents::kKeep), IsOk());
  ASSERT_THAT(runtime().Wake("graphs"), IsOk());
  ExpectSteps(program, 2);
}

TEST_P(ParkTest, WrongCallsAreRefusedInWords) {
  EXPECT_THAT(runtime().Park("graphs", Contents::kDrop),
              FailsWith(StatusCode::kNotFound, "has the tag 'graphs'; none has any"));
  const ProgramId program = AddRecorded(Tagged("double", "graphs"));
  EXPECT_THAT(runtime().Park("graph", Contents::kDrop),
              FailsWith(StatusCode::kNotFound, "there are 'graphs'"));
  EXPECT_THAT(runtime().Wake(""), FailsWith(StatusCode::kNotFound, "'graphs'"));
  EXPECT_THAT(runtime().Park("graphs", static_cast<Contents>(9)),
              FailsWith(StatusCode::kInvalidArgument, "contents 9"));
  for (const char* other : {"", "others"}) {
    EXPECT_THAT(runtime().AddProgram(Tagged("other", other)).status(),
                FailsWith(StatusCode::kInvalidArgument,
                          "graphs of a lane share memory, so they are parked together"));
  }
  ASSERT_THAT(runtime().Park("graphs", Contents::kDrop), IsOk());
  EXPECT_THAT(runtime().Park("graphs", Contents::kKeep),
              FailsWith(StatusCode::kFailedPrecondition, "and is parked with drop; wake it first"));
  EXPECT_THAT(runtime().AddProgram(Tagged("other", "graphs")).status(),
              FailsWith(StatusCode::kFailedPrecondition, "while 'graphs' is parked"));
  ProgramOptions needing = Tagged("other", "", 1);
  needing.needs = {"graphs"};
  EXPECT_THAT(runtime().AddProgram(std::move(needing)).status(),
              FailsWith(StatusCode::kFailedPrecondition, "while 'graphs' is parked"));
  EXPECT_THAT(runtime().Record(program, a()),
              FailsWith(StatusCode::kFailedPrecondition, "'double' is parked: 'graphs'"));
  ASSERT_THAT(runtime().AddShapes(program, {{.tokens = 16}}), IsOk());
  ASSERT_OK_AND_ASSIGN(const ProgressReport report, runtime().Progress(a()));
  EXPECT_EQ(report.runs, 0u);
  ASSERT_THAT(runtime().Wake("graphs"), IsOk());
  ExpectSteps(program, 1);
  EXPECT_EQ(StepWith(program, IdsFrom(1, 16)), Why::kWarmingUp) << "it has not failed";
}

TEST_P(ParkTest, BytesThatComeBackWrongStopTheSteps) {
  ProgramOptions options = Tagged("double", "graphs");
  options.kept_outputs = {0};
  const ProgramId program = AddRecorded(std::move(options));
  ASSERT_EQ(StepWith(program, IdsFrom(1, 8)), Why::kHit);
  const Value held = LastValue();
  ASSERT_THAT(runtime().Park("graphs", Contents::kKeep), IsOk());
  const std::vector<HostBuffer*> saved = Saved();
  ASSERT_FALSE(saved.empty());
  for (HostBuffer* const buffer : saved) {
    auto* const bytes = static_cast<uint8_t*>(buffer->data());
    for (uint64_t i = 0; i < buffer->bytes(); ++i) bytes[i] ^= 1;
  }
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(runtime().Wake("graphs"),
                FailsWith(StatusCode::kDataLoss,
                          "waking 'graphs': the pool of lane 0 has other bytes"));
    EXPECT_THAT(BeginOf(program), FailsWith(StatusCode::kFailedPrecondition, "'graphs'"));
  }
  EXPECT_THAT(runtime().Park("graphs", Contents::kKeep),
              FailsWith(StatusCode::kFailedPrecondition, "what came back was wrong"));
  ASSERT_THAT(runtime().Park("graphs", Contents::kDrop), IsOk());
  EXPECT_THAT(BeginOf(program), FailsWith(StatusCode::kFailedPrecondition, "'graphs'"));
  ASSERT_THAT(runtime().Wake("graphs"), IsOk());
  ExpectSteps(program, 2);
}

TEST_P(ParkTest, AProgramLeavesWhileItIsParked) {
  for (const Contents contents : kAll) {
    const ProgramId program = AddRecorded(Tagged("double", "graphs"));
    ExpectSteps(program, 1);
    ASSERT_THAT(runtime().Park("graphs", contents), IsOk());
    ASSERT_THAT(runtime().RemoveProgram(program), IsOk());
    EXPECT_THAT(runtime().AddProgram(Tagged("other", "")).status(),
                FailsWith(StatusCode::kFailedPrecondition, "while 'graphs' is parked"));
    ASSERT_THAT(runtime().Wake("graphs"), IsOk());
    const ProgramId again = AddRecorded(Tagged("double", "graphs"));
    ExpectSteps(again, 2);
    ASSERT_THAT(runtime().RemoveProgram(again), IsOk());
  }
}

TEST_P(ParkTest, ARuntimeIsClosedWhileItIsParked) {
  for (const Contents contents : kAll) {
    AddRecorded(Tagged("double", "graphs"));
    ASSERT_THAT(runtime().AddMemory({.tag = "kv_cache", .name = "cache", .bytes = 4096}), IsOk());
    ASSERT_THAT(runtime().Park("graphs", contents), IsOk());
    ASSERT_THAT(runtime().Park("kv_cache", contents), IsOk());
    OpenRuntime({});
  }
}

// What a lane has given back is others', and it comes back only if it fits.
TEST_P(ParkTest, LanesThatShareMemoryTakeWhatIsParked) {
  const uint64_t piece = uint64_t{2} << 20;
  OpenRuntime({.pool_bytes = 4 * piece});
  const auto large = [&](std::string name, uint32_t lane) {
    ProgramOptions options = Tagged(std::move(name), lane == 0 ? "a" : "b", lane);
    options.unseen_writes = true;
    options.body = [=](Launcher& on, const ProgramInputs& in) -> Values {
      const Tensor scratch =
          on.Empty(DType::kU8, {static_cast<int64_t>(2 * piece + piece / 2)});
      if (!on.ok()) return {};
      Values outputs = DoubleBody(on, in);
      return outputs;
    };
    const absl::StatusOr<ProgramId> program = runtime().AddProgram(std::move(options));
    EXPECT_THAT(program, IsOk());
    if (!program.ok()) return ProgramId();
    EXPECT_THAT(runtime().AddShapes(*program, {{.tokens = 8}}), IsOk());
    EXPECT_THAT(runtime().Record(*program, a()), IsOk());
    return *program;
  };
  const ProgramId first = large("first", 0);
  EXPECT_EQ(StepWith(first, IdsFrom(1, 8)), Why::kHit);
  const uint64_t had = mapped(0);
  ASSERT_GT(had, 2 * piece);
  ASSERT_THAT(runtime().Park("a", Contents::kDrop), IsOk());
  const ProgramId second = large("second", 1);
  EXPECT_EQ(StepWith(second, IdsFrom(1, 8)), Why::kHit) << "the lane has what it needs";
  EXPECT_LE(mapped(0) + mapped(1), 4 * piece);
  EXPECT_THAT(runtime().Wake("a"), FailsWith(StatusCode::kResourceExhausted, "share"));
  EXPECT_THAT(BeginOf(first), FailsWith(StatusCode::kFailedPrecondition, "'a'"));
  ASSERT_THAT(runtime().Park("b", Contents::kDrop), IsOk());
  ASSERT_THAT(runtime().Wake("a"), IsOk());
  EXPECT_LE(mapped(0) + mapped(1), 4 * piece);
  EXPECT_EQ(StepWith(first, IdsFrom(2, 8)), Why::kHit);
  EXPECT_EQ(LastOutput(), Doubled(IdsFrom(2, 8), 8));
}

}  // namespace
}  // namespace graphtree
