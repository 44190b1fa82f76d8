// Bytes that change, or are freed, between the two looks.
#include "runtime/park/canaries.h"

#include <memory>
#include <vector>

#include "device/address.h"
#include "device/base/status_matchers.h"
#include "device/host/host_device.h"
#include "device/memory.h"
#include "device/stream.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

using absl::StatusCode;

// Two ranges of page-locked memory, which a device reads like its own.
class CanariesTest : public testing::Test {
 protected:
  uint8_t* bytes() { return static_cast<uint8_t*>(buffer_->data()); }
  AddressRange first() { return {buffer_->range().base, 100}; }
  AddressRange second() { return {buffer_->range().base + 200, 50}; }

  const std::unique_ptr<Device> device_ = *OpenHostDevice();
  const std::unique_ptr<HostBuffer> buffer_ = *device_->memory().AllocateHost(4096);
};

TEST_F(CanariesTest, TellsWhereAByteIsAnother) {
  for (int i = 0; i < 4096; ++i) bytes()[i] = static_cast<uint8_t>(i);
  const std::vector<AddressRange> ranges = {first(), second()};
  const absl::StatusOr<Canaries> canaries = Canaries::Take(*device_, ranges);
  ASSERT_THAT(canaries, IsOk());
  EXPECT_EQ(canaries->places(), 2u);
  EXPECT_THAT(canaries->Check(*device_, "the pool"), IsOk());
  bytes()[150] ^= 1;
  EXPECT_THAT(canaries->Check(*device_, "the pool"), IsOk()) << "it lies between the ranges";
  bytes()[249] = 7;
  EXPECT_THAT(canaries->Check(*device_, "the pool"),
              FailsWith(StatusCode::kDataLoss, "07 where there was f9"));
}

TEST_F(CanariesTest, WhatWasFreedIsForgotten) {
  for (int i = 0; i < 4096; ++i) bytes()[i] = static_cast<uint8_t>(i);
  const std::vector<AddressRange> ranges = {first(), second()};
  absl::StatusOr<Canaries> canaries = Canaries::Take(*device_, ranges);
  ASSERT_THAT(canaries, IsOk());
  bytes()[10] ^= 1;
  const AddressRange all = {second().base, 1000};
  canaries->KeepOnly({&all, 1});
  EXPECT_EQ(canaries->places(), 1u);
  EXPECT_THAT(canaries->Check(*device_, "the pool"), IsOk());
  bytes()[200] ^= 1;
  EXPECT_THAT(canaries->Check(*device_, "the pool"), FailsWith(StatusCode::kDataLoss, "c9"));
}

TEST_F(CanariesTest, OfNothingIsAlwaysAsItWas) {
  EXPECT_THAT(Canaries().Check(*device_, "the pool"), IsOk());
  const absl::StatusOr<Canaries> none = Canaries::Take(*device_, {});
  ASSERT_THAT(none, IsOk());
  EXPECT_THAT(none->Check(*device_, "the pool"), IsOk());
}

}  // namespace
}  // namespace graphtree
