// A pool that is too small for what runs and for what is recorded: recordings are given up for a
// run, the least valuable first, and are made again once that pays.
#include <cstdint>
#include <string>
#include <vector>

#include "graphs/reason.h"
#include "tests/tree/tree_fixture.h"

namespace graphtree {
namespace {

using absl::StatusCode;
using testing::Contains;
using testing::HasSubstr;

class ShortMemoryTest : public TreeTest {
 protected:
  // What follows is in pieces of memory. A recording holds the memory of whole sectors: of eight
  // pieces in a large pool, of fewer in a small one.
  static constexpr uint64_t kSector = 8;
  uint64_t piece() { return uint64_t{2} << 20; }
  void Open(uint64_t pieces, TreeOptions options = {}) {
    options.pool_bytes = pieces * piece();
    OpenTree(options);
    x_ = Given(1);
  }
  Tensor Pieces(Launcher& on, uint64_t pieces) {
    return on.Empty(DType::kU8, {static_cast<int64_t>(pieces * piece())});
  }
  Tensor Filled(Launcher& on, uint64_t pieces) {
    Tensor large = Pieces(on, pieces);
    if (on.ok()) on.Fill(large, 7);
    return large;
  }
  // x -> x + x, and needs so many pieces meanwhile.
  Body Needs(uint64_t pieces) {
    return [this, pieces](Launcher& on, Values& inputs) -> Values {
      const Tensor large = Pieces(on, pieces);
      if (!on.ok()) return {};
      return {Sum(on, inputs[0], inputs[0])};
    };
  }
  FunctionId Recorded(std::string name, uint64_t pieces) {
    const FunctionId function = Register(std::move(name), {}, Needs(pieces));
    for (int call = 0; call < 3; ++call) CallAlone(function);
    return function;
  }
  FunctionId Eager(std::string name, uint64_t pieces) {
    return Register(std::move(name), {.exclude = true}, Needs(pieces));
  }
  // Functions that are called one after the other, and each holds so many pieces.
  void RecordChain(int functions, uint64_t pieces) {
    std::vector<FunctionId> chain;
    for (int i = 0; i < functions; ++i) {
      chain.push_back(Register("chain", {}, [this, pieces](Launcher& on, Values&) -> Values {
        return {Filled(on, pieces)};
      }));
    }
    for (int step = 0; step < 4; ++step) {
      NewStep();
      std::vector<Values> held;
      for (const FunctionId function : chain) held.push_back(Call(function, {}));
    }
  }
  void CallAlone(FunctionId function) {
    NewStep();
    const Values out = Call(function, {x_});
    ASSERT_EQ(out.size(), 1u);
    EXPECT_EQ(Read(out[0]), Times(PatternOf(1), 2));
  }
  uint64_t nodes() { return tree().stats().nodes; }

  Tensor x_;
};
GRAPHTREE_ON_EVERY_DEVICE(ShortMemoryTest);

TEST_P(ShortMemoryTest, AnEagerRunHasWhatARecordingHeld) {
  Open(8);
  const FunctionId recorded = Recorded("recorded", 5);
  ASSERT_EQ(replays(), 1u);
  const FunctionId eager = Eager("eager", 5);
  CallAlone(eager);
  EXPECT_EQ(nodes(), 0u);
  EXPECT_EQ(reasons(Reason::kMemoryEvicted), 1u);
  // It pays first, and is then as before.
  for (int call = 0; call < 3; ++call) CallAlone(recorded);
  EXPECT_EQ(reasons(Reason::kGivenUp), 3u);
  EXPECT_EQ(graphs(), 1u);
  for (int call = 0; call < 4; ++call) CallAlone(recorded);
  EXPECT_EQ(graphs(), 2u);
  EXPECT_EQ(replays(), 3u);
  EXPECT_EQ(reasons(Reason::kGivenUp), 3u);
  EXPECT_THAT(warnings(), Contains(AllOf(HasSubstr("'recorded' runs eagerly"),
                                         HasSubstr("'eager' lacked"), HasSubstr("pool_bytes"))));
}

// Memory does not hold both: whichever way they take turns nothing fails, and little is recorded.
TEST_P(ShortMemoryTest, FunctionsThatTakeTurnsDoNotChurn) {
  Open(8);
  const FunctionId recorded = Register("recorded", {}, Needs(5)), eager = Eager("eager", 5);
  for (int call = 0; call < 150; ++call) {
    CallAlone(recorded);
    CallAlone(eager);
  }
  EXPECT_LE(graphs(), 8u);
  EXPECT_LE(tree().stats().warm_ups, 20u);
  EXPECT_LE(reasons(Reason::kOutOfPool), 20u) << "nor is it captured in vain each time";
  const uint64_t before = replays();
  for (int call = 0; call < 200; ++call) CallAlone(recorded);
  EXPECT_GT(replays(), before) << "no verdict is for ever";
  EXPECT_LE(warnings().size(), 3u) << "each is told once";
}

// One that comes for long between such runs is replayed nearly always.
TEST_P(ShortMemoryTest, AShapeThatPaysIsRecordedAgainEachTime) {
  Open(8);
  const FunctionId recorded = Register("recorded", {}, Needs(5)), eager = Eager("eager", 5);
  for (int round = 0; round < 8; ++round) {
    for (int call = 0; call < 40; ++call) CallAlone(recorded);
    CallAlone(eager);
  }
  EXPECT_EQ(graphs(), 8u);
  EXPECT_GE(replays(), 8u * 34);
}

// Each of the chain has a sector of its own.
TEST_P(ShortMemoryTest, NoMoreGoesThanHasTo) {
  Open(4 * kSector);
  RecordChain(3, kSector);
  ASSERT_EQ(nodes(), 3u);
  CallAlone(Eager("eager", 2 * kSector - 1));
  EXPECT_EQ(nodes(), 2u);
}

// Even all recordings would not do.
TEST_P(ShortMemoryTest, NothingIsGivenUpInVain) {
  Open(8);
  Recorded("recorded", 5);
  const FunctionId eager = Eager("eager", 9);
  for (int call = 0; call < 3; ++call) {
    NewStep();
    EXPECT_THAT(Refusal(eager, {x_}), FailsWith(StatusCode::kResourceExhausted, "limit"));
  }
  EXPECT_EQ(nodes(), 1u);
  EXPECT_EQ(reasons(Reason::kMemoryEvicted), 0u);
}

TEST_P(ShortMemoryTest, WhatIsOnThePathStays) {
  Open(8);
  const FunctionId recorded = Recorded("recorded", 5), eager = Eager("eager", 5);
  NewStep();
  const Values held = Call(recorded, {x_});
  EXPECT_THAT(Refusal(eager, {x_}), FailsWith(StatusCode::kResourceExhausted, "limit"));
  EXPECT_EQ(nodes(), 1u);
  EXPECT_EQ(Read(held[0]), Times(PatternOf(1), 2));
}

// Another recording goes for a part of a replay, and the one that is replayed stays.
TEST_P(ShortMemoryTest, APartOfAReplayHasWhatOthersHeld) {
  Open(3 * kSector);
  uint64_t part_needs = 1;
  const FunctionId breaks = Register("breaks", {}, [&](Launcher& on, Values& inputs) -> Values {
    const Tensor out = Sum(on, inputs[0], inputs[0]);
    if (!on.ok()) return {};
    on.Break("needs memory", {InOut(out)}, [&](Launcher& part, absl::Span<const Tensor>) {
      Pieces(part, part_needs);
    });
    return {out};
  });
  RecordChain(2, kSector);
  for (int call = 0; call < 3; ++call) CallAlone(breaks);
  ASSERT_EQ(nodes(), 3u);
  part_needs = 2 * kSector - 1;
  const uint64_t before = replays();
  for (int call = 0; call < 3; ++call) CallAlone(breaks);
  EXPECT_EQ(replays(), before + 3);
  EXPECT_EQ(nodes(), 2u);
  part_needs = 3 * kSector;
  NewStep();
  EXPECT_THAT(Refusal(breaks, {x_}), FailsWith(StatusCode::kResourceExhausted, "limit"));
  EXPECT_EQ(nodes(), 2u);
  part_needs = 1;
  CallAlone(breaks);
  EXPECT_EQ(replays(), before + 4);
}

TEST_P(ShortMemoryTest, AKeptOutputOfAReplayHasWhatOthersHeld) {
  Open(3 * kSector);
  const FunctionId keeps =
      Register("keeps", {.kept_outputs = {0}},
               [this](Launcher& on, Values&) -> Values { return {Filled(on, kSector / 2)}; });
  RecordChain(2, kSector);
  for (int call = 0; call < 3; ++call) {
    NewStep();
    Call(keeps, {});
  }
  ASSERT_EQ(nodes(), 3u);
  const uint64_t before = replays();
  std::vector<Values> held;
  for (int call = 0; call < 3; ++call) {
    NewStep();
    held.push_back(Call(keeps, {}));
  }
  EXPECT_EQ(replays(), before + 3);
  EXPECT_EQ(nodes(), 2u);
}

// The recording itself holds memory that the caller's outputs could have.
TEST_P(ShortMemoryTest, AKeptOutputThatFindsNoPlaceComesFromARunAtOnce) {
  Open(4);
  constexpr int64_t kBytes = 800000;  // two fit into a piece
  const FunctionId keeps =
      Register("keeps", {.kept_outputs = {0}}, [](Launcher& on, Values&) -> Values {
        const Tensor out = on.Empty(DType::kU8, {kBytes});
        if (on.ok()) on.Fill(out, 9);
        return {out};
      });
  Recorded("large", 3);
  Values held;
  for (int call = 0; call < 10; ++call) {
    NewStep();
    held.push_back(Call(keeps, {})[0]);
  }
  EXPECT_GT(reasons(Reason::kOutOfPool), 0u);
  EXPECT_EQ(graphs(), 2u);
  for (const Value& out : held) EXPECT_EQ(Read(out), Words(kBytes / 4, 0x09090909));
  NewStep();
  EXPECT_THAT(Refusal(keeps, {}), FailsWith(StatusCode::kResourceExhausted, "limit"))
      << "what the caller holds fills the pool";
  held.clear();
  for (int call = 0; call < 8; ++call) {
    NewStep();
    Call(keeps, {});
  }
}

// All of a small pool was the step's once. A run that needs little there, and little that lasts,
// has both as soon as the recording is gone.
TEST_P(ShortMemoryTest, LittleInTheStepsRegionHoldsLittle) {
  Open(4);
  const FunctionId large = Register("large", {}, [this](Launcher& on, Values& inputs) -> Values {
    const Tensor most = on.Empty(DType::kU8, {static_cast<int64_t>(4 * piece() - piece() / 2)});
    return on.ok() ? Values{Sum(on, inputs[0], inputs[0])} : Values();
  });
  for (int call = 0; call < 3; ++call) CallAlone(large);
  const FunctionId keeps =
      Register("keeps", {.kept_outputs = {0}}, [](Launcher& on, Values& inputs) -> Values {
        const Tensor first = Sum(on, inputs[0], inputs[0]);
        return {Sum(on, first, inputs[0])};
      });
  const FunctionId parts = Register("parts", {}, [](Launcher& on, Values& inputs) -> Values {
    const Tensor out = Sum(on, inputs[0], inputs[0]);
    if (!on.ok()) return {};
    on.Break("part", {InOut(out)}, [](Launcher& part, absl::Span<const Tensor> x) {
      const Tensor twice = Sum(part, x[0], x[0]);
      if (part.ok()) part.Copy(x[0], twice);
    });
    return {out};
  });
  for (int step = 0; step < 5; ++step) {
    NewStep();
    EXPECT_EQ(Read(Call(keeps, {x_})[0]), Times(PatternOf(1), 3));
    NewStep();
    EXPECT_EQ(Read(Call(parts, {x_})[0]), Times(PatternOf(1), 4));
  }
  EXPECT_EQ(reasons(Reason::kMemoryEvicted), 1u);
}

}  // namespace
}  // namespace graphtree
