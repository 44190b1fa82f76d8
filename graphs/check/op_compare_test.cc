// What a body launches now against recordings that differ in one thing.
#include "graphs/check/op_compare.h"

#include <cstring>

#include "gmock/gmock.h"

namespace graphtree {
namespace {

using testing::HasSubstr;

// scale(out, in, factor), then a copy.
std::vector<TracedOp> Body(int32_t factor, Address in) {
  const std::string value(reinterpret_cast<const char*>(&factor), sizeof(factor));
  return {{.kind = OpKind::kKernel,
           .name = "scale",
           .shape = {.grid = {4}, .block = {32}},
           .arguments = {{.access = Access::kWrite, .range = {0x9000, 64}},
                         {.access = Access::kRead, .range = {in, 64}},
                         {.value = value, .is_comparable = true}}},
          {.kind = OpKind::kCopy,
           .name = "copy",
           .arguments = {{.access = Access::kWrite, .range = {0x9100, 64}},
                         {.access = Access::kRead, .range = {0x9000, 64}}}}};
}

Op OpOf(OpId id, OpKind kind, std::string name) {
  Op op;
  op.id = id;
  op.kind = kind;
  op.name = std::move(name);
  return op;
}

// The same, where the tree's memory lies elsewhere.
std::vector<Op> Recorded(int32_t factor, Address in) {
  Op scale = OpOf(0, OpKind::kKernel, "scale");
  scale.shape = {.grid = {4}, .block = {32}};
  scale.argument_bytes.resize(20);
  const Address out = 0x8000;
  std::memcpy(&scale.argument_bytes[0], &out, 8);
  std::memcpy(&scale.argument_bytes[8], &in, 8);
  std::memcpy(&scale.argument_bytes[16], &factor, 4);
  scale.parameters = {{0, 8}, {8, 8}, {16, 4}};
  Op copy = OpOf(1, OpKind::kCopy, "");
  copy.copy = {.target = 0x8100, .source = 0x8000, .bytes = 64};
  return {scale, copy};
}

std::optional<OpDifference> Compare(const std::vector<TracedOp>& body,
                                    const std::vector<Op>& recorded) {
  return FirstLaunchDifference(body, OpsOfBody(recorded, 0, 0),
                               [](AddressRange range) { return range.base < 0x8000; });
}

TEST(OpCompareTest, TheSameButForTheTreesMemory) {
  EXPECT_FALSE(Compare(Body(2, 0x100), Recorded(2, 0x100)).has_value());
}

TEST(OpCompareTest, AValue) {
  const auto found = Compare(Body(3, 0x100), Recorded(2, 0x100));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->op, 0u);
  EXPECT_THAT(found->text, HasSubstr("argument 2 is 02 00 00 00 (2) in the recording, and "
                                     "03 00 00 00 (3) now"));
}

TEST(OpCompareTest, MemoryOfTheCallers) {
  const auto found = Compare(Body(2, 0x200), Recorded(2, 0x100));
  ASSERT_TRUE(found.has_value());
  EXPECT_THAT(found->text, HasSubstr("argument 1 is memory at 0x100 in the recording, and at "
                                     "0x200 now"));
}

TEST(OpCompareTest, AnotherKernelGridOrOp) {
  std::vector<Op> recorded = Recorded(2, 0x100);
  recorded[0].name = "shift";
  EXPECT_THAT(Compare(Body(2, 0x100), recorded)->text, HasSubstr("has 'shift' in its place"));
  recorded = Recorded(2, 0x100);
  recorded[0].shape.grid.x = 5;
  EXPECT_THAT(Compare(Body(2, 0x100), recorded)->text, HasSubstr("5x1x1 blocks"));
  recorded = Recorded(2, 0x100);
  recorded[1].kind = OpKind::kFill;
  const auto found = Compare(Body(2, 0x100), recorded);
  EXPECT_EQ(found->op, 1u);
  EXPECT_THAT(found->text, HasSubstr("has 'fill' in its place"));
  recorded.pop_back();
  EXPECT_THAT(Compare(Body(2, 0x100), recorded)->text, HasSubstr("no such op"));
}

TEST(OpCompareTest, OpsOfTheTreesOwnAreLeftOut) {
  std::vector<Op> recorded = Recorded(2, 0x100);
  const Op ingest = OpOf(7, OpKind::kKernel, "ingest");
  const Op event = OpOf(8, OpKind::kEventRecord, "");
  recorded.insert(recorded.begin(), {ingest, event});
  for (size_t i = 0; i < recorded.size(); ++i) recorded[i].id = static_cast<OpId>(i);
  const std::vector<const Op*> ops = OpsOfBody(recorded, 1, 0);
  ASSERT_EQ(ops.size(), 2u);
  EXPECT_EQ(ops[0]->name, "scale");
  EXPECT_TRUE(OpsOfBody(recorded, 9, 9).empty());
}

TEST(OpCompareTest, WhereARecordedArgumentPoints) {
  const std::vector<TracedOp> body = Body(2, 0x100);
  const std::vector<Op> recorded = Recorded(2, 0x100);
  EXPECT_EQ(RecordedAddress(body[0], recorded[0], 0), 0x8000u);
  EXPECT_EQ(RecordedAddress(body[0], recorded[0], 1), 0x100u);
  EXPECT_EQ(RecordedAddress(body[0], recorded[0], 2), std::nullopt);
  EXPECT_EQ(RecordedAddress(body[1], recorded[1], 0), 0x8100u);
}

}  // namespace
}  // namespace graphtree
