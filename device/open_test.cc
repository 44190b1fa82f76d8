// Names of devices: the ones that open, and the sentences for the ones that do not.
#include "device/open.h"

#include "device/base/status_matchers.h"
#include "device/error.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

TEST(OpenDeviceTest, TheHostDeviceIsAlwaysThere) {
  const absl::StatusOr<std::unique_ptr<Device>> device = OpenDevice("host");
  ASSERT_THAT(device, IsOk());
  EXPECT_EQ((*device)->info().name, "host");
  EXPECT_THAT((*device)->Close(), IsOk());
}

TEST(OpenDeviceTest, UnknownNamesAreRefusedWithTheKnownOnes) {
  for (const char* name : {"", "Host", "tpu", "cuda:", "cuda:x", "cuda:-1", "cuda: 1", "cuda:0x1",
                           "cuda:99999999999999999999", "cuda0"}) {
    const absl::StatusOr<std::unique_ptr<Device>> device = OpenDevice(name);
    EXPECT_EQ(ErrorCodeOf(device.status()), ErrorCode::kInvalidDevice) << name;
    EXPECT_THAT(device, FailsWith(absl::StatusCode::kNotFound, std::string("\"") + name + "\""));
    EXPECT_THAT(device, FailsWith(absl::StatusCode::kNotFound, "cuda:N"));
  }
}

TEST(OpenDeviceTest, OptionsMayBeNamedAndLeftOut) {
  const CudaOptions options = {.nvrtc_folder = "/opt/nvrtc"};
  EXPECT_EQ(options.kernel_cache_folder, "");
}

TEST(OpenDeviceTest, AGpuThatIsNotThereIsAnErrorThatSaysWhy) {
  const absl::StatusOr<std::unique_ptr<Device>> device = OpenDevice("cuda:1000");
  ASSERT_FALSE(device.ok());
  EXPECT_GT(device.status().message().size(), 20u) << device.status();
}

TEST(ListDevicesTest, TheHostComesFirstAndEveryListedDeviceOpens) {
  const std::vector<DeviceListing> devices = ListDevices();
  ASSERT_GE(devices.size(), 2u) << "the host, and GPUs or one line why there is none";
  EXPECT_EQ(devices[0].name, "host");
  for (const DeviceListing& listing : devices) {
    if (!listing.status.ok()) {
      EXPECT_FALSE(OpenDevice(listing.name).ok()) << listing.name;
      continue;
    }
    EXPECT_EQ(listing.info.name, listing.name);
    EXPECT_EQ(listing.capabilities.size(), AllCapabilities().size());
    const absl::StatusOr<std::unique_ptr<Device>> device = OpenDevice(listing.name);
    ASSERT_THAT(device, IsOk());
    EXPECT_EQ((*device)->info().identity, listing.info.identity);
    EXPECT_THAT((*device)->Close(), IsOk());
  }
}

}  // namespace
}  // namespace graphtree
