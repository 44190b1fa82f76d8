// What a wait for an event out of the middle of a graph orders, as the race check sees it: what
// comes before the event in the graph, and nothing that comes after it.
#include <memory>

#include "device/host/host_test_device.h"

namespace graphtree::host {
namespace {

constexpr ErrorCode kLost = ErrorCode::kLaunchFailure;

// A graph on stream 0: word 0, the event, word 1; and word 2 on a branch beside the event.
std::unique_ptr<Graph> CaptureThreeWords(TestDevice& device) {
  return device.Capture(0, [&] {
    EXPECT_THAT(device.Digit(0, 0, 1), IsOk());
    EXPECT_THAT(device.stream(0).Record(device.event(1)), IsOk());
    EXPECT_THAT(device.stream(1).Wait(device.event(1)), IsOk());
    EXPECT_THAT(device.Digit(1, 2, 1), IsOk());
    EXPECT_THAT(device.stream(0).RecordExternal(device.event(0)), IsOk());
    EXPECT_THAT(device.Digit(0, 1, 1), IsOk());
    EXPECT_THAT(device.stream(1).Record(device.event(2)), IsOk());
    EXPECT_THAT(device.stream(0).Wait(device.event(2)), IsOk());
  });
}

// Launches the graph once, waits for the event on stream 2, and uses that word there.
absl::Status UseAfterTheEvent(uint64_t seed, int word) {
  HostOptions options;
  options.seed = seed;
  TestDevice device(options);
  const auto graph = CaptureThreeWords(device);
  const auto executable = graph->Instantiate().value();
  EXPECT_THAT(executable->Launch(device.stream(0)), IsOk());
  EXPECT_THAT(device.stream(2).Wait(device.event(0)), IsOk());
  EXPECT_THAT(device.Digit(2, word, 2), IsOk());
  absl::Status status = device.stream(2).Synchronize();
  status.Update(device.stream(0).Synchronize());
  return status;
}

TEST(ExternalEventTest, WhatComesBeforeTheEventIsOver) {
  for (uint64_t seed = 0; seed < 20; ++seed) EXPECT_THAT(UseAfterTheEvent(seed, 0), IsOk());
}

TEST(ExternalEventTest, WhatComesAfterItOrStandsBesideItIsARace) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_THAT(UseAfterTheEvent(seed, 1), HasCode(kLost, "race")) << "seed " << seed;
    EXPECT_THAT(UseAfterTheEvent(seed, 2), HasCode(kLost, "race")) << "seed " << seed;
  }
}

TEST(ExternalEventTest, TheOrderIsHandedOnFromStreamToStream) {
  TestDevice device;
  const auto graph = CaptureThreeWords(device);
  const auto executable = graph->Instantiate().value();
  for (int i = 0; i < 5; ++i) {
    ASSERT_THAT(executable->Launch(device.stream(0)), IsOk());
    ASSERT_THAT(device.stream(2).Wait(device.event(0)), IsOk());
    ASSERT_THAT(device.stream(2).Record(device.event(1)), IsOk());
    ASSERT_THAT(device.stream(1).Wait(device.event(1)), IsOk());
    ASSERT_THAT(device.Digit(1, 0, 2), IsOk());
    ASSERT_THAT(device.stream(1).Record(device.event(2)), IsOk());
    ASSERT_THAT(device.stream(0).Wait(device.event(2)), IsOk());
  }
  ASSERT_THAT(device.stream(0).Synchronize(), IsOk());
  EXPECT_EQ(device.at(0), 1212121212u);
}

TEST(ExternalEventTest, TheHostThatHasWaitedKnowsAsMuch) {
  for (const bool after : {false, true}) {
    TestDevice device;
    const auto graph = CaptureThreeWords(device);
    const auto executable = graph->Instantiate().value();
    ASSERT_THAT(executable->Launch(device.stream(0)), IsOk());
    ASSERT_THAT(device.event(0).Synchronize(), IsOk());
    EXPECT_EQ(device.at(0), 1u);
    ASSERT_THAT(device.Digit(2, after ? 1 : 0, 2), IsOk());
    absl::Status status = device.stream(2).Synchronize();
    status.Update(device.stream(0).Synchronize());
    if (after) {
      EXPECT_THAT(status, HasCode(kLost, "race"));
    } else {
      EXPECT_THAT(status, IsOk());
    }
  }
}

TEST(ExternalEventTest, AnExecutablesSlotGoesToOthersOnceItIsGone) {
  TestDevice device;
  const auto graph = CaptureThreeWords(device);
  for (int i = 0; i < 50; ++i) {
    const auto executable = graph->Instantiate().value();
    ASSERT_THAT(executable->Launch(device.stream(0)), IsOk());
    ASSERT_THAT(device.event(0).Synchronize(), IsOk());
    const auto brief = device.device().NewStream().value();
    ASSERT_THAT(brief->Wait(device.event(0)), IsOk());
    ASSERT_THAT(device.Digit(*brief, device.word(0), 2), IsOk());
    ASSERT_THAT(brief->Synchronize(), IsOk());
    ASSERT_THAT(device.stream(0).Synchronize(), IsOk());
    device.at(0) = 0;
  }
}

}  // namespace
}  // namespace graphtree::host
