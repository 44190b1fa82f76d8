// The fault device over the host device: it is transparent until a fault, and faithful in one.
#include "device/fault/fault_device.h"

#include <memory>
#include <vector>

#include "device/base/status_macros.h"
#include "device/base/status_matchers.h"
#include "device/fault/every_call.h"
#include "device/host/host_device.h"
#include "gtest/gtest.h"
#include "tests/kernels/launches.h"

namespace graphtree {
namespace {

std::unique_ptr<Device> MakeHost() { return OpenHostDevice({}).value(); }

// Everything a small program does, once: map, run, capture, replay, patch, update, give back. Gives
// back what it took whatever fails, as a program that is worth its salt does.
class Program {
 public:
  explicit Program(Device& device) : device_(device), memory_(device.memory()) {}
  ~Program() { GiveBack(); }

  absl::Status Run() {
    GRAPHTREE_RETURN_IF_ERROR(Prepare());
    GRAPHTREE_RETURN_IF_ERROR(Increment(*stream_, range_, 1));
    GRAPHTREE_RETURN_IF_ERROR(stream_->Record(*event_));
    GRAPHTREE_RETURN_IF_ERROR(event_->Synchronize());
    GRAPHTREE_RETURN_IF_ERROR(Record());
    GRAPHTREE_ASSIGN_OR_RETURN(executable_, graph_->Instantiate());
    GRAPHTREE_RETURN_IF_ERROR(executable_->Upload(*stream_));
    GRAPHTREE_RETURN_IF_ERROR(executable_->Launch(*stream_));
    GRAPHTREE_RETURN_IF_ERROR(event_->Synchronize());
    GRAPHTREE_RETURN_IF_ERROR(executable_->PatchKernel(0, IncrementKernel(), TestShape(),
                                                       IncrementArguments(range_, 100)));
    GRAPHTREE_RETURN_IF_ERROR(executable_->Launch(*stream_));
    GRAPHTREE_RETURN_IF_ERROR(executable_->Update(*graph_).status());
    GRAPHTREE_RETURN_IF_ERROR(executable_->Launch(*stream_));
    GRAPHTREE_RETURN_IF_ERROR(stream_->Copy(host_->range().base, range_.base, 4));
    return stream_->Synchronize();
  }
  // 1 from the eager launch, 10 + 100 + 10 from the replays.
  static constexpr uint32_t kResult = 121;
  uint32_t result() const { return *static_cast<uint32_t*>(host_->data()); }

 private:
  absl::Status Prepare() {
    GRAPHTREE_RETURN_IF_ERROR(memory_.Info().status());
    GRAPHTREE_ASSIGN_OR_RETURN(physical_, memory_.Create(memory_.granularity()));
    GRAPHTREE_ASSIGN_OR_RETURN(reserved_, memory_.Reserve(memory_.granularity(), {}));
    GRAPHTREE_RETURN_IF_ERROR(memory_.Map(reserved_.base, *physical_));
    mapped_ = true;
    GRAPHTREE_RETURN_IF_ERROR(memory_.SetAccess(reserved_, MemoryAccess::kReadWrite));
    GRAPHTREE_ASSIGN_OR_RETURN(host_, memory_.AllocateHost(64));
    GRAPHTREE_ASSIGN_OR_RETURN(stream_, device_.NewStream());
    GRAPHTREE_ASSIGN_OR_RETURN(event_, device_.NewEvent({}));
    GRAPHTREE_RETURN_IF_ERROR(device_.Load(IncrementKernel()));
    range_ = {reserved_.base, 64};
    return stream_->Fill(range_.base, 0, 4, 16);
  }

  absl::Status Record() {
    GRAPHTREE_RETURN_IF_ERROR(stream_->BeginCapture(CaptureMode::kThreadLocal));
    const absl::Status captured = [&] {
      GRAPHTREE_RETURN_IF_ERROR(Increment(*stream_, range_, 10));
      GRAPHTREE_RETURN_IF_ERROR(stream_->RecordExternal(*event_));
      GRAPHTREE_RETURN_IF_ERROR(stream_->CaptureFrontier().status());
      GRAPHTREE_RETURN_IF_ERROR(stream_->CapturedOps().status());
      GRAPHTREE_RETURN_IF_ERROR(stream_->CapturedOpCount().status());
      return stream_->Capture().status();
    }();
    absl::StatusOr<std::unique_ptr<Graph>> graph = stream_->EndCapture();
    GRAPHTREE_RETURN_IF_ERROR(captured);
    GRAPHTREE_RETURN_IF_ERROR(graph.status());
    graph_ = *std::move(graph);
    return absl::OkStatus();
  }

  // Giving back may fail as well; a second try is made once, as the faults here come alone.
  template <typename Call>
  void Insist(Call call) {
    if (call().ok()) return;
    EXPECT_THAT(call(), IsOk());
  }

  void GiveBack() {
    if (stream_ != nullptr) {
      Insist([&] { return stream_->Synchronize(); });
    }
    if (mapped_) {
      Insist([&] { return memory_.Unmap(reserved_); });
    }
    if (!reserved_.empty()) {
      Insist([&] { return memory_.Release(reserved_); });
    }
  }

  Device& device_;
  Memory& memory_;
  AddressRange reserved_;
  AddressRange range_;
  bool mapped_ = false;
  std::unique_ptr<PhysicalMemory> physical_;
  std::unique_ptr<HostBuffer> host_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Event> event_;
  std::unique_ptr<Graph> graph_;
  std::unique_ptr<Executable> executable_;
};

TEST(FaultDeviceTest, WithoutAFaultItIsTheDeviceThatItWraps) {
  FaultDevice device(MakeHost());
  {
    Program program(device);
    ASSERT_THAT(program.Run(), IsOk());
    EXPECT_EQ(program.result(), Program::kResult);
  }
  EXPECT_EQ(device.info().name, "host");
  EXPECT_EQ(device.capabilities().size(), AllCapabilities().size());
  EXPECT_GE(device.plan().calls(), 25u);
  EXPECT_EQ(device.plan().calls_of("Executable.Launch"), 3u);
  EXPECT_EQ(device.plan().fired(), 0u);
  EXPECT_THAT(device.health(), IsOk());
  EXPECT_THAT(device.Close(), IsOk());
}

TEST(FaultDeviceTest, EveryCallCanFailAndNothingLeaks) {
  const uint64_t calls = ForEveryFailingCall(MakeHost, [](FaultDevice& device) {
    bool worked = false;
    {
      Program program(device);
      const absl::Status status = program.Run();
      worked = status.ok();
      if (worked) {
        EXPECT_EQ(program.result(), Program::kResult);
      } else {
        EXPECT_EQ(ErrorCodeOf(status), ErrorCode::kOutOfMemory) << status;
      }
    }
    EXPECT_TRUE(worked || device.plan().fired() == 1) << "it failed without a fault";
  });
  EXPECT_GE(calls, 25u);
}

TEST(FaultDeviceTest, ACallOfANameFails) {
  FaultDevice device(MakeHost());
  device.plan().FailCallOf("Graph.Instantiate", 1, ErrorCode::kOutOfMemory);
  {
    Program program(device);
    const absl::Status status = program.Run();
    EXPECT_THAT(status, FailsWith(absl::StatusCode::kResourceExhausted, "Graph.Instantiate"));
  }
  EXPECT_THAT(device.Close(), IsOk());
}

TEST(FaultDeviceTest, AFailedEndOfACaptureHasEndedIt) {
  FaultDevice device(MakeHost());
  {
    std::unique_ptr<Stream> stream = device.NewStream().value();
    ASSERT_THAT(stream->BeginCapture(CaptureMode::kThreadLocal), IsOk());
    EXPECT_EQ(device.open_captures(), 1);
    device.plan().FailCall(1, ErrorCode::kCaptureInvalidated);
    EXPECT_EQ(ErrorCodeOf(stream->EndCapture().status()), ErrorCode::kCaptureInvalidated);
    EXPECT_EQ(device.open_captures(), 0);
    EXPECT_THAT(Empty(*stream), IsOk());
    EXPECT_THAT(stream->Synchronize(), IsOk());
  }
  EXPECT_THAT(device.Close(), IsOk());
}

TEST(FaultDeviceTest, ALostDeviceStaysLostAndCloses) {
  FaultDevice device(MakeHost());
  {
    std::unique_ptr<Stream> stream = device.NewStream().value();
    device.plan().FailCallOf("Stream.Synchronize", 1, ErrorCode::kIllegalAddress);
    const absl::Status first = stream->Synchronize();
    EXPECT_EQ(ErrorCodeOf(first), ErrorCode::kIllegalAddress);
    EXPECT_EQ(Empty(*stream), first);
    EXPECT_EQ(device.NewEvent({}).status(), first);
    EXPECT_EQ(device.memory().Info().status(), first);
    EXPECT_EQ(device.health(), first);
  }
  EXPECT_THAT(device.Close(), IsOk());
}

TEST(FaultDeviceTest, ACloseThatFailsMayBeTriedAgain) {
  FaultDevice device(MakeHost());
  device.plan().FailCall(1, ErrorCode::kUnknown);
  EXPECT_FALSE(device.Close().ok());
  EXPECT_THAT(device.Close(), IsOk());
}

TEST(FaultDeviceTest, ObjectsOfOtherDevicesAreRefusedByTheWrappedOne) {
  FaultDevice device(MakeHost());
  const std::unique_ptr<Device> other = MakeHost();
  {
    std::unique_ptr<Stream> stream = device.NewStream().value();
    std::unique_ptr<Event> foreign_event = other->NewEvent({}).value();
    std::unique_ptr<Stream> foreign_stream = other->NewStream().value();
    EXPECT_FALSE(stream->Record(*foreign_event).ok());
    EXPECT_FALSE(stream->Wait(*foreign_event).ok());
    ASSERT_THAT(stream->BeginCapture(CaptureMode::kThreadLocal), IsOk());
    std::unique_ptr<Graph> graph = stream->EndCapture().value();
    std::unique_ptr<Executable> executable = graph->Instantiate().value();
    EXPECT_FALSE(executable->Launch(*foreign_stream).ok());
  }
  EXPECT_THAT(device.Close(), IsOk());
  EXPECT_THAT(other->Close(), IsOk());
}

}  // namespace
}  // namespace graphtree
