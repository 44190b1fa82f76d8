// What is special about the host device's memory: its limit, its laziness, and staging of copies.
#include <vector>

#include "device/host/host_test_device.h"

namespace graphtree::host {
namespace {

TEST(HostMemoryTest, TheLimitHoldsAndIsGivenBack) {
  HostOptions options;
  options.memory_bytes = uint64_t{8} << 20;
  TestDevice device(options);
  const uint64_t piece = device.memory().granularity();
  std::vector<std::unique_ptr<PhysicalMemory>> pieces;
  for (int i = 0; i < 3; ++i) pieces.push_back(device.memory().Create(piece).value());
  EXPECT_THAT(device.memory().Create(piece),
              HasCode(ErrorCode::kOutOfMemory, "0 of the host device's 8388608 are free"));
  pieces.pop_back();
  EXPECT_THAT(device.memory().Create(piece), IsOk());
}

TEST(HostMemoryTest, ExecutablesCountAgainstTheLimit) {
  HostOptions options;
  options.memory_bytes = (uint64_t{2} << 20) + 200000;
  TestDevice device(options);
  const auto graph = device.Capture(0, [&] { EXPECT_THAT(device.Digit(0, 0, 1), IsOk()); });
  const uint64_t before = device.memory().Info()->free_bytes;
  auto executable = graph->Instantiate().value();
  EXPECT_EQ(before - device.memory().Info()->free_bytes, executable->device_bytes());
  EXPECT_THAT(graph->Instantiate(), HasCode(ErrorCode::kOutOfMemory, "an executable of 1 ops"));
  executable.reset();
  EXPECT_EQ(device.memory().Info()->free_bytes, before);
  EXPECT_THAT(graph->Instantiate(), IsOk());
}

TEST(HostMemoryTest, MemoryIsTakenOnlyWhenItIsTouched) {
  HostOptions options;
  // More than a test's machine has, and less than the thread sanitizer's shadow leaves room for,
  // which a TiB at a random place is not.
  const uint64_t bytes = uint64_t{1} << 37;
  options.memory_bytes = 2 * bytes;
  TestDevice device(options);
  const AddressRange range = device.memory().Reserve(bytes, {}).value();
  const auto physical = device.memory().Create(bytes).value();
  ASSERT_THAT(device.memory().Map(range.base, *physical), IsOk());
  ASSERT_THAT(device.memory().SetAccess(range, MemoryAccess::kReadWrite), IsOk());
  *PointerTo<uint64_t>(range.end() - 8) = 7;
  EXPECT_EQ(*PointerTo<uint64_t>(range.end() - 8), 7u);
  EXPECT_THAT(device.memory().Unmap(range), IsOk());
  EXPECT_THAT(device.memory().Release(range), IsOk());
}

TEST(HostMemoryTest, OrdinaryHostMemoryIsDoneWithWhenTheCallReturns) {
  TestDevice device;
  {
    const std::vector<uint64_t> source = {42};
    ASSERT_THAT(device.stream(0).Copy(device.word(0).base, AddressOf(source.data()), 8), IsOk());
  }
  uint64_t target = 0;
  ASSERT_THAT(device.stream(0).Copy(AddressOf(&target), device.word(0).base, 8), IsOk());
  EXPECT_EQ(target, 42u);
}

TEST(HostMemoryTest, PageLockedMemoryIsReadWhenTheCopyRuns) {
  TestDevice device;
  const auto buffer = device.memory().AllocateHost(8).value();
  auto* const source = static_cast<uint64_t*>(buffer->data());
  *source = 1;
  ASSERT_THAT(device.stream(0).Copy(device.word(0).base, buffer->range().base, 8), IsOk());
  *source = 2;
  ASSERT_THAT(device.stream(0).Synchronize(), IsOk());
  EXPECT_EQ(device.at(0), 2u);
}

TEST(HostMemoryTest, ALostDeviceStillGivesEverythingBack) {
  TestDevice device;
  ASSERT_THAT(device.Secret(0, device.unmapped().base), IsOk());
  EXPECT_THAT(device.stream(0).Synchronize(), HasCode(ErrorCode::kIllegalAddress, "secret"));
  EXPECT_THAT(device.memory().Create(device.memory().granularity()),
              HasCode(ErrorCode::kIllegalAddress, "secret"));
}

}  // namespace
}  // namespace graphtree::host
