// Addresses are found wherever arguments hold them, and are told apart by argument and byte.
#include "graphs/reports/captured_pointers.h"

#include <cstring>

#include "gtest/gtest.h"

namespace graphtree {
namespace {

constexpr AddressRange kRange = {0x10000, 0x1000};

Op KernelOp(OpId id, const std::vector<uint64_t>& words, std::vector<ParamSlot> parameters) {
  Op op;
  op.id = id;
  op.kind = OpKind::kKernel;
  op.name = "kernel";
  op.argument_bytes.resize(8 * words.size());
  std::memcpy(op.argument_bytes.data(), words.data(), op.argument_bytes.size());
  op.parameters = std::move(parameters);
  return op;
}

TEST(CapturedPointersTest, OfKernelsByArgumentAndByte) {
  const Op op = KernelOp(4, {0x10000, 7, 0x10fff, 0x11000, 0xffff}, {{0, 8}, {8, 24}, {32, 8}});
  const CapturedPointers pointers = PointersInto(kRange, 3, {op});
  ASSERT_EQ(pointers.found.size(), 2u) << "the range ends before 0x11000";
  EXPECT_EQ(pointers.found[0].recording, 3u);
  EXPECT_EQ(pointers.found[0].op, 4u);
  EXPECT_EQ(pointers.found[0].name, "kernel");
  EXPECT_EQ(pointers.found[0].argument, 0);
  EXPECT_EQ(pointers.found[0].byte, 0u);
  EXPECT_EQ(pointers.found[0].address, 0x10000u);
  EXPECT_EQ(pointers.found[1].argument, 1);
  EXPECT_EQ(pointers.found[1].byte, 8u);
  EXPECT_EQ(pointers.found[1].address, 0x10fffu);
  EXPECT_EQ(pointers.hidden_ops, 0u);
}

TEST(CapturedPointersTest, AnAddressThatLiesAtAMultipleOfFourIsFoundToo) {
  Op op = KernelOp(0, {0, 0, 0}, {{0, 24}});
  const uint64_t address = 0x10040;
  std::memcpy(op.argument_bytes.data() + 12, &address, sizeof(address));
  const CapturedPointers pointers = PointersInto(kRange, 0, {op});
  ASSERT_EQ(pointers.found.size(), 1u);
  EXPECT_EQ(pointers.found[0].byte, 12u);
}

TEST(CapturedPointersTest, OfCopiesAndFills) {
  Op copy;
  copy.id = 1;
  copy.kind = OpKind::kCopy;
  copy.copy = {0x10010, 0x10020, 16};
  Op fill;
  fill.id = 2;
  fill.kind = OpKind::kFill;
  fill.fill = {0x10030, 0, 1, 16};
  Op beside = fill;
  beside.fill.target = 0x20000;
  const CapturedPointers pointers = PointersInto(kRange, 0, {copy, fill, beside});
  ASSERT_EQ(pointers.found.size(), 3u);
  EXPECT_EQ(pointers.found[0].argument, 0) << "the target";
  EXPECT_EQ(pointers.found[0].address, 0x10010u);
  EXPECT_EQ(pointers.found[1].argument, 1) << "the source";
  EXPECT_EQ(pointers.found[2].op, 2u);
  EXPECT_EQ(pointers.found[2].byte, 0u);
}

TEST(CapturedPointersTest, OpsThatHideWhatTheyTouchAreCounted) {
  Op host;
  host.kind = OpKind::kHost;
  Op event;
  event.kind = OpKind::kEventRecord;
  const Op packed = KernelOp(2, {0x10000}, {});
  const CapturedPointers pointers = PointersInto(kRange, 0, {host, event, packed});
  EXPECT_TRUE(pointers.found.empty());
  EXPECT_EQ(pointers.hidden_ops, 2u);
}

TEST(CapturedPointersTest, TheLastBytesOfAllAddresses) {
  const AddressRange last = {~uint64_t{0} - 0xff, 0x100};
  const Op op = KernelOp(0, {~uint64_t{0}, last.base - 1, 0}, {{0, 8}, {8, 8}, {16, 8}});
  EXPECT_EQ(PointersInto(last, 0, {op}).found.size(), 1u);
  EXPECT_TRUE(PointersInto({0, 0}, 0, {op}).found.empty()) << "an empty range has no address";
}

}  // namespace
}  // namespace graphtree
