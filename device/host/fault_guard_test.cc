// A guarded function survives touching what is not there; others still die.
#include "device/host/fault_guard.h"

#include <sys/mman.h>

#include <cstdint>
#include <thread>

#include "gtest/gtest.h"

namespace graphtree::host {
namespace {

class FaultGuardTest : public testing::Test {
 protected:
  void SetUp() override {
    InstallFaultHandler();
    nothing_ = static_cast<volatile char*>(
        mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  }
  void TearDown() override { munmap(const_cast<char*>(nothing_), kBytes); }

  static constexpr size_t kBytes = 1 << 16;
  volatile char* nothing_ = nullptr;
};

TEST_F(FaultGuardTest, NothingHappensToAGoodFunction) {
  int ran = 0;
  EXPECT_FALSE(RunGuarded([&] { ++ran; }).happened);
  EXPECT_EQ(ran, 1);
}

TEST_F(FaultGuardTest, AReadAndAWriteAreCaughtWithTheirAddress) {
  for (int round = 0; round < 3; ++round) {
    const Fault read = RunGuarded([&] { static_cast<void>(nothing_[100]); });
    EXPECT_TRUE(read.happened);
    EXPECT_EQ(read.address, AddressOf(const_cast<char*>(nothing_)) + 100);
    const Fault write = RunGuarded([&] { nothing_[5000] = 1; });
    EXPECT_TRUE(write.happened);
    EXPECT_EQ(write.address, AddressOf(const_cast<char*>(nothing_)) + 5000);
  }
}

TEST_F(FaultGuardTest, EachThreadHasItsOwn) {
  std::thread other([&] { EXPECT_TRUE(RunGuarded([&] { nothing_[0] = 1; }).happened); });
  EXPECT_TRUE(RunGuarded([&] { nothing_[1] = 1; }).happened);
  other.join();
}

TEST_F(FaultGuardTest, WhatIsNotGuardedStillDies) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(
      {
        RunGuarded([] {});
        nothing_[0] = 1;
      },
      "");
}

}  // namespace
}  // namespace graphtree::host
