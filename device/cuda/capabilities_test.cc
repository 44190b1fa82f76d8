// What is missing has a reason that says what is needed and what is there.
#include "device/cuda/capabilities.h"

#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

using testing::HasSubstr;

CapabilityState StateOf(const Capabilities& all, Capability capability) {
  for (const CapabilityState& state : all) {
    if (state.capability == capability) return state;
  }
  ADD_FAILURE() << "no word on " << CapabilityName(capability);
  return {};
}

bool Nothing(const char*, int) { return false; }
bool Everything(const char*, int) { return true; }

TEST(CapabilitiesTest, AnH200WithItsFirstDriver) {
  const CudaFacts facts{13000, 9, 0, true, absl::OkStatus()};
  const Capabilities all = CudaCapabilities(facts, Nothing);
  EXPECT_EQ(all.size(), AllCapabilities().size());
  for (Capability capability :
       {Capability::kVirtualMemory, Capability::kWishedBase, Capability::kCapture,
        Capability::kPatchOps, Capability::kProgrammaticEdges, Capability::kCompileSource,
        Capability::kConditionalNodes}) {
    EXPECT_TRUE(StateOf(all, capability).present) << CapabilityName(capability);
  }
  EXPECT_EQ(StateOf(all, Capability::kGraphIdentity).reason,
            "needs a driver for CUDA 13.1, this one is for 13.0");
  EXPECT_EQ(StateOf(all, Capability::kBatchCopyNode).reason,
            "needs a driver for CUDA 13.5, this one is for 13.0");
}

TEST(CapabilitiesTest, ANewerDriverHasAll) {
  const CudaFacts facts{13050, 10, 0, true, absl::OkStatus()};
  for (const CapabilityState& state : CudaCapabilities(facts, Everything)) {
    EXPECT_TRUE(state.present) << CapabilityName(state.capability) << ": " << state.reason;
    EXPECT_EQ(state.reason, "");
  }
}

TEST(CapabilitiesTest, AnOlderGpuWithoutTheCompiler) {
  const CudaFacts facts{13000, 8, 6, false, absl::UnimplementedError("NVRTC cannot be loaded")};
  const Capabilities all = CudaCapabilities(facts, Nothing);
  EXPECT_EQ(StateOf(all, Capability::kProgrammaticEdges).reason,
            "needs compute capability 9.0, this GPU has 8.6");
  EXPECT_THAT(StateOf(all, Capability::kVirtualMemory).reason, HasSubstr("virtual memory"));
  EXPECT_THAT(StateOf(all, Capability::kCompileSource).reason, HasSubstr("NVRTC"));
}

}  // namespace
}  // namespace graphtree
