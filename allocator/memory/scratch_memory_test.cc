// Scratch memory that cannot be unmapped.
#include "allocator/memory/scratch_memory.h"

#include "device/base/status_matchers.h"
#include "device/fault/fault_device.h"
#include "device/host/host_device.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

constexpr char kUnmap[] = "Memory.Unmap";

TEST(ScratchMemoryTest, OneFailureIsTriedAgain) {
  FaultDevice device(*OpenHostDevice());
  {
    ScratchMemory scratch(&device.memory());
    ASSERT_THAT(scratch.Map(100), IsOk());
    device.plan().FailCallOf(kUnmap, 1, ErrorCode::kUnknown);
  }
  EXPECT_EQ(device.plan().fired(), 1u);
  EXPECT_THAT(device.Close(), IsOk());
}

// It stays mapped at its addresses, where nobody else is given memory, and closing the device says
// that it is there.
TEST(ScratchMemoryTest, WhatCannotBeUnmappedIsToldAndNotGivenAgain) {
  FaultDevice device(*OpenHostDevice());
  device.plan().FailEveryCallOf(kUnmap, ErrorCode::kUnknown);
  Address first = 0;
  {
    ScratchMemory scratch(&device.memory());
    ASSERT_THAT(scratch.Map(100), IsOk());
    first = scratch.base();
  }
  device.plan().Clear();
  {
    ScratchMemory scratch(&device.memory());
    ASSERT_THAT(scratch.Map(100), IsOk());
    EXPECT_NE(scratch.base(), first);
  }
  const absl::Status closed = device.Close();
  EXPECT_FALSE(closed.ok());
  EXPECT_NE(closed.message().find("1 address range"), absl::string_view::npos) << closed;
}

}  // namespace
}  // namespace graphtree
