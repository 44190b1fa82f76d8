// A session over the host's stand-in: what is told of each op, coming and going, launches of
// others, and every call of CUPTI failing once.
#include "profiler/cupti/cupti_session.h"

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "device/base/status_matchers.h"
#include "device/graph.h"
#include "device/host/host_options.h"
#include "device/launch_gate.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler/activity/activity.h"
#include "profiler/activity/activity_source.h"
#include "profiler/cupti/fault_cupti.h"
#include "profiler/cupti/host_cupti.h"
#include "profiler/cupti/session_test_device.h"
#include "profiler/cupti/test_listener.h"

namespace graphtree::cupti {
namespace {

using activity::ActivityKind;
using activity::AttachOptions;
using activity::DetachHow;
using activity::SourceState;
using std::chrono::milliseconds;
using testing::Contains;
using testing::HasSubstr;

class CuptiSessionTest : public testing::Test {
 protected:
  std::unique_ptr<CuptiSession> NewSession(SessionOptions options = {}) {
    options.clock = [this] { return ForeignLaunches::Time(milliseconds(now_ms_.load())); };
    auto host = std::make_unique<HostCupti>(std::vector<Device*>{&test_.device()});
    return std::make_unique<CuptiSession>(std::make_unique<FaultCupti>(std::move(host), &calls_),
                                          std::move(options));
  }
  std::unique_ptr<Executable> Make(const Graph& graph) {
    return std::move(graph.Instantiate()).value();
  }
  void Run(Executable& executable) {
    ASSERT_THAT(executable.Launch(*stream_), IsOk());
    ASSERT_THAT(stream_->Synchronize(), IsOk());
  }
  // As if another library launched a graph on this thread.
  void ForeignBegins() { calls_.events->GraphLaunch({true, 4711, &calls_}); }
  void ForeignEnds() { calls_.events->GraphLaunch({false, 4711, &calls_}); }

  // The ops that have records, in their order, each with its id.
  static std::vector<const Op*> Recorded(const Graph& graph) {
    std::vector<const Op*> recorded;
    for (const Op& op : graph.ops()) {
      if (op.kind == OpKind::kKernel || op.kind == OpKind::kCopy || op.kind == OpKind::kFill) {
        recorded.push_back(&op);
      }
    }
    return recorded;
  }

  std::atomic<int64_t> now_ms_{1000};
  CuptiCalls calls_;
  SessionTestDevice test_;
  std::unique_ptr<Stream> stream_ = test_.NewStream();
  std::unique_ptr<Graph> graph_ = test_.NewGraph();
  TestListener listener_;
};

ActivityKind KindOf(const Op& op) {
  return op.kind == OpKind::kKernel ? ActivityKind::kKernel
         : op.kind == OpKind::kCopy ? ActivityKind::kCopy
                                    : ActivityKind::kFill;
}

struct Launch {
  Executable* executable;
  const Graph* graph;
  uint64_t correlation = 0;
  uint32_t id = 0;
  int64_t from = 0, to = 0;
};

void ExpectTold(const KeptOp& kept, const Launch& launch, const Op& op) {
  EXPECT_EQ(kept.op.kind, KindOf(op));
  EXPECT_EQ(kept.op.graph, launch.id);
  EXPECT_EQ(kept.op.graph_node, uint64_t{launch.id} << 32 | op.id);
  EXPECT_EQ(kept.op.correlation, launch.correlation);
  EXPECT_GE(kept.op.start_ns, launch.from);
  EXPECT_GE(kept.op.end_ns, kept.op.start_ns);
  EXPECT_LE(kept.op.end_ns, launch.to);
  if (op.kind != OpKind::kKernel) {
    EXPECT_EQ(kept.op.bytes, 8);
    return;
  }
  EXPECT_EQ(kept.name, op.name);
  EXPECT_EQ(kept.op.grid, op.shape.grid);
  EXPECT_EQ(kept.op.block, op.shape.block);
}

TEST_F(CuptiSessionTest, EveryOpOfALaunchIsTold) {
  std::unique_ptr<Executable> before = Make(*graph_);
  std::unique_ptr<CuptiSession> session = NewSession();
  EXPECT_EQ(session->state(), SourceState::kDetached);
  ASSERT_THAT(session->Attach(&listener_, {}), IsOk());
  EXPECT_EQ(session->state(), SourceState::kAttached);
  std::unique_ptr<Executable> after = Make(*graph_);
  std::unique_ptr<Graph> other_graph = test_.NewGraph(5);
  std::unique_ptr<Executable> other = Make(*other_graph);

  std::vector<Launch> launches = {{before.get(), graph_.get()},
                                  {after.get(), graph_.get()},
                                  {other.get(), other_graph.get()},
                                  {before.get(), graph_.get()}};
  for (Launch& launch : launches) {
    launch.from = session->NowNs().value();
    ASSERT_THAT(launch.executable->Launch(*stream_), IsOk());
    launch.correlation = session->CorrelationOf(*launch.executable);
    ASSERT_THAT(stream_->Synchronize(), IsOk());
    launch.to = session->NowNs().value();
    launch.id = session->IdOf(*launch.executable);
  }
  EXPECT_NE(launches[0].id, 0u);
  EXPECT_NE(launches[0].id, launches[1].id);
  EXPECT_EQ(launches[0].id, launches[3].id);
  ASSERT_THAT(session->Detach({}), IsOk());
  EXPECT_EQ(session->state(), SourceState::kDetached);

  size_t next = 0;
  for (const Launch& launch : launches) {
    EXPECT_NE(launch.correlation, 0u);
    for (const Op* op : Recorded(*launch.graph)) {
      ASSERT_LT(next, listener_.ops.size());
      ExpectTold(listener_.ops[next++], launch, *op);
    }
  }
  EXPECT_EQ(next, listener_.ops.size());
  EXPECT_EQ(listener_.dropped, 0u);
  EXPECT_TRUE(listener_.notes.empty());
  ASSERT_EQ(listener_.launches.size(), launches.size());
  for (size_t i = 0; i < launches.size(); ++i) {
    EXPECT_EQ(listener_.launches[i].correlation, launches[i].correlation);
    EXPECT_FALSE(listener_.launches[i].is_foreign);
  }
}

TEST_F(CuptiSessionTest, OpsThatAreLaunchedAloneAreOfNoGraph) {
  std::unique_ptr<CuptiSession> session = NewSession();
  ASSERT_THAT(session->Attach(&listener_, {}), IsOk());
  ASSERT_THAT(test_.AddOne(*stream_, test_.spare(), 1), IsOk());
  ASSERT_THAT(test_.AddOne(*stream_, test_.spare(), 1), IsOk());
  ASSERT_THAT(stream_->Synchronize(), IsOk());
  ASSERT_THAT(session->Flush(), IsOk());
  ASSERT_EQ(listener_.ops.size(), 2u);
  for (const KeptOp& kept : listener_.ops) {
    EXPECT_EQ(session->IdOf(*stream_), kept.op.stream);
    EXPECT_EQ(kept.op.graph, 0u);
    EXPECT_EQ(kept.op.graph_node, 0u);
  }
  EXPECT_NE(listener_.ops[0].op.correlation, listener_.ops[1].op.correlation);
  ASSERT_THAT(session->Detach({}), IsOk());
}

TEST_F(CuptiSessionTest, DetachedItHearsAndAnswersNothing) {
  std::unique_ptr<Executable> executable = Make(*graph_);
  std::unique_ptr<CuptiSession> session = NewSession();
  for (int round = 0; round < 3; ++round) {
    ASSERT_THAT(session->Attach(&listener_, {}), IsOk());
    Run(*executable);
    ASSERT_THAT(session->Detach({}), IsOk());
    EXPECT_TRUE(calls_.all_off());
    EXPECT_EQ(calls_.finalized, round + 1);
    const size_t heard = listener_.ops.size();
    EXPECT_EQ(heard, (round + 1) * Recorded(*graph_).size());
    Run(*executable);
    EXPECT_EQ(listener_.ops.size(), heard);
    EXPECT_EQ(session->IdOf(*executable), 0u);
    EXPECT_EQ(session->CorrelationOf(*executable), 0u);
    EXPECT_EQ(session->IdOf(*stream_), -1);
    EXPECT_THAT(session->NowNs(), FailsWith(absl::StatusCode::kFailedPrecondition, "not attached"));
    EXPECT_THAT(session->Flush(), FailsWith(absl::StatusCode::kFailedPrecondition, "detached"));
    EXPECT_THAT(session->Detach({}),
                FailsWith(absl::StatusCode::kFailedPrecondition, "not attached"));
    EXPECT_EQ(session->Poll(), SourceState::kDetached);
  }
}

TEST_F(CuptiSessionTest, WhatIsAskedWronglyIsRefusedInWords) {
  std::unique_ptr<CuptiSession> session = NewSession();
  EXPECT_THAT(session->Attach(nullptr, {}),
              FailsWith(absl::StatusCode::kInvalidArgument, "without a listener"));
  EXPECT_THAT(session->Attach(&listener_, {.buffer_bytes = 10}),
              FailsWith(absl::StatusCode::kInvalidArgument, "of 10 bytes"));
  EXPECT_THAT(session->Attach(&listener_, {.most_buffers = 0}),
              FailsWith(absl::StatusCode::kInvalidArgument, "0 buffers"));
  ASSERT_THAT(session->Attach(&listener_, {}), IsOk());
  TestListener second;
  EXPECT_THAT(session->Attach(&second, {}),
              FailsWith(absl::StatusCode::kFailedPrecondition, "attached already"));
  // CUPTI has one user; the one who came second leaves nothing behind.
  CuptiSession beside(std::make_unique<HostCupti>(std::vector<Device*>{&test_.device()}), {});
  EXPECT_THAT(beside.Attach(&second, {}),
              FailsWith(absl::StatusCode::kFailedPrecondition, "somebody else watches"));
  EXPECT_EQ(beside.state(), SourceState::kDetached);
  ASSERT_THAT(session->Detach({}), IsOk());
  ASSERT_THAT(beside.Attach(&second, {}), IsOk());
}

// A listener that holds up the feed, so that buffers run out.
class SlowListener : public TestListener {
 public:
  void Op(const activity::Activity& op) override {
    while (!may_go.load()) std::this_thread::yield();
    TestListener::Op(op);
  }
  std::atomic<bool> may_go{false};
};

TEST_F(CuptiSessionTest, WhatFindsNoRoomIsDroppedAndCounted) {
  constexpr size_t kLaunches = 40;
  std::unique_ptr<Executable> executable = Make(*graph_);
  std::unique_ptr<CuptiSession> session = NewSession();
  SlowListener slow;
  ASSERT_THAT(session->Attach(&slow, {.buffer_bytes = 1024, .most_buffers = 2}), IsOk());
  for (size_t i = 0; i < kLaunches; ++i) Run(*executable);
  slow.may_go.store(true);
  ASSERT_THAT(session->Detach({}), IsOk());
  EXPECT_GT(slow.dropped, 0u);
  EXPECT_GT(slow.ops.size(), 0u);
  EXPECT_EQ(slow.ops.size() + slow.dropped, kLaunches * Recorded(*graph_).size());
  EXPECT_THAT(slow.notes, Contains(HasSubstr("all 2 buffers were full")));
}

TEST_F(CuptiSessionTest, BesideLaunchesOfOthersItLingers) {
  std::unique_ptr<Executable> executable = Make(*graph_);
  std::unique_ptr<CuptiSession> session = NewSession();
  ASSERT_THAT(session->Attach(&listener_, {}), IsOk());
  Run(*executable);
  ForeignBegins();
  ForeignEnds();
  ASSERT_EQ(listener_.launches.size(), 2u);
  EXPECT_TRUE(listener_.launches[1].is_foreign);
  EXPECT_EQ(listener_.launches[1].correlation, 4711u);
  EXPECT_THAT(session->Detach({}), FailsWith(absl::StatusCode::kUnavailable, "20 us more"));
  EXPECT_EQ(session->state(), SourceState::kLingering);
  EXPECT_THAT(listener_.notes, Contains(HasSubstr("1 launches of graphs by others")));
  EXPECT_TRUE(calls_.enabled.empty());
  EXPECT_EQ(calls_.finalized, 0);
  const size_t heard = listener_.ops.size();
  EXPECT_EQ(heard, Recorded(*graph_).size());
  Run(*executable);
  ForeignBegins();
  EXPECT_EQ(listener_.ops.size(), heard);
  EXPECT_EQ(listener_.launches.size(), 2u);

  now_ms_ += 10000;
  EXPECT_EQ(session->Poll(), SourceState::kLingering);  // one is under way
  ForeignEnds();
  EXPECT_EQ(session->Poll(), SourceState::kLingering);
  EXPECT_THAT(session->Detach({}), FailsWith(absl::StatusCode::kUnavailable, "put off"));
  now_ms_ += 200;
  EXPECT_EQ(session->Poll(), SourceState::kDetached);
  EXPECT_TRUE(calls_.all_off());
  EXPECT_EQ(calls_.finalized, 1);
}

TEST_F(CuptiSessionTest, WhatLingersAttachesAgainWithoutComing) {
  std::unique_ptr<Executable> executable = Make(*graph_);
  std::unique_ptr<CuptiSession> session = NewSession();
  ASSERT_THAT(session->Attach(&listener_, {}), IsOk());
  ForeignBegins();
  ASSERT_FALSE(session->Detach({}).ok());
  TestListener second;
  ASSERT_THAT(session->Attach(&second, {}), IsOk());
  EXPECT_EQ(session->state(), SourceState::kAttached);
  Run(*executable);
  EXPECT_THAT(session->Detach({.how = DetachHow::kForce}), IsOk());
  EXPECT_EQ(session->state(), SourceState::kDetached);
  EXPECT_EQ(second.ops.size(), Recorded(*graph_).size());
  EXPECT_TRUE(listener_.ops.empty());
  EXPECT_EQ(calls_.finalized, 1);
}

TEST_F(CuptiSessionTest, ASessionThatGoesWhileItLingersLeavesNoUser) {
  std::unique_ptr<CuptiSession> session = NewSession();
  ASSERT_THAT(session->Attach(&listener_, {}), IsOk());
  ForeignBegins();
  session.reset();
  EXPECT_TRUE(calls_.all_off());
  EXPECT_EQ(calls_.finalized, 0);
  EXPECT_EQ(calls_.unsubscribed, 1);
}

TEST_F(CuptiSessionTest, ASessionThatGoesDetaches) {
  std::unique_ptr<Executable> executable = Make(*graph_);
  std::unique_ptr<CuptiSession> session = NewSession();
  ASSERT_THAT(session->Attach(&listener_, {}), IsOk());
  Run(*executable);
  session.reset();
  EXPECT_TRUE(calls_.all_off());
  EXPECT_EQ(listener_.ops.size(), Recorded(*graph_).size());
}

TEST_F(CuptiSessionTest, TheEnvironmentMayForbidToFinalize) {
  SessionOptions options;
  options.finalizes = false;
  std::unique_ptr<CuptiSession> session = NewSession(options);
  for (int round = 1; round <= 2; ++round) {
    ASSERT_THAT(session->Attach(&listener_, {}), IsOk());
    ForeignBegins();
    ASSERT_THAT(session->Detach({}), IsOk());
    EXPECT_EQ(calls_.finalized, 0);
    EXPECT_EQ(calls_.unsubscribed, round);
    EXPECT_TRUE(calls_.all_off());
  }
  EXPECT_THAT(listener_.notes, Contains(HasSubstr("TEARDOWN_CUPTI=0")));
}

TEST_F(CuptiSessionTest, TheEnvironmentMayForbidToComeAgain) {
  SessionOptions options;
  options.attaches_again = false;
  std::unique_ptr<CuptiSession> session = NewSession(options);
  ASSERT_THAT(session->Attach(&listener_, {}), IsOk());
  ASSERT_THAT(session->Detach({}), IsOk());
  EXPECT_THAT(session->Attach(&listener_, {}),
              FailsWith(absl::StatusCode::kFailedPrecondition, "DISABLE_CUPTI_LAZY_REINIT"));
  EXPECT_EQ(session->state(), SourceState::kDetached);
}

TEST_F(CuptiSessionTest, ALaunchThatDoesNotEndHoldsUpNobodyForEver) {
  LaunchGate gate;
  LaunchPlace place(gate, nullptr);
  CuptiSession session(std::make_unique<HostCupti>(std::vector<Device*>{&test_.device()}), {},
                       gate);
  {
    const LaunchPass pass(place);
    EXPECT_THAT(session.Attach(&listener_, {.patience = milliseconds(1)}),
                FailsWith(absl::StatusCode::kDeadlineExceeded, "do not end"));
    EXPECT_EQ(session.state(), SourceState::kDetached);
  }
  ASSERT_THAT(session.Attach(&listener_, {}), IsOk());
  {
    const LaunchPass pass(place);
    EXPECT_THAT(session.Detach({.patience = milliseconds(1)}),
                FailsWith(absl::StatusCode::kUnavailable, "do not end"));
    EXPECT_EQ(session.state(), SourceState::kLingering);
  }
  EXPECT_EQ(session.Poll(), SourceState::kDetached);
}

// Whichever call fails: it is told, everything is off, and the next time all goes well.
TEST_F(CuptiSessionTest, EveryCallMayFail) {
  std::unique_ptr<Executable> executable = Make(*graph_);
  int failures = 0;
  for (int n = 1;; ++n) {
    calls_ = {};
    calls_.fail_at = n;
    TestListener listener;
    std::unique_ptr<CuptiSession> session = NewSession();
    absl::Status status = session->Attach(&listener, {});
    const bool was_attached = status.ok();
    if (was_attached) {
      Run(*executable);
      status = session->Detach({});
    }
    if (calls_.failed.empty()) {
      EXPECT_THAT(status, IsOk());
      break;
    }
    ++failures;
    SCOPED_TRACE(calls_.failed);
    EXPECT_THAT(status, FailsWith(absl::StatusCode::kInternal, calls_.failed + " fails, as call "));
    EXPECT_THAT(status, FailsWith(absl::StatusCode::kInternal, was_attached ? "detaching" :
                                                                              "attaching"));
    EXPECT_EQ(session->state(), SourceState::kDetached);
    EXPECT_TRUE(calls_.all_off());
    Run(*executable);
    EXPECT_LE(listener.ops.size(), Recorded(*graph_).size());

    calls_.fail_at = 0;
    TestListener again;
    ASSERT_THAT(session->Attach(&again, {}), IsOk());
    Run(*executable);
    ASSERT_THAT(session->Detach({}), IsOk());
    EXPECT_EQ(again.ops.size(), Recorded(*graph_).size());
  }
  EXPECT_EQ(failures, 11);  // six on the way in; a flush, three kinds and the end on the way out
}

TEST_F(CuptiSessionTest, ASystemWithoutThreadsIsAnError) {
  SessionOptions options;
  bool has_threads = false;
  options.start_thread = [&](std::function<void()> run, std::thread* thread) {
    return has_threads ? StartThreadOfSystem(std::move(run), thread)
                       : absl::UnknownError("no thread is left");
  };
  std::unique_ptr<CuptiSession> session = NewSession(options);
  EXPECT_THAT(session->Attach(&listener_, {}),
              FailsWith(absl::StatusCode::kUnknown, "attaching"));
  EXPECT_EQ(session->state(), SourceState::kDetached);
  EXPECT_TRUE(calls_.all_off());
  EXPECT_EQ(calls_.made, 0);
  has_threads = true;
  ASSERT_THAT(session->Attach(&listener_, {}), IsOk());
  ASSERT_THAT(session->Detach({}), IsOk());
}

// The same while it comes again from lingering.
TEST_F(CuptiSessionTest, WhatLingersGoesOnLingeringIfItCannotAttach) {
  std::unique_ptr<CuptiSession> session = NewSession();
  ASSERT_THAT(session->Attach(&listener_, {}), IsOk());
  ForeignBegins();
  ASSERT_FALSE(session->Detach({}).ok());
  for (int n = 1; n <= 3; ++n) {
    calls_.fail_at = calls_.made + n;
    EXPECT_THAT(session->Attach(&listener_, {}),
                FailsWith(absl::StatusCode::kInternal, "EnableKind"));
    EXPECT_EQ(session->state(), SourceState::kLingering);
    EXPECT_TRUE(calls_.enabled.empty());
  }
  ForeignEnds();
  now_ms_ += 1000;
  EXPECT_EQ(session->Poll(), SourceState::kDetached);
  EXPECT_TRUE(calls_.all_off());
}

}  // namespace
}  // namespace graphtree::cupti
