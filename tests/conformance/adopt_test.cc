// A caller's own streams: used and never destroyed, and captures that the caller opened on them.
#include "tests/conformance/conformance.h"
#include "tests/conformance/native_calls.h"

namespace graphtree {
namespace {

class AdoptTest : public ConformanceTest {
 protected:
  void SetUp() override {
    ConformanceTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    streams_ = GetParam().native_calls(device());
    native_ = streams_->Create();
    ASSERT_NE(native_, nullptr);
    ASSERT_OK_AND_ASSIGN(adopted_, device().AdoptStream(native_));
  }
  void TearDown() override {
    adopted_.reset();
    if (native_ != nullptr) {
      EXPECT_TRUE(streams_->Synchronize(native_)) << "dropping its owner leaves the stream alone";
      EXPECT_TRUE(streams_->Destroy(native_));
    }
    streams_.reset();
    ConformanceTest::TearDown();
  }
  CaptureInfo Info() {
    const absl::StatusOr<CaptureInfo> info = adopted_->Capture();
    EXPECT_THAT(info, IsOk());
    return info.value_or(CaptureInfo{});
  }

  std::unique_ptr<NativeCalls> streams_;
  NativeStream native_ = nullptr;
  std::unique_ptr<Stream> adopted_;
};
GRAPHTREE_ON_EVERY_DEVICE(AdoptTest);

TEST_P(AdoptTest, WorkGoesToTheCallersStream) {
  const AddressRange log = NewLog();
  ASSERT_THAT(Append(*adopted_, log, 1), IsOk());
  ASSERT_THAT(Append(*adopted_, log, 2), IsOk());
  EXPECT_TRUE(streams_->Synchronize(native_));
  ASSERT_THAT(adopted_->Synchronize(), IsOk());
  EXPECT_EQ(ReadLog(log), LogOf({1, 2}));
}

TEST_P(AdoptTest, TwoAdoptionsOfOneStreamAreOneOrder) {
  const AddressRange log = NewLog();
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Stream> again, device().AdoptStream(native_));
  std::vector<uint64_t> ids;
  for (uint64_t id = 0; id < 20; ++id) {
    ASSERT_THAT(Append(id % 2 == 0 ? *adopted_ : *again, log, id), IsOk());
    ids.push_back(id);
  }
  ASSERT_THAT(again->Synchronize(), IsOk());
  EXPECT_EQ(ReadLog(log), LogOf(ids));
}

TEST_P(AdoptTest, EventsOrderItWithTheDevicesOwnStreams) {
  const AddressRange log = NewLog();
  ASSERT_THAT(Delay(*adopted_, 10000), IsOk());
  ASSERT_THAT(Append(*adopted_, log, 1), IsOk());
  ASSERT_THAT(adopted_->Record(event()), IsOk());
  ASSERT_THAT(a().Wait(event()), IsOk());
  ASSERT_THAT(Append(a(), log, 2), IsOk());
  ASSERT_THAT(a().Synchronize(), IsOk());
  EXPECT_EQ(ReadLog(log), LogOf({1, 2}));
}

TEST_P(AdoptTest, OurCaptureOnItIsLikeAnyOther) {
  const AddressRange log = NewLog();
  const std::unique_ptr<Graph> graph =
      CaptureOn(*adopted_, [&] { EXPECT_THAT(Append(*adopted_, log, 3), IsOk()); });
  ASSERT_NE(graph, nullptr);
  Replay(*InstantiateOf(*graph));
  EXPECT_EQ(ReadLog(log), LogOf({3}));
}

TEST_P(AdoptTest, TheCallersCaptureIsSeenAndRecordedInto) {
  const AddressRange log = NewLog();
  ASSERT_TRUE(streams_->BeginCapture(native_));
  const CaptureInfo info = Info();
  EXPECT_EQ(info.state, CaptureState::kActive);
  EXPECT_FALSE(info.ours);
  EXPECT_NE(info.id, 0u);
  EXPECT_EQ(device().open_captures(), 0) << "it was not begun through the device";
  EXPECT_THAT(Append(*adopted_, log, 1), IsOk());
  EXPECT_THAT(Append(*adopted_, log, 2), IsOk());
  ASSERT_OK_AND_ASSIGN(const std::vector<OpToken> frontier, adopted_->CaptureFrontier());
  EXPECT_EQ(frontier.size(), 1u);
  ASSERT_OK_AND_ASSIGN(const std::vector<Op> ops, adopted_->CapturedOps());
  ASSERT_EQ(ops.size(), 2u);
  EXPECT_EQ(ops[1].name, "append");
  EXPECT_EQ(streams_->EndCapture(native_), 2);
  EXPECT_EQ(Info().state, CaptureState::kNone);
  ASSERT_THAT(adopted_->Synchronize(), IsOk());
  EXPECT_EQ(ReadLog(log), 0u) << "nothing ran";
}

TEST_P(AdoptTest, DroppingOurSideLeavesTheCallersCaptureOpen) {
  ASSERT_TRUE(streams_->BeginCapture(native_));
  EXPECT_THAT(Empty(*adopted_), IsOk());
  adopted_.reset();
  EXPECT_EQ(streams_->EndCapture(native_), 1);
}

TEST_P(AdoptTest, BeginningOursInTheCallersIsRefused) {
  ASSERT_TRUE(streams_->BeginCapture(native_));
  EXPECT_THAT(adopted_->BeginCapture(CaptureMode::kThreadLocal),
              HasError(ErrorCode::kIllegalState, ""));
  EXPECT_THAT(Empty(*adopted_), IsOk());
  EXPECT_EQ(streams_->EndCapture(native_), 1);
}

TEST_P(AdoptTest, ItNeedsNoClosingOfTheDevice) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Device> other, GetParam().open());
  const std::unique_ptr<NativeCalls> streams = GetParam().native_calls(*other);
  const NativeStream native = streams->Create();
  ASSERT_NE(native, nullptr);
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<Stream> adopted, other->AdoptStream(native));
  EXPECT_THAT(Empty(*adopted), IsOk());
  EXPECT_THAT(adopted->Synchronize(), IsOk());
  adopted.reset();
  EXPECT_TRUE(streams->Destroy(native));
  EXPECT_THAT(other->Close(), IsOk());
}

}  // namespace
}  // namespace graphtree
