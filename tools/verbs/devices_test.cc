// The devices verb: both outputs tell of devices that are there and of ones that are not.
#include "tools/verbs/devices.h"

#include <sstream>

#include "absl/strings/str_split.h"
#include "device/capability.h"
#include "device/error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/cli/registry.h"

namespace graphtree {
namespace {

using ::testing::HasSubstr;

std::vector<DeviceListing> Sample() {
  DeviceListing gpu;
  gpu.name = "cuda:0";
  gpu.info = {"cuda:0", "NVIDIA H200", "sm_90", "GPU-1", 13020, 13000, 132, uint64_t{140} << 30};
  gpu.capabilities = {{Capability::kCapture, true, ""},
                      {Capability::kRecapture, false, "needs driver 13.3, this one is 13.0"}};
  DeviceListing none;
  none.name = "cuda";
  none.status = DeviceError(ErrorCode::kNoDevice, "there is no GPU");
  return {gpu, none};
}

TEST(DevicesTest, TextSaysWhatADeviceIsCanAndCannot) {
  const std::string text = DevicesAsText(Sample());
  EXPECT_THAT(text, HasSubstr("NVIDIA H200, sm_90, 140.0 GiB, 132 multiprocessors, driver 13.2"));
  EXPECT_THAT(text, HasSubstr("can     capture\n"));
  EXPECT_THAT(text, HasSubstr("cannot  recapture (unused): needs driver 13.3, this one is 13.0\n"));
  EXPECT_THAT(text, HasSubstr("unused  nothing in this library makes use of it so far\n"));
  EXPECT_THAT(text, HasSubstr("not available: there is no GPU"));
}

TEST(DevicesTest, LongReasonsAreWrapped) {
  std::vector<DeviceListing> devices = Sample();
  devices[0].capabilities[1].reason = std::string(30, 'x');
  for (int i = 0; i < 20; ++i) devices[0].capabilities[1].reason += " and so on";
  for (const absl::string_view line : absl::StrSplit(DevicesAsText(devices), '\n')) {
    EXPECT_LE(line.size(), 80u) << line;
  }
}

TEST(DevicesTest, JsonHasTheSame) {
  const std::string json = DevicesAsJson(Sample());
  EXPECT_THAT(json, HasSubstr(R"("name":"cuda:0","available":true,"model":"NVIDIA H200")"));
  EXPECT_THAT(json, HasSubstr(R"({"name":"capture","present":true,"used":true})"));
  EXPECT_THAT(json, HasSubstr(R"({"name":"recapture","present":false,"used":false,)"));
  EXPECT_THAT(json, HasSubstr(R"("reason":"needs driver 13.3, this one is 13.0")"));
  EXPECT_THAT(json, HasSubstr(R"("name":"cuda","available":false,"reason":"there is no GPU)"));
}

TEST(DevicesTest, ThisMachineHasAHostDevice) {
  cli::Registry registry;
  registry.Add(DevicesVerb());
  std::istringstream in;
  std::ostringstream out, err;
  EXPECT_EQ(registry.Run({"devices"}, {in, out, err}), cli::kFine) << err.str();
  EXPECT_EQ(out.str().rfind("host\n", 0), 0u) << out.str();
  EXPECT_THAT(out.str(), HasSubstr("cuda"));
}

}  // namespace
}  // namespace graphtree
