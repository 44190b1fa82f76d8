// Owners close once, move, let go, and cannot be made from a literal. The driver is a table of
// functions of this test.
#include "device/cuda/handles.h"

#include <type_traits>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace graphtree {
namespace {

std::vector<int>& Closed() {
  static std::vector<int> closed;
  return closed;
}

struct NumberTraits {
  using Native = int*;
  static void Close(Native native) { Closed().push_back(*native); }
};
using NumberHandle = Handle<NumberTraits>;

class HandlesTest : public testing::Test {
 protected:
  void SetUp() override { Closed().clear(); }
};

TEST_F(HandlesTest, ClosesOnceAtItsEnd) {
  int one = 1;
  {
    const NumberHandle handle(&one);
    EXPECT_TRUE(handle);
    EXPECT_EQ(handle.get(), &one);
  }
  EXPECT_EQ(Closed(), (std::vector<int>{1}));
  { const NumberHandle empty; }
  EXPECT_EQ(Closed().size(), 1u) << "an empty one closes nothing";
}

TEST_F(HandlesTest, MovingLeavesTheSourceEmpty) {
  int one = 1, two = 2;
  {
    NumberHandle from(&one);
    NumberHandle to(std::move(from));
    EXPECT_FALSE(from);  // NOLINT(bugprone-use-after-move): that is what is tested
    NumberHandle other(&two);
    other = std::move(to);
    EXPECT_EQ(Closed(), (std::vector<int>{2})) << "what was there before is closed";
    NumberHandle& same = other;
    other = std::move(same);
    EXPECT_EQ(other.get(), &one) << "moving onto itself keeps it";
  }
  EXPECT_EQ(Closed(), (std::vector<int>{2, 1}));
}

TEST_F(HandlesTest, ReleasedIsTheCallersAndResetCloses) {
  int one = 1, two = 2;
  NumberHandle handle(&one);
  EXPECT_EQ(handle.release(), &one);
  EXPECT_FALSE(handle);
  handle.reset(&two);
  EXPECT_TRUE(Closed().empty());
  handle.reset();
  EXPECT_EQ(Closed(), (std::vector<int>{2}));
}

TEST_F(HandlesTest, LiteralsAndCopiesDoNotCompile) {
  static_assert(!std::is_constructible_v<StreamHandle, int>);
  static_assert(!std::is_constructible_v<StreamHandle, std::nullptr_t>);
  static_assert(!std::is_constructible_v<EventHandle, int>);
  static_assert(!std::is_constructible_v<GraphHandle, std::nullptr_t>);
  static_assert(!std::is_constructible_v<GraphExecHandle, int>);
  static_assert(!std::is_constructible_v<LibraryHandle, std::nullptr_t>);
  static_assert(!std::is_constructible_v<MemHandle, const Driver&, int>);
  static_assert(!std::is_constructible_v<MemHandle, const Driver&, std::nullptr_t>);
  static_assert(!std::is_constructible_v<AddressReservation, const Driver&, int, size_t>);
  static_assert(!std::is_copy_constructible_v<StreamHandle>);
  static_assert(!std::is_copy_constructible_v<MemHandle>);
  static_assert(!std::is_copy_assignable_v<AddressReservation>);
  static_assert(std::is_nothrow_move_constructible_v<GraphExecHandle>);
  static_assert(!std::is_convertible_v<cudaStream_t, StreamHandle>);
}

// A driver that notes what it is asked to give back.
Driver NotingDriver() {
  Driver driver;
  driver.MemRelease = [](CUmemGenericAllocationHandle handle) {
    Closed().push_back(static_cast<int>(handle));
    return CUDA_SUCCESS;
  };
  driver.MemAddressFree = [](CUdeviceptr base, size_t bytes) {
    Closed().push_back(static_cast<int>(base + bytes));
    return CUDA_SUCCESS;
  };
  return driver;
}

TEST_F(HandlesTest, PhysicalMemory) {
  const Driver driver = NotingDriver();
  const CUmemGenericAllocationHandle seven = 7, eight = 8;
  {
    MemHandle handle(driver, seven);
    MemHandle moved(std::move(handle));
    EXPECT_EQ(moved.get(), seven);
    handle = MemHandle(driver, eight);
    handle = std::move(moved);
    EXPECT_EQ(Closed(), (std::vector<int>{8}));
  }
  EXPECT_EQ(Closed(), (std::vector<int>{8, 7}));
  MemHandle let_go(driver, seven);
  EXPECT_EQ(let_go.release(), seven);
  let_go.reset();
  EXPECT_EQ(Closed().size(), 2u);
}

TEST_F(HandlesTest, ReservedAddresses) {
  const Driver driver = NotingDriver();
  const CUdeviceptr base = 0x1000;
  {
    AddressReservation range(driver, base, 0x20);
    AddressReservation moved(std::move(range));
    EXPECT_FALSE(range);  // NOLINT(bugprone-use-after-move): that is what is tested
    EXPECT_EQ(moved.bytes(), 0x20u);
    AddressReservation other(driver, base, 0x40);
    other = std::move(moved);
    EXPECT_EQ(Closed(), (std::vector<int>{0x1040}));
  }
  EXPECT_EQ(Closed(), (std::vector<int>{0x1040, 0x1020}));
  AddressReservation let_go(driver, base, 0x20);
  EXPECT_EQ(let_go.release(), base);
  EXPECT_FALSE(let_go);
}

}  // namespace
}  // namespace graphtree
