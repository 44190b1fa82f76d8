// What one can see of lanes that are parked: metrics, the ledger, explanations, pages.
#include <cstdint>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "runtime/ledger_text.h"
#include "runtime/metrics.h"
#include "runtime/parking.h"
#include "runtime/plan/ledger.h"
#include "tests/runtime/runtime_fixture.h"

namespace graphtree {
namespace {

using testing::HasSubstr;
using testing::Not;

class ParkFiguresTest : public RuntimeTest {
 protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    ProgramOptions options = DoubleOptions("decode");
    options.tag = "graphs";
    options.needs = {"kv_cache"};
    options.kept_outputs = {0};
    const absl::StatusOr<ProgramId> program = runtime().AddProgram(std::move(options));
    ASSERT_THAT(program, IsOk());
    program_ = *program;
    ASSERT_THAT(runtime().AddShapes(program_, {{.tokens = 8}}), IsOk());
    ASSERT_THAT(runtime().Record(program_, a()), IsOk());
    ASSERT_THAT(runtime().AddMemory({.tag = "kv_cache", .name = "cache", .bytes = 5000}),
                IsOk());
    ASSERT_EQ(StepWith(program_, IdsFrom(1, 8)), Why::kHit);
  }
  TagMetrics Of(const std::string& tag) {
    for (const TagMetrics& one : runtime().metrics().tags) {
      if (one.tag == tag) return one;
    }
    ADD_FAILURE() << "no tag " << tag;
    return {};
  }
  // The sum of the ledger's own kinds, and the pool's part beside what the tree says.
  void ExpectThatTheLedgerAddsUp() {
    const MemoryLedger ledger = runtime().ledger();
    ASSERT_EQ(ledger.lanes.size(), 1u);
    EXPECT_EQ(ledger.lanes[0].mapped(), runtime().tree()->stats().pool_reserved_bytes);
    EXPECT_EQ(ledger.device(), ledger.lanes[0].mapped() + ledger.slots + ledger.executables +
                                   ledger.code + ledger.tagged);
  }

  ProgramId program_;
};
GRAPHTREE_ON_EVERY_DEVICE(ParkFiguresTest);

TEST_P(ParkFiguresTest, TheLedgerAddsUpWhileLanesAreParked) {
  ExpectThatTheLedgerAddsUp();
  const MemoryLedger before = runtime().ledger();
  EXPECT_GT(before.lanes[0].alone, 0u);
  EXPECT_GE(before.tagged, 5000u);
  EXPECT_GT(before.slots, 0u);
  for (const Contents contents : {Contents::kKeep, Contents::kDrop, Contents::kPinned}) {
    SCOPED_TRACE(ContentsName(contents));
    const bool goes = contents != Contents::kPinned;
    ASSERT_THAT(runtime().Park("graphs", contents), IsOk());
    ASSERT_THAT(runtime().Park("kv_cache", contents), IsOk());
    ExpectThatTheLedgerAddsUp();
    const MemoryLedger parked = runtime().ledger();
    EXPECT_EQ(parked.device() == parked.executables + parked.code, goes);
    EXPECT_EQ(runtime().stats().slot_bytes == 0, goes);
    EXPECT_EQ(parked.lanes[0].parked > 0, goes);
    EXPECT_EQ(parked.host > before.host, goes) << "what outlives a step is saved in any case";
    EXPECT_EQ(parked.executables, before.executables);
    ASSERT_THAT(runtime().Wake("kv_cache"), IsOk());
    ASSERT_THAT(runtime().Wake("graphs"), IsOk());
    ExpectThatTheLedgerAddsUp();
    const MemoryLedger after = runtime().ledger();
    EXPECT_EQ(after.tagged, before.tagged);
    EXPECT_EQ(after.slots, before.slots);
    EXPECT_EQ(after.host, before.host);
    EXPECT_EQ(after.lanes[0].parked, 0u);
  }
}

TEST_P(ParkFiguresTest, ATagThatNothingHasIsForgotten) {
  const size_t tags = runtime().metrics().tags.size();
  for (int i = 0; i < 5; ++i) {
    const std::string tag = "request " + std::to_string(i);
    ASSERT_THAT(runtime().AddMemory({.tag = tag, .name = "first", .bytes = 512}), IsOk());
    ASSERT_THAT(runtime().AddMemory({.tag = tag, .name = "second", .bytes = 512}), IsOk());
    EXPECT_EQ(runtime().metrics().tags.size(), tags + 1);
    if (i % 2 == 1) {
      ASSERT_THAT(runtime().Park(tag, Contents::kDrop), IsOk());
    }
    ASSERT_THAT(runtime().RemoveMemory("first"), IsOk());
    ASSERT_THAT(runtime().RemoveMemory("second"), IsOk());
    EXPECT_EQ(runtime().metrics().tags.size(), tags + i % 2) << "parked, until it is woken";
    if (i % 2 == 1) {
      ASSERT_THAT(runtime().Wake(tag), IsOk());
    }
    EXPECT_EQ(runtime().metrics().tags.size(), tags);
  }
  ASSERT_THAT(runtime().RemoveMemory("cache"), IsOk());
  EXPECT_EQ(runtime().metrics().tags.size(), tags) << "a program needs it";
}

TEST_P(ParkFiguresTest, MetricsTellWhatIsParked) {
  EXPECT_FALSE(Of("kv_cache").is_parked);
  EXPECT_GE(Of("kv_cache").memory_bytes, 5000u);
  const uint64_t mapped = runtime().tree()->stats().pool_reserved_bytes;
  ASSERT_THAT(runtime().Park("graphs", Contents::kKeep), IsOk());
  ASSERT_THAT(runtime().Park("kv_cache", Contents::kDrop), IsOk());
  TagMetrics graphs = Of("graphs"), cache = Of("kv_cache");
  EXPECT_TRUE(graphs.is_parked && cache.is_parked);
  EXPECT_EQ(graphs.contents, Contents::kKeep);
  EXPECT_EQ(cache.contents, Contents::kDrop);
  EXPECT_GT(graphs.parked_bytes, 0u);
  EXPECT_LE(graphs.parked_bytes, mapped + runtime().stats().slot_bytes + (4 << 20));
  EXPECT_GT(graphs.saved_bytes, 0u);
  EXPECT_EQ(cache.saved_bytes, 0u);
  EXPECT_EQ(cache.memory_bytes, 0u);
  EXPECT_GE(cache.parked_bytes, 5000u);
  EXPECT_EQ(graphs.parks, 1u);
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(runtime().Begin(program_, {.tokens = 8}, a()).ok());
  }
  EXPECT_EQ(runtime().metrics().lanes[0].parked_refused, 3u);
  const std::string text = MetricsAsPrometheus(runtime().metrics());
  EXPECT_THAT(text, HasSubstr("graphtree_parked{tag=\"graphs\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("graphtree_parked_refused_total{device=\"0\",lane=\"0\"} 3\n"));
  ASSERT_THAT(runtime().Wake("graphs"), IsOk());
  graphs = Of("graphs");
  EXPECT_FALSE(graphs.is_parked);
  EXPECT_EQ(graphs.parked_bytes, 0u);
  EXPECT_EQ(graphs.saved_bytes, 0u);
  EXPECT_EQ(graphs.wakes, 1u);
  EXPECT_EQ(graphs.failed_wakes, 0u);
  EXPECT_EQ(graphs.wake_times.count(), 1u);
  EXPECT_GT(graphs.wake_times.total_ns, 0u);
  EXPECT_THAT(MetricsAsPrometheus(runtime().metrics()),
              HasSubstr("graphtree_wake_seconds_count{tag=\"graphs\"} 1\n"));
  EXPECT_THAT(MetricsAsJson(runtime().metrics()), HasSubstr("\"tag\":\"kv_cache\""));
}

TEST_P(ParkFiguresTest, ExplanationsSayWhatIsParked) {
  EXPECT_THAT(ToString(runtime().Explain()), Not(HasSubstr("parked")));
  ASSERT_THAT(runtime().Park("kv_cache", Contents::kDrop), IsOk());
  EXPECT_THAT(ToString(runtime().Explain()),
              HasSubstr("parked by 'kv_cache': no step begins until that is woken"));
  EXPECT_THAT(runtime().DebugJson(), HasSubstr("\"parked_by\":[\"kv_cache\"]"));
  ASSERT_THAT(runtime().Park("graphs", Contents::kDrop), IsOk());
  EXPECT_THAT(LedgerText(runtime().ledger()), HasSubstr(" parked\n"));
  EXPECT_THAT(LedgerAsPrometheus(runtime().ledger()),
              HasSubstr("graphtree_ledger_parked_bytes{device=\"0\",lane=\"0\"}"));
  ASSERT_THAT(runtime().Wake("graphs"), IsOk());
  ASSERT_THAT(runtime().Wake("kv_cache"), IsOk());
  EXPECT_THAT(ToString(runtime().Explain()), Not(HasSubstr("parked")));
  EXPECT_THAT(LedgerText(runtime().ledger()), Not(HasSubstr("parked")));
}

}  // namespace
}  // namespace graphtree
