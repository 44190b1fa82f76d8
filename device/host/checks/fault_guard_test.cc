// A guarded function survives touching memory that is not there; others still die. Guards nest, and
// know for whom they stand.
#include "device/host/checks/fault_guard.h"

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

TEST_F(FaultGuardTest, AFaultInsideLeavesTheGuardAroundItInPlace) {
  bool went_on = false;
  const Fault outer = RunGuarded([&] {
    EXPECT_TRUE(RunGuarded([&] { nothing_[0] = 1; }).happened);
    EXPECT_FALSE(RunGuarded([] {}).happened);
    went_on = true;
    nothing_[200] = 1;
  });
  EXPECT_TRUE(went_on);
  EXPECT_TRUE(outer.happened);
  EXPECT_EQ(outer.address, AddressOf(const_cast<char*>(nothing_)) + 200);
}

TEST_F(FaultGuardTest, WhoRunsIsKnownInsideOnThisThreadOnly) {
  const int a = 0, b = 0;
  EXPECT_FALSE(IsInside(&a));
  RunGuarded(
      [&] {
        EXPECT_TRUE(IsInside(&a));
        EXPECT_FALSE(IsInside(&b));
        RunGuarded([&] { EXPECT_TRUE(IsInside(&a) && IsInside(&b)); }, &b);
        EXPECT_FALSE(IsInside(&b));
        std::thread([&] { EXPECT_FALSE(IsInside(&a)); }).join();
      },
      &a);
  EXPECT_FALSE(IsInside(&a));
}

TEST_F(FaultGuardTest, APointerThatNoMemoryCanHaveIsNotCalledZero) {
  volatile char* const poisoned = reinterpret_cast<volatile char*>(0xCBCBCBCBCBCBCBCB);
  const Fault fault = RunGuarded([&] { static_cast<void>(*poisoned); });
  EXPECT_TRUE(fault.happened);
  EXPECT_FALSE(fault.has_address);
  EXPECT_NE(PlaceOf(fault).find("no memory can have"), std::string::npos) << PlaceOf(fault);
  EXPECT_EQ(PlaceOf({true, true, 0}), "0, where no accessible memory is");
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
