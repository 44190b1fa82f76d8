// A missing event shows: where nothing orders two streams, both orders come about, and a device
// that looks for races names the two ops.
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "tests/conformance/conformance.h"

namespace graphtree {
namespace {

constexpr uint64_t kSeeds = 40;

std::string NameOf(const testing::TestParamInfo<DeviceCase>& info) { return info.param.name; }

// The devices on which a race can happen, and those that look for one; every device is one of them.
std::vector<DeviceCase> Cases(const std::function<bool(const DeviceCase&)>& wanted) {
  std::vector<DeviceCase> cases;
  for (const DeviceCase& device_case : DeviceCases()) {
    if (wanted(device_case)) cases.push_back(device_case);
  }
  return cases;
}

class RaceTest : public testing::TestWithParam<DeviceCase> {};
INSTANTIATE_TEST_SUITE_P(Devices, RaceTest,
                         testing::ValuesIn(Cases([](const DeviceCase& device_case) {
                           return device_case.open_racing != nullptr;
                         })),
                         NameOf);

class RaceReportTest : public testing::TestWithParam<DeviceCase> {};
INSTANTIATE_TEST_SUITE_P(Devices, RaceReportTest,
                         testing::ValuesIn(Cases([](const DeviceCase& device_case) {
                           return device_case.reports_races;
                         })),
                         NameOf);

TEST(RaceCasesTest, EveryDeviceShowsOrReportsARace) {
  for (const DeviceCase& device_case : DeviceCases()) {
    EXPECT_TRUE(device_case.open_racing != nullptr || device_case.reports_races)
        << device_case.name;
  }
}

// Appends 1 on one stream and 2 on another, and leaves in `log` what came of it.
void RunTwoStreams(Device& device, bool with_event, uint64_t* log) {
  Memory& memory = device.memory();
  const uint64_t bytes = memory.granularity();
  ASSERT_OK_AND_ASSIGN(const AddressRange range, memory.Reserve(bytes, {}));
  ASSERT_OK_AND_ASSIGN(const auto physical, memory.Create(bytes));
  ASSERT_THAT(memory.Map(range.base, *physical), IsOk());
  ASSERT_THAT(memory.SetAccess(range, MemoryAccess::kReadWrite), IsOk());
  {
    ASSERT_OK_AND_ASSIGN(const auto host, memory.AllocateHost(8));
    ASSERT_OK_AND_ASSIGN(const auto first, device.NewStream());
    ASSERT_OK_AND_ASSIGN(const auto second, device.NewStream());
    ASSERT_OK_AND_ASSIGN(const auto event, device.NewEvent({}));
    ASSERT_THAT(first->Fill(range.base, 0, 4, 2), IsOk());
    ASSERT_THAT(first->Synchronize(), IsOk());
    ASSERT_THAT(Delay(*first, 3000), IsOk());
    ASSERT_THAT(Append(*first, range, 1), IsOk());
    ASSERT_THAT(first->Record(*event), IsOk());
    if (with_event) {
      ASSERT_THAT(second->Wait(*event), IsOk());
    }
    ASSERT_THAT(Append(*second, range, 2), IsOk());
    ASSERT_THAT(first->Synchronize(), IsOk());
    ASSERT_THAT(second->Synchronize(), IsOk());
    ASSERT_THAT(first->Copy(host->range().base, range.base, 8), IsOk());
    ASSERT_THAT(first->Synchronize(), IsOk());
    *log = *static_cast<uint64_t*>(host->data());
  }
  EXPECT_THAT(memory.Unmap(range), IsOk());
  EXPECT_THAT(memory.Release(range), IsOk());
}

std::set<uint64_t> Outcomes(const DeviceCase& device_case, bool with_event) {
  std::set<uint64_t> outcomes;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    absl::StatusOr<std::unique_ptr<Device>> device = device_case.open_racing(seed);
    if (!device.ok()) return {};
    uint64_t log = 0;
    RunTwoStreams(**device, with_event, &log);
    outcomes.insert(log);
    EXPECT_THAT((*device)->Close(), IsOk());
  }
  return outcomes;
}

TEST_P(RaceTest, AMissingEventShowsAsWrongBytes) {
  const absl::StatusOr<std::unique_ptr<Device>> device = GetParam().open();
  if (!device.ok()) GTEST_SKIP() << device.status().message();
  EXPECT_EQ(Outcomes(GetParam(), true), std::set<uint64_t>{LogOf({1, 2})});
  EXPECT_EQ(Outcomes(GetParam(), false).count(LogOf({2, 1})), 1u)
      << "no seed up to " << kSeeds << " ran the second stream first";
  EXPECT_THAT((*device)->Close(), IsOk());
}

TEST_P(RaceReportTest, AMissingEventIsReported) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Device> device, GetParam().open());
  Memory& memory = device->memory();
  const uint64_t bytes = memory.granularity();
  ASSERT_OK_AND_ASSIGN(const AddressRange range, memory.Reserve(bytes, {}));
  {
    ASSERT_OK_AND_ASSIGN(const auto physical, memory.Create(bytes));
    ASSERT_THAT(memory.Map(range.base, *physical), IsOk());
    ASSERT_THAT(memory.SetAccess(range, MemoryAccess::kReadWrite), IsOk());
    ASSERT_OK_AND_ASSIGN(const auto first, device->NewStream());
    ASSERT_OK_AND_ASSIGN(const auto second, device->NewStream());
    ASSERT_THAT(Append(*first, range, 1), IsOk());
    // Where work runs at once, this call already fails.
    FillPattern(*second, {range.base, 64}, 2).IgnoreError();
    first->Synchronize().IgnoreError();
    second->Synchronize().IgnoreError();
  }
  const absl::Status lost = device->health();
  EXPECT_THAT(lost, HasError(ErrorCode::kLaunchFailure, "race"));
  EXPECT_THAT(lost, HasError(ErrorCode::kLaunchFailure, "append"));
  EXPECT_THAT(lost, HasError(ErrorCode::kLaunchFailure, "fill_pattern"));
  memory.Unmap({range.base, bytes}).IgnoreError();
  memory.Release(range).IgnoreError();
  EXPECT_THAT(device->Close(), IsOk());
}

}  // namespace
}  // namespace graphtree
