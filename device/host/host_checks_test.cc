// The host device reports missing memory, freed memory, red zones and races, each with the op's
// name, and reports nothing else.
#include <atomic>
#include <thread>

#include "device/host/host_test_device.h"

namespace graphtree::host {
namespace {

constexpr ErrorCode kLost = ErrorCode::kLaunchFailure;

TEST(HostChecksTest, ADeclaredRangeThatIsNotMappedIsReportedBeforeTheOpRuns) {
  TestDevice device;
  ASSERT_THAT(device.Digit(device.stream(0), {device.unmapped().base, 8}, 1), IsOk());
  EXPECT_THAT(device.stream(0).Synchronize(), HasCode(ErrorCode::kIllegalAddress, "digit"));
  EXPECT_THAT(device.device().health(), HasCode(ErrorCode::kIllegalAddress, "not accessible"));
}

TEST(HostChecksTest, ADeclaredRangePastTheLastAddressIsReported) {
  TestDevice device;
  ASSERT_THAT(device.Digit(device.stream(0), {device.word(0).base, ~uint64_t{0}}, 1), IsOk());
  EXPECT_THAT(device.stream(0).Synchronize(),
              HasCode(ErrorCode::kIllegalAddress, "past the last address"));
}

TEST(HostChecksTest, AnUndeclaredWriteToWhatIsNotMappedIsCaughtInTheAct) {
  for (const HostScheduler scheduler :
       {HostScheduler::kSeeded, HostScheduler::kImmediate, HostScheduler::kThreads}) {
    HostOptions options;
    options.scheduler = scheduler;
    TestDevice device(options);
    ASSERT_THAT(device.Secret(0, device.unmapped().base + 64), IsOk());
    EXPECT_THAT(device.stream(0).Synchronize(), HasCode(ErrorCode::kIllegalAddress, "secret"));
    EXPECT_THAT(device.Digit(1, 1, 1), HasCode(ErrorCode::kIllegalAddress, "secret"))
        << "every later call returns the first error";
    EXPECT_THAT(device.device().NewEvent({}), HasCode(ErrorCode::kIllegalAddress, "secret"));
  }
}

TEST(HostChecksTest, ACopyFromHostMemoryThatIsNotThereIsReported) {
  TestDevice device;
  const auto gone = device.memory().Reserve(device.memory().granularity(), {}).value();
  ASSERT_THAT(device.memory().Release(gone), IsOk());
  for (const uint64_t bytes : {uint64_t{8}, ~uint64_t{0}}) {
    EXPECT_THAT(device.stream(0).Copy(device.word(0).base, gone.base, bytes),
                HasCode(ErrorCode::kIllegalAddress, "copy on"));
  }
}

TEST(HostChecksTest, APoisonedPointerIsReported) {
  TestDevice device;
  device.memory().NoteLive(device.word(0), "a pointer that nobody has written");
  ASSERT_THAT(device.Secret(0, device.at(0)), IsOk());
  EXPECT_THAT(device.stream(0).Synchronize(),
              HasCode(ErrorCode::kIllegalAddress, "secret on stream 0 touched an address that no"));
}

TEST(HostChecksTest, AnUndeclaredWriteInAReplayIsCaughtToo) {
  TestDevice device;
  const auto graph =
      device.Capture(0, [&] { EXPECT_THAT(device.Secret(0, device.unmapped().base), IsOk()); });
  const auto executable = graph->Instantiate().value();
  ASSERT_THAT(executable->Launch(device.stream(0)), IsOk());
  EXPECT_THAT(device.stream(0).Synchronize(), HasCode(ErrorCode::kIllegalAddress, "secret"));
}

TEST(HostChecksTest, AccessRightsHold) {
  TestDevice device;
  ASSERT_THAT(device.memory().SetAccess(device.mapped(), MemoryAccess::kRead), IsOk());
  ASSERT_THAT(device.stream(0).Copy(device.word(0).base, device.word(1).base, 8), IsOk());
  EXPECT_THAT(device.stream(0).Synchronize(),
              HasCode(ErrorCode::kIllegalAddress, "may only be read"));
}

TEST(HostChecksTest, FreedMemoryIsReportedWhereTheWorkIsIssued) {
  TestDevice device;
  device.memory().NoteLive(device.word(0), "hidden");
  ASSERT_THAT(device.Digit(0, 0, 1), IsOk());
  device.memory().NoteDead(device.word(0), "freed by the test");
  EXPECT_THAT(device.stream(0).Synchronize(), IsOk()) << "it was live when it was issued";
  EXPECT_THAT(device.Digit(0, 0, 1), HasCode(kLost, "digit"));
  EXPECT_THAT(device.device().health(), HasCode(kLost, "freed by the test"));
}

TEST(HostChecksTest, AReplayMayUseWhatWasFreedSince) {
  TestDevice device;
  device.memory().NoteLive(device.word(0), "inside the graph");
  const auto graph = device.Capture(0, [&] { EXPECT_THAT(device.Digit(0, 0, 1), IsOk()); });
  device.memory().NoteDead(device.word(0), "the graph keeps it");
  const auto executable = graph->Instantiate().value();
  EXPECT_THAT(executable->Launch(device.stream(0)), IsOk());
  EXPECT_THAT(device.stream(0).Synchronize(), IsOk());
}

TEST(HostChecksTest, FreedMemoryInACaptureFailsTheCallAlone) {
  TestDevice device;
  device.memory().NoteDead(device.word(0), "freed by the test");
  const auto graph = device.Capture(0, [&] {
    EXPECT_THAT(device.Digit(0, 0, 1), HasCode(kLost, "freed by the test"));
    EXPECT_THAT(device.Digit(0, 1, 1), IsOk());
  });
  EXPECT_EQ(graph->ops().size(), 1u);
  EXPECT_THAT(device.device().health(), IsOk());
}

TEST(HostChecksTest, TheRedZoneBehindABlockIsReported) {
  TestDevice device;
  device.memory().NoteLive({device.word(0).base, 12}, "12 bytes");
  EXPECT_THAT(device.stream(0).Fill(device.word(0).base, 1, 4, 4), HasCode(kLost, "12 bytes"));
}

TEST(HostChecksTest, TwoStreamsWithoutAnEventAreARace) {
  for (const bool with_event : {false, true}) {
    TestDevice device;
    ASSERT_THAT(device.stream(0).Fill(device.word(0).base, 1, 4, 2), IsOk());
    if (with_event) {
      ASSERT_THAT(device.stream(0).Record(device.event(0)), IsOk());
      ASSERT_THAT(device.stream(1).Wait(device.event(0)), IsOk());
    }
    ASSERT_THAT(device.Digit(1, 0, 1), IsOk());
    device.stream(0).Synchronize().IgnoreError();
    const absl::Status status = device.stream(1).Synchronize();
    if (with_event) {
      EXPECT_THAT(status, IsOk());
    } else {
      EXPECT_THAT(status, HasCode(kLost, "race"));
      for (const char* named : {"digit", "fill", "on stream 0", "on stream 1"}) {
        EXPECT_THAT(status, HasCode(kLost, named));
      }
    }
  }
}

TEST(HostChecksTest, ARaceIsFoundInWhateverOrderItRan) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    HostOptions options;
    options.seed = seed;
    TestDevice device(options);
    ASSERT_THAT(device.Digit(0, 0, 1), IsOk());
    ASSERT_THAT(device.Digit(1, 0, 2), IsOk());
    device.stream(0).Synchronize().IgnoreError();
    EXPECT_THAT(device.stream(1).Synchronize(), HasCode(kLost, "race")) << "seed " << seed;
  }
}

TEST(HostChecksTest, RacesAreFoundInImmediateModeToo) {
  HostOptions options;
  options.scheduler = HostScheduler::kImmediate;
  TestDevice device(options);
  ASSERT_THAT(device.Digit(0, 0, 1), IsOk());
  ASSERT_THAT(device.Digit(1, 0, 2), IsOk());
  EXPECT_THAT(device.device().health(), HasCode(kLost, "race"));
}

TEST(HostChecksTest, BranchesOfAGraphThatMeetAreARace) {
  TestDevice device;
  const auto graph = device.Capture(0, [&] {
    EXPECT_THAT(device.stream(0).Record(device.event(0)), IsOk());
    EXPECT_THAT(device.stream(1).Wait(device.event(0)), IsOk());
    EXPECT_THAT(device.Digit(0, 0, 1), IsOk());
    EXPECT_THAT(device.Digit(1, 0, 2), IsOk());
    EXPECT_THAT(device.stream(1).Record(device.event(1)), IsOk());
    EXPECT_THAT(device.stream(0).Wait(device.event(1)), IsOk());
  });
  const auto executable = graph->Instantiate().value();
  ASSERT_THAT(executable->Launch(device.stream(0)), IsOk());
  EXPECT_THAT(device.stream(0).Synchronize(), HasCode(kLost, "another branch of the same graph"));
}

TEST(HostChecksTest, AReplayRacesWithEagerWork) {
  TestDevice device;
  const auto graph = device.Capture(0, [&] { EXPECT_THAT(device.Digit(0, 0, 1), IsOk()); });
  const auto executable = graph->Instantiate().value();
  ASSERT_THAT(executable->Launch(device.stream(0)), IsOk());
  ASSERT_THAT(device.Digit(1, 0, 2), IsOk());
  device.stream(0).Synchronize().IgnoreError();
  EXPECT_THAT(device.stream(1).Synchronize(), HasCode(kLost, "race"));
}

TEST(HostChecksTest, WaitingOnTheHostOrders) {
  TestDevice device;
  ASSERT_THAT(device.Digit(0, 0, 1), IsOk());
  ASSERT_THAT(device.stream(0).Record(device.event(0)), IsOk());
  ASSERT_THAT(device.event(0).Synchronize(), IsOk());
  ASSERT_THAT(device.Digit(1, 0, 2), IsOk());
  while (!device.stream(1).IsDone().value()) continue;
  ASSERT_THAT(device.Digit(2, 0, 3), IsOk());
  EXPECT_THAT(device.stream(2).Synchronize(), IsOk());
  EXPECT_EQ(device.at(0), 123u);
}

// The second stream has no work of its own: whoever waits for it waits for what it waited for.
TEST(HostChecksTest, WaitingForAStreamThatOnlyWaitedOrders) {
  for (const HostScheduler scheduler : {HostScheduler::kImmediate, HostScheduler::kSeeded}) {
    HostOptions options;
    options.scheduler = scheduler;
    TestDevice device(options);
    ASSERT_THAT(device.Digit(0, 0, 1), IsOk());
    ASSERT_THAT(device.stream(0).Record(device.event(0)), IsOk());
    ASSERT_THAT(device.stream(1).Wait(device.event(0)), IsOk());
    ASSERT_THAT(device.stream(1).Synchronize(), IsOk());
    ASSERT_THAT(device.Digit(2, 0, 3), IsOk());
    EXPECT_THAT(device.stream(2).Synchronize(), IsOk());
    EXPECT_EQ(device.at(0), 13u);
  }
}

TEST(HostChecksTest, WhatAHostCallSaysOrders) {
  HostOptions options;
  options.scheduler = HostScheduler::kThreads;
  TestDevice device(options);
  std::atomic<bool> arrived{false};
  ASSERT_THAT(device.Digit(0, 0, 1), IsOk());
  ASSERT_THAT(device.stream(0).CallHost([&] { arrived = true; }), IsOk());
  ASSERT_THAT(device.stream(0).Synchronize(), IsOk());
  while (!arrived) std::this_thread::yield();
  ASSERT_THAT(device.Digit(1, 0, 2), IsOk());
  EXPECT_THAT(device.stream(1).Synchronize(), IsOk());
}

TEST(HostChecksTest, FreshAndDeadBytesArePoisoned) {
  TestDevice device;
  device.at(0) = 1;
  device.memory().NoteLive(device.word(0), "fresh");
  EXPECT_EQ(device.at(0), 0xCBCBCBCBCBCBCBCBu);
  device.memory().NoteDead(device.word(0), "dead");
  EXPECT_EQ(device.at(0), 0xDBDBDBDBDBDBDBDBu);
  device.at(0) = 5;
  device.memory().NoteRevived(device.word(0), "back");
  EXPECT_EQ(device.at(0), 5u);
}

TEST(HostChecksTest, PoisonWaitsForTheWorkThatWasIssuedBefore) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    HostOptions options;
    options.seed = seed;
    TestDevice device(options);
    device.at(1) = 0;
    device.memory().NoteLive(device.word(0), "first life");
    ASSERT_THAT(device.stream(0).Fill(device.word(0).base, 1, 4, 2), IsOk());
    ASSERT_THAT(device.stream(0).Copy(device.word(1).base, device.word(0).base, 8), IsOk());
    device.memory().NoteDead(device.word(0), "freed with work on it queued");
    device.memory().NoteLive(device.word(0), "second life");
    ASSERT_THAT(device.stream(0).Copy(device.word(2).base, device.word(0).base, 8), IsOk());
    ASSERT_THAT(device.stream(0).Synchronize(), IsOk());
    EXPECT_EQ(device.at(1), 0x0000000100000001u) << "seed " << seed;
    EXPECT_EQ(device.at(2), 0xCBCBCBCBCBCBCBCBu) << "seed " << seed;
  }
}

// The op reads what its table points to, and nobody else knows of it. In a graph, too.
TEST(HostChecksTest, PoisonWaitsForAKernelThatReadsByTable) {
  const Kernel by_table(
      "by_table", {8},
      [](const HostCall& call) {
        const auto* const row = call.Get<const uint64_t*>(0);
        *reinterpret_cast<uint64_t*>(row[1]) = *reinterpret_cast<const uint64_t*>(row[0]);
      },
      {}, KernelOwner::kUser, KernelReach::kReadsByTable);
  TestDevice device;
  const auto issue = [&](int stream) {
    return device.stream(stream).Launch(by_table, {}, {Argument::In({device.word(4).base, 16})});
  };
  const auto graph = device.Capture(2, [&] { EXPECT_THAT(issue(2), IsOk()); });
  const auto executable = graph->Instantiate().value();
  device.at(4) = device.word(0).base;
  device.at(5) = device.word(1).base;
  for (const bool replays : {false, true}) {
    device.memory().NoteLive(device.word(0), "fresh");
    device.at(0) = 7;
    ASSERT_THAT(replays ? executable->Launch(device.stream(0)) : issue(0), IsOk());
    device.memory().NoteDead(device.word(0), "freed while it is read");
    ASSERT_THAT(device.stream(0).Synchronize(), IsOk());
    EXPECT_EQ(device.at(1), 7u) << (replays ? "in a graph" : "at once");
    EXPECT_EQ(device.at(0), 0xDBDBDBDBDBDBDBDBu);
    device.at(1) = 0;
  }
}

// An op that declares its pointers can touch nothing else: fresh bytes are filled at once while it
// waits, and not after it, when their new owner on another stream may have written them.
TEST(HostChecksTest, PoisonDoesNotWaitForDeclaredWorkElsewhere) {
  TestDevice device;
  ASSERT_THAT(device.Digit(0, 0, 1), IsOk());
  device.memory().NoteLive(device.word(1), "fresh");
  EXPECT_EQ(device.at(1), 0xCBCBCBCBCBCBCBCBu);
  EXPECT_THAT(device.stream(0).Synchronize(), IsOk());
  EXPECT_EQ(device.at(1), 0xCBCBCBCBCBCBCBCBu);
}

// The opaque op's stream has nothing to do with the others: poison that waits for it, as nobody
// knows what it touches, must not come over what they write meanwhile.
class PoisonBehindAnOpaqueOpTest : public testing::TestWithParam<uint64_t> {
 protected:
  PoisonBehindAnOpaqueOpTest() : device_(OptionsFor(GetParam())) {
    for (int i = 0; i < 4; ++i) device_.at(i) = 0;
    EXPECT_THAT(device_.Secret(0, device_.word(9).base), IsOk());
    device_.memory().NoteLive({device_.word(1).base, 16}, "fresh");
  }
  static HostOptions OptionsFor(uint64_t seed) {
    HostOptions options;
    options.seed = seed;
    return options;
  }
  void FinishAll() {
    for (const int stream : {1, 0}) EXPECT_THAT(device_.stream(stream).Synchronize(), IsOk());
  }

  TestDevice device_;
};
INSTANTIATE_TEST_SUITE_P(Seeds, PoisonBehindAnOpaqueOpTest, testing::Range<uint64_t>(1, 9));

TEST_P(PoisonBehindAnOpaqueOpTest, ComesBeforeAnOpThatNamesTheBytes) {
  ASSERT_THAT(device_.stream(1).Copy(device_.word(0).base, device_.word(1).base, 8), IsOk());
  ASSERT_THAT(device_.stream(1).Fill(device_.word(1).base, 1, 4, 2), IsOk());
  FinishAll();
  EXPECT_EQ(device_.at(0), 0xCBCBCBCBCBCBCBCBu) << "nobody had written what was read";
  EXPECT_EQ(device_.at(1), 0x0000000100000001u);
  EXPECT_EQ(device_.at(2), 0xCBCBCBCBCBCBCBCBu) << "nobody has written the rest";
}

TEST_P(PoisonBehindAnOpaqueOpTest, ComesBeforeAReplayThatNamesTheBytes) {
  const auto graph = device_.Capture(2, [&] {
    EXPECT_THAT(device_.stream(2).Fill(device_.word(1).base, 1, 4, 2), IsOk());
  });
  const auto executable = graph->Instantiate().value();
  ASSERT_THAT(executable->Launch(device_.stream(1)), IsOk());
  FinishAll();
  EXPECT_EQ(device_.at(1), 0x0000000100000001u);
  EXPECT_EQ(device_.at(2), 0xCBCBCBCBCBCBCBCBu);
}

TEST_P(PoisonBehindAnOpaqueOpTest, IsNotWrittenOverWhatAnotherOpaqueOpWrote) {
  ASSERT_THAT(device_.Secret(1, device_.word(2).base), IsOk());
  FinishAll();
  EXPECT_EQ(device_.at(2), 1u);
}

TEST_P(PoisonBehindAnOpaqueOpTest, ARaceForTheBytesIsFoundAllTheSame) {
  ASSERT_THAT(device_.Digit(2, 1, 1), IsOk());
  ASSERT_THAT(device_.Digit(1, 1, 2), IsOk());
  device_.stream(1).Synchronize().IgnoreError();
  EXPECT_THAT(device_.stream(2).Synchronize(), HasCode(kLost, "race"));
}

TEST(HostChecksTest, ChecksCanBeOff) {
  HostOptions options;
  options.poison = false;
  options.check_races = false;
  TestDevice device(options);
  device.at(0) = 1;
  device.memory().NoteLive(device.word(0), "fresh");
  EXPECT_EQ(device.at(0), 1u);
  ASSERT_THAT(device.Digit(0, 0, 1), IsOk());
  ASSERT_THAT(device.Digit(1, 0, 2), IsOk());
  EXPECT_THAT(device.stream(0).Synchronize(), IsOk());
  EXPECT_THAT(device.stream(1).Synchronize(), IsOk());
}

}  // namespace
}  // namespace graphtree::host
