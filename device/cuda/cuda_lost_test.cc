// A kernel that writes where nothing is kills the context. The device is then lost: every call
// gives the first error, and everything can still be dropped and closed. Its own binary and its
// last test: nothing works in the process afterwards.
#include "device/cuda/gpu_fixture.h"
#include "device/error.h"

namespace graphtree {
namespace {

TEST(LostTest, TheFirstErrorIsGivenEverAfter) {
  const absl::StatusOr<int> count = CountCudaDevices();
  if (!count.ok()) GTEST_SKIP() << "needs a GPU: " << count.status().message();
  auto device = OpenCudaDevice(0, {});
  ASSERT_THAT(device, IsOk());
  Memory& memory = (*device)->memory();
  auto stream = (*device)->NewStream();
  auto event = (*device)->NewEvent({});
  auto range = memory.Reserve(memory.granularity(), {});
  auto physical = memory.Create(memory.granularity());
  auto host = memory.AllocateHost(4096);
  ASSERT_TRUE(stream.ok() && event.ok() && range.ok() && physical.ok() && host.ok());
  ASSERT_THAT(memory.Map(range->base, **physical), IsOk());
  const Kernel bad("write_nowhere", {}, nullptr, CudaSymbol{kWriteNowhereSymbol});
  ASSERT_THAT((*stream)->BeginCapture(CaptureMode::kThreadLocal), IsOk());
  ASSERT_THAT((*stream)->Launch(bad, {}, {}), IsOk());
  auto graph = (*stream)->EndCapture();
  ASSERT_THAT(graph, IsOk());
  auto executable = (*graph)->Instantiate();
  ASSERT_THAT(executable, IsOk());
  EXPECT_THAT((*device)->health(), IsOk());

  EXPECT_THAT((*executable)->Launch(**stream), IsOk());
  const absl::Status first = (*stream)->Synchronize();
  EXPECT_EQ(ErrorCodeOf(first), ErrorCode::kIllegalAddress) << first;
  EXPECT_EQ((*device)->health(), first);
  EXPECT_EQ((*executable)->Launch(**stream), first);
  EXPECT_EQ((*executable)->PatchKernel(0, bad, {}, {}), first);
  EXPECT_EQ((*stream)->Launch(bad, {}, {}), first);
  EXPECT_EQ((*stream)->Fill(range->base, 0, 1, 1), first);
  EXPECT_EQ((*stream)->Record(**event), first);
  EXPECT_EQ((*stream)->IsDone().status(), first);
  EXPECT_EQ((*event)->Synchronize(), first);
  EXPECT_EQ((*graph)->Instantiate().status(), first);
  EXPECT_EQ((*device)->NewStream().status(), first);
  EXPECT_EQ(memory.Create(memory.granularity()).status(), first);
  EXPECT_EQ(memory.Info().status(), first);

  executable->reset();
  graph->reset();
  event->reset();
  stream->reset();
  host->reset();
  physical->reset();
  // The addresses went with the context; what is said of them is said by the driver.
  memory.Unmap(*range).IgnoreError();
  memory.Release(*range).IgnoreError();
  EXPECT_THAT((*device)->Close(), IsOk());
}

}  // namespace
}  // namespace graphtree
