// Which variable wins.
#include "tools/verbs/cuda_environment.h"

#include <cstdlib>

#include "gtest/gtest.h"

namespace graphtree {
namespace {

class CudaEnvironmentTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name :
         {"GRAPHTREE_NVRTC", "GRAPHTREE_KERNEL_CACHE", "XDG_CACHE_HOME", "HOME"}) {
      unsetenv(name);
    }
  }
};

TEST_F(CudaEnvironmentTest, NothingSetIsNothingAsked) {
  EXPECT_EQ(CudaOptionsOfEnvironment().nvrtc_folder, "");
  EXPECT_EQ(CudaOptionsOfEnvironment().kernel_cache_folder, "");
}

TEST_F(CudaEnvironmentTest, TheCompilersFolder) {
  setenv("GRAPHTREE_NVRTC", "/opt/nvrtc", 1);
  EXPECT_EQ(CudaOptionsOfEnvironment().nvrtc_folder, "/opt/nvrtc");
}

TEST_F(CudaEnvironmentTest, TheKernelCacheFromTheNearestVariable) {
  setenv("HOME", "/home/someone", 1);
  EXPECT_EQ(CudaOptionsOfEnvironment().kernel_cache_folder,
            "/home/someone/.cache/graphtree/kernels");
  setenv("XDG_CACHE_HOME", "/caches", 1);
  EXPECT_EQ(CudaOptionsOfEnvironment().kernel_cache_folder, "/caches/graphtree/kernels");
  setenv("GRAPHTREE_KERNEL_CACHE", "/fast/kernels", 1);
  EXPECT_EQ(CudaOptionsOfEnvironment().kernel_cache_folder, "/fast/kernels");
  setenv("GRAPHTREE_KERNEL_CACHE", "", 1);
  EXPECT_EQ(CudaOptionsOfEnvironment().kernel_cache_folder, "") << "set to nothing turns it off";
}

}  // namespace
}  // namespace graphtree
