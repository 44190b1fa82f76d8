// Which patches follow a move, and which addresses a search finds.
#include "graphs/inputs/pointer_slots.h"

#include <cstring>
#include <utility>
#include <vector>

#include "graphs/layout.h"
#include "graphs/tensor.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

struct Packed {
  uint32_t before;
  uint32_t low, high;  // an address, not aligned
};

const Kernel& SomeKernel() {
  static const auto* kernel = new Kernel(
      "some", Params<void*, const void*, Packed>(), [](const HostCall&) {}, CudaBody());
  return *kernel;
}

// Remembers the patches that it is asked for, and fails when it is told to.
class Patches : public Executable {
 public:
  size_t op_count() const override { return 0; }
  struct Patch {
    OpId op;
    std::vector<Address> addresses;
    friend bool operator==(const Patch& a, const Patch& b) {
      return a.op == b.op && a.addresses == b.addresses;
    }
  };

  Device& device() const override { std::abort(); }
  absl::Status Launch(Stream&) override { return absl::OkStatus(); }
  absl::Status Upload(Stream&) override { return absl::OkStatus(); }
  absl::StatusOr<UpdateResult> Update(const Graph&) override { return UpdateResult::kUpdated; }
  absl::Status PatchKernel(OpId op, const Kernel& kernel, const LaunchShape& shape,
                           Arguments arguments) override {
    EXPECT_EQ(ArgumentMismatch(kernel, arguments), "");
    EXPECT_EQ(shape.grid.x, 7u);
    Packed packed;
    std::memcpy(&packed, arguments[2].data(), sizeof(packed));
    EXPECT_EQ(packed.before, 5u);
    return Note({op, {arguments[0].range().base, arguments[1].range().base}});
  }
  absl::Status PatchCopy(OpId op, const CopyParams& params) override {
    EXPECT_EQ(params.bytes, 24u);
    return Note({op, {params.target, params.source}});
  }
  absl::Status PatchArgumentBytes(OpId op, absl::Span<const uint8_t> bytes) override {
    Address address;
    std::memcpy(&address, bytes.data() + 4, sizeof(address));
    return Note({op, {address}});
  }
  absl::Status PatchFill(OpId op, const FillParams& params) override {
    EXPECT_EQ(params.count, 9u);
    return Note({op, {params.target}});
  }
  uint64_t device_bytes() const override { return 0; }

  std::vector<Patch> Take() { return std::exchange(patches_, {}); }
  int fail_in = -1;

 private:
  absl::Status Note(Patch patch) {
    if (fail_in-- == 0) return absl::InternalError("told to fail");
    patches_.push_back(std::move(patch));
    return absl::OkStatus();
  }
  std::vector<Patch> patches_;
};

class PointerSlotsTest : public testing::Test {
 protected:
  static constexpr Address kX = 0x10000, kY = 0x20000, kOut = 0x30000;

  static Values At(Address x, Address y) {
    const Layout* layout = Layout::Of(DType::kU8, {256});
    return {Tensor::Foreign(x, layout), Tensor::Foreign(y, layout)};
  }

  // Op 0: kernel(out, x + 8). Op 1: copy from y to x + 32. Op 2: fill of y.
  PointerTable MakeTable() {
    const Packed packed = {5, 0, 0};
    LaunchShape shape;
    shape.grid = {7};
    std::vector<PointerOp> ops;
    ops.emplace_back(SomeKernel(), shape,
                     std::vector<Argument>{Argument::Out({kOut, 8}), Argument::In({kX + 8, 8}),
                                           Argument::Value(packed)});
    ops.back().slots() = {{0, 1, 8}};
    ops.emplace_back(CopyParams{kX + 32, kY, 24});
    ops.back().slots() = {{0, kTargetArgument, 32}, {1, kSourceArgument, 0}};
    ops.emplace_back(FillParams{kY, 1, 1, 9});
    ops.back().slots() = {{1, kTargetArgument, 0}};
    for (OpId id = 0; id < 3; ++id) ops[id].set_id(id);
    return PointerTable(std::move(ops), std::vector<uint32_t>{0, 1}, At(kX, kY));
  }

  static constexpr Address kX2 = 0x40000, kY2 = 0x50000;
};

using Patch = Patches::Patch;

TEST_F(PointerSlotsTest, OnlyTheOpsOfWhatMovedArePatched) {
  PointerTable table = MakeTable();
  Patches executable;
  EXPECT_FALSE(table.Moved(At(kX, kY)));
  EXPECT_FALSE(table.Follow(At(kX, kY)));
  EXPECT_TRUE(table.Moved(At(kX2, kY)));
  ASSERT_TRUE(table.Follow(At(kX2, kY)));
  ASSERT_TRUE(table.Patch(executable).ok());
  EXPECT_EQ(executable.Take(),
            (std::vector<Patch>{{0, {kOut, kX2 + 8}}, {1, {kX2 + 32, kY}}}));
  EXPECT_FALSE(table.Follow(At(kX2, kY)));
  ASSERT_TRUE(table.Follow(At(kX2, kY2)));
  ASSERT_TRUE(table.Patch(executable).ok());
  EXPECT_EQ(executable.Take(), (std::vector<Patch>{{1, {kX2 + 32, kY2}}, {2, {kY2}}}));
}

TEST_F(PointerSlotsTest, AFailedPatchIsMadeTheNextTime) {
  for (int failing = 0; failing < 3; ++failing) {
    PointerTable table = MakeTable();
    Patches executable;
    executable.fail_in = failing;
    ASSERT_TRUE(table.Follow(At(kX2, kY2)));
    EXPECT_FALSE(table.Patch(executable).ok());
    EXPECT_EQ(executable.Take().size(), static_cast<size_t>(failing));
    ASSERT_TRUE(table.Follow(At(kX2, kY2))) << "nothing moved, but ops are left over";
    ASSERT_TRUE(table.Patch(executable).ok());
    EXPECT_EQ(executable.Take().size(), static_cast<size_t>(3 - failing));
    EXPECT_FALSE(table.Follow(At(kX2, kY2)));
  }
}

TEST_F(PointerSlotsTest, AnInputThatComesBackBeforeTheRetryIsFollowedBack) {
  PointerTable table = MakeTable();
  Patches executable;
  executable.fail_in = 1;
  ASSERT_TRUE(table.Follow(At(kX2, kY)));
  EXPECT_FALSE(table.Patch(executable).ok());
  executable.Take();
  ASSERT_TRUE(table.Follow(At(kX, kY)));
  ASSERT_TRUE(table.Patch(executable).ok());
  EXPECT_EQ(executable.Take(), (std::vector<Patch>{{0, {kOut, kX + 8}}, {1, {kX + 32, kY}}}));
}

TEST_F(PointerSlotsTest, AnExecutableThatWasMadeAgainIsPatchedWhole) {
  PointerTable table = MakeTable();
  Patches executable;
  ASSERT_TRUE(table.Follow(At(kX2, kY)));
  ASSERT_TRUE(table.Patch(executable).ok());
  executable.Take();
  table.ForgetPatches();
  ASSERT_TRUE(table.Follow(At(kX2, kY)));
  ASSERT_TRUE(table.Patch(executable).ok());
  EXPECT_EQ(executable.Take().size(), 3u);
}

TEST_F(PointerSlotsTest, ReturnsAreCountedWhileAllThatMovesGoesBack) {
  PointerTable table = MakeTable();
  for (const Address x : {kX2, kX, kX2, kX}) table.Follow(At(x, kY));
  EXPECT_EQ(table.returns(), 3u) << "the first move was to a new place";
  table.Follow(At(kX, kY));
  EXPECT_EQ(table.returns(), 3u) << "nothing moved";
  table.Follow(At(kX2, kY2));
  EXPECT_EQ(table.returns(), 0u) << "one of the two has never been there";
  table.Follow(At(kX, kY));
  EXPECT_EQ(table.returns(), 1u);
}

TEST_F(PointerSlotsTest, ATableForAnotherExecutablePatchesItWholeAndByItself) {
  PointerTable table = MakeTable();
  Patches executable, fresh;
  ASSERT_TRUE(table.Follow(At(kX2, kY)));
  ASSERT_TRUE(table.Patch(executable).ok());
  PointerTable other = table;
  other.ForgetPatches();
  ASSERT_TRUE(other.Follow(At(kX2, kY2)));
  ASSERT_TRUE(other.Patch(fresh).ok());
  EXPECT_EQ(fresh.Take(),
            (std::vector<Patch>{{0, {kOut, kX2 + 8}}, {1, {kX2 + 32, kY2}}, {2, {kY2}}}));
  EXPECT_FALSE(table.Follow(At(kX2, kY)));
  EXPECT_FALSE(other.Follow(At(kX2, kY2)));
}

TEST_F(PointerSlotsTest, AKernelKnownByItsBytesIsPatchedByThem) {
  std::vector<uint8_t> bytes(16, 0xee);
  std::vector<PointerOp> ops;
  ops.emplace_back(bytes);
  ops[0].set_id(5);
  ops[0].slots() = {{1, 4, 8}};
  const std::vector<uint32_t> patched = {1};
  PointerTable table(std::move(ops), patched, At(kX, kY));
  Patches executable;
  ASSERT_TRUE(table.Follow(At(kX, kY2)));
  ASSERT_TRUE(table.Patch(executable).ok());
  EXPECT_EQ(executable.Take(), (std::vector<Patch>{{5, {kY2 + 8}}}));
}

class HiddenPointersTest : public PointerSlotsTest {
 protected:
  // kernel(out, in, packed)
  static Op KernelOp(OpId id, Address out, Address in, uint64_t packed) {
    Op op;
    op.id = id;
    op.kind = OpKind::kKernel;
    op.parameters = {{0, 8}, {8, 8}, {16, 12}};
    op.argument_bytes.resize(28);
    std::memcpy(op.argument_bytes.data(), &out, 8);
    std::memcpy(op.argument_bytes.data() + 8, &in, 8);
    std::memcpy(op.argument_bytes.data() + 20, &packed, 8);
    return op;
  }
  static std::vector<uint32_t> Hidden(const std::vector<Op>& ops, const PointerTable& known,
                                      std::vector<OpId> skipped = {}) {
    const std::vector<InputRange> ranges = {{0, {kX, 256}}, {1, {kY, 256}}};
    return HiddenPointers(ops, known.ops(), skipped, ranges);
  }
  static Op CopyOp(OpId id, Address target, Address source) {
    Op op;
    op.id = id;
    op.kind = OpKind::kCopy;
    op.copy = {target, source, 24};
    return op;
  }
};

using Inputs = std::vector<uint32_t>;

TEST_F(HiddenPointersTest, NothingIsHiddenWhereEverySlotIsKnown) {
  const PointerTable table = MakeTable();
  EXPECT_EQ(Hidden({KernelOp(0, kOut, kX + 8, 12), CopyOp(1, kX + 32, kY)}, table), Inputs{});
}

TEST_F(HiddenPointersTest, AnAddressInAnotherArgumentOrOpIsHidden) {
  const PointerTable table = MakeTable();
  EXPECT_EQ(Hidden({KernelOp(0, kX, kX + 8, 12)}, table), Inputs{0});
  EXPECT_EQ(Hidden({KernelOp(0, kOut, kX + 8, kY + 255)}, table), Inputs{1});
  EXPECT_EQ(Hidden({KernelOp(0, kOut, kX + 8, kY + 256)}, table), Inputs{});
  EXPECT_EQ(Hidden({KernelOp(9, kOut, kX + 8, 12)}, table), Inputs{0});
  EXPECT_EQ(Hidden({KernelOp(9, kOut, kX + 8, 12)}, table, {9}), Inputs{});
  EXPECT_EQ(Hidden({CopyOp(2, kOut, kX)}, table), Inputs{0});
}

// A library's op that is patched for one input may take another input, or a kept output, as well.
TEST_F(HiddenPointersTest, AnOpThatIsKnownByItsBytesHidesWhatHasNoSlotInThem) {
  const Op op = KernelOp(3, kY, kX + 8, 12);
  std::vector<PointerOp> ops;
  ops.emplace_back(op.argument_bytes);
  ops[0].set_id(3);
  ops[0].slots() = {{0, 8, 8}};
  const std::vector<uint32_t> patched = {0};
  const PointerTable table(std::move(ops), patched, At(kX, kY));
  EXPECT_EQ(Hidden({op}, table), Inputs{1});
  EXPECT_EQ(Hidden({KernelOp(3, kOut, kX + 8, 12)}, table), Inputs{});
}

TEST_F(HiddenPointersTest, WorkThatShowsNothingHidesEverything) {
  const PointerTable table = MakeTable();
  for (const OpKind kind : {OpKind::kHost, OpKind::kChildGraph, OpKind::kOther}) {
    Op op;
    op.id = 4;
    op.kind = kind;
    EXPECT_EQ(Hidden({op}, table), (Inputs{0, 1}));
  }
  Op event;
  event.id = 4;
  event.kind = OpKind::kEventRecord;
  EXPECT_EQ(Hidden({event}, table), Inputs{});
}

}  // namespace
}  // namespace graphtree
