// A device that met an error which kills it: the first error stays, nothing works, closing does.
//
// A program of its own: on CUDA the process's context is lost with the device, so nothing may come
// after it.
#include "tests/conformance/conformance.h"

namespace graphtree {
namespace {

class LostDeviceTest : public testing::TestWithParam<DeviceCase> {};
GRAPHTREE_ON_EVERY_DEVICE(LostDeviceTest);

void ExpectLost(Device& device, Stream& stream, Executable& executable, const Graph& graph) {
  const absl::Status first = stream.Synchronize();
  EXPECT_THAT(first, HasError(ErrorCode::kIllegalAddress, ""));
  EXPECT_EQ(device.health(), first);
  EXPECT_EQ(Empty(stream), first);
  EXPECT_EQ(stream.Copy(0, 0, 4), first);
  EXPECT_EQ(stream.Fill(0, 0, 4, 1), first);
  EXPECT_EQ(stream.CallHost([] {}), first);
  EXPECT_EQ(stream.IsDone().status(), first);
  EXPECT_EQ(stream.Synchronize(), first);
  EXPECT_EQ(stream.BeginCapture(CaptureMode::kThreadLocal), first);
  EXPECT_EQ(executable.Launch(stream), first);
  EXPECT_EQ(executable.Upload(stream), first);
  EXPECT_EQ(executable.Update(graph).status(), first);
  EXPECT_EQ(executable.PatchFill(0, {}), first);
  EXPECT_EQ(executable.PatchArgumentBytes(0, {}), first);
  EXPECT_EQ(graph.Instantiate().status(), first);
  EXPECT_EQ(device.NewStream().status(), first);
  EXPECT_EQ(device.NewEvent({}).status(), first);
  EXPECT_EQ(device.memory().Info().status(), first);
  EXPECT_EQ(device.memory().Reserve(device.memory().granularity(), {}).status(), first);
  EXPECT_EQ(device.memory().Create(device.memory().granularity()).status(), first);
  EXPECT_EQ(device.memory().AllocateHost(64).status(), first);
  EXPECT_FALSE(graph.ops().empty()) << "what was listed stays";
}

TEST_P(LostDeviceTest, TheFirstErrorStaysAndClosingWorks) {
  absl::StatusOr<std::unique_ptr<Device>> opened = GetParam().open();
  if (!opened.ok() && GetParam().may_be_missing) GTEST_SKIP() << opened.status().message();
  ASSERT_THAT(opened, IsOk());
  Device& device = **opened;
  const uint64_t bytes = device.memory().granularity();
  ASSERT_OK_AND_ASSIGN(const AddressRange nowhere, device.memory().Reserve(bytes, {}));
  ASSERT_OK_AND_ASSIGN(const AddressRange mapped, device.memory().Reserve(bytes, {}));
  {
    ASSERT_OK_AND_ASSIGN(const auto physical, device.memory().Create(bytes));
    ASSERT_THAT(device.memory().Map(mapped.base, *physical), IsOk());
    ASSERT_THAT(device.memory().SetAccess(mapped, MemoryAccess::kReadWrite), IsOk());
    ASSERT_OK_AND_ASSIGN(const auto host, device.memory().AllocateHost(64));
    ASSERT_OK_AND_ASSIGN(const auto event, device.NewEvent({}));
    ASSERT_OK_AND_ASSIGN(const auto stream, device.NewStream());
    ASSERT_THAT(stream->BeginCapture(CaptureMode::kThreadLocal), IsOk());
    ASSERT_THAT(stream->Fill(mapped.base, 1, 4, 16), IsOk());
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Graph> graph, stream->EndCapture());
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Executable> executable, graph->Instantiate());
    ASSERT_THAT(executable->Launch(*stream), IsOk());
    ASSERT_THAT(stream->Synchronize(), IsOk());
    ASSERT_OK_AND_ASSIGN(const auto capturing, device.NewStream());
    ASSERT_THAT(capturing->BeginCapture(CaptureMode::kRelaxed), IsOk());
    // Where work runs at once, this call already fails.
    FillPattern(*stream, {nowhere.base, 64}, 1).IgnoreError();
    ExpectLost(device, *stream, *executable, *graph);
    EXPECT_EQ(capturing->EndCapture().status(), device.health());
    EXPECT_EQ(device.open_captures(), 0) << "what waits for its end may go on";
  }
  // What a lost device says to giving memory back is its own affair; it must forget it.
  device.memory().Unmap(mapped).IgnoreError();
  device.memory().Release(mapped).IgnoreError();
  device.memory().Release(nowhere).IgnoreError();
  EXPECT_THAT(device.Close(), IsOk());
  EXPECT_FALSE(device.health().ok()) << "closing does not heal";
}

}  // namespace
}  // namespace graphtree
