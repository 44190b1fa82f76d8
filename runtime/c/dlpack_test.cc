// Tensors handed out as DLPack's structs: what they say, and how long they hold what they show.
#include <thread>
#include <vector>

#include "runtime/c/dlpack_layout.h"
#include "runtime/c/host_memory.h"
#include "runtime/c/test_tree.h"

namespace graphtree::c {
namespace {

class DlpackTest : public TreeCTest {
 protected:
  dlpack::Managed* Export(const gt_value& value, gt_memory memory = nullptr) {
    void* out = nullptr;
    EXPECT_FINE(gt_dlpack_new(&value, memory, 1, 0, 0, &out));
    return static_cast<dlpack::Managed*>(out);
  }
  static const int32_t* WordsAt(const dlpack::Tensor& tensor) {
    return static_cast<const int32_t*>(tensor.data);
  }
};

TEST_F(DlpackTest, SaysWhatTheTensorIs) {
  const int64_t sizes[] = {2, 3}, strides[] = {8, 1};
  gt_layout layout = nullptr;
  EXPECT_FINE(gt_layout_new(GT_BF16, 2, sizes, strides, &layout));
  gt_value value = Words(1);
  value.layout = layout;
  void* out = nullptr;
  EXPECT_FINE(gt_dlpack_new(&value, nullptr, 2, 3, 1, &out));
  auto* const managed = static_cast<dlpack::VersionedManaged*>(out);
  EXPECT_EQ(managed->major, 1u);
  EXPECT_EQ(managed->flags, 0u);
  const dlpack::Tensor& tensor = managed->tensor;
  EXPECT_EQ(reinterpret_cast<uint64_t>(tensor.data) + tensor.byte_offset, value.word);
  EXPECT_EQ(tensor.device_type, 2);
  EXPECT_EQ(tensor.device_id, 3);
  ASSERT_EQ(tensor.rank, 2);
  EXPECT_EQ(tensor.sizes[1], 3);
  EXPECT_EQ(tensor.strides[0], 8);
  EXPECT_EQ(tensor.dtype.code, 4);
  EXPECT_EQ(tensor.dtype.bits, 16);
  EXPECT_EQ(tensor.dtype.lanes, 1);
  managed->deleter(managed);
}

TEST_F(DlpackTest, EveryTypeHasItsOwn) {
  const struct {
    gt_dtype dtype;
    int code, bits;
  } types[] = {{GT_U8, 1, 8},   {GT_BOOL, 6, 8},  {GT_I32, 0, 32}, {GT_I64, 0, 64},
               {GT_F16, 2, 16}, {GT_BF16, 4, 16}, {GT_F32, 2, 32}, {GT_F64, 2, 64}};
  for (const auto& type : types) {
    gt_value value = Words(1);
    value.layout = LayoutOf(type.dtype, {1});
    dlpack::Managed* const managed = Export(value);
    EXPECT_EQ(managed->tensor.dtype.code, type.code) << "dtype " << type.dtype;
    EXPECT_EQ(managed->tensor.dtype.bits, type.bits) << "dtype " << type.dtype;
    managed->deleter(managed);
  }
}

TEST_F(DlpackTest, HoldsTheBytesAsAnyHandleDoes) {
  const gt_function add = Register("add 3", AddThree);
  gt_tree_stats stats = GT_INIT(gt_tree_stats);
  const gt_value out = Call(add, {Words(4)});
  dlpack::Managed* const managed = Export(out);
  EXPECT_FINE(gt_release(out.storage));
  EXPECT_FINE(gt_stream_synchronize(stream()));
  EXPECT_EQ(std::vector<int32_t>(WordsAt(managed->tensor), WordsAt(managed->tensor) + kCount),
            std::vector<int32_t>(kCount, 7));
  EXPECT_FINE(gt_tree_look(tree(), &stats));
  EXPECT_EQ(stats.live_blocks, 1u);
  std::thread([managed] { managed->deleter(managed); }).join();
  EXPECT_FINE(gt_tree_look(tree(), &stats));
  EXPECT_EQ(stats.live_blocks, 0u);
}

TEST_F(DlpackTest, HoldsMemoryThatIsReleased) {
  gt_memory memory = nullptr;
  gt_range range = {};
  gt_device other = nullptr;
  EXPECT_FINE(gt_device_open("host", nullptr, &other));
  EXPECT_FINE(gt_memory_new(other, GT_ON_HOST, 64, &memory));
  EXPECT_FINE(gt_memory_range(memory, &range));
  dlpack::Managed* const managed =
      Export(gt_tensor(range.address, LayoutOf(GT_I32, {16})), memory);
  EXPECT_FINE(gt_release(memory));
  EXPECT_FAILS(gt_memory_range(memory, &range), GT_BAD_HANDLE, "memory");
  static_cast<int32_t*>(managed->tensor.data)[15] = 5;
  EXPECT_FAILS(gt_release(other), GT_FAILED_PRECONDITION, "1 of its");
  managed->deleter(managed);
  EXPECT_FINE(gt_release(other));
}

TEST_F(DlpackTest, RefusesWhatMayNotBeUsed) {
  const gt_function add = Register("add 3", AddThree);
  const gt_value out = Call(add, {Words(4)});
  const gt_value integer = gt_integer(5);
  void* made = this;
  EXPECT_FAILS(gt_dlpack_new(&integer, nullptr, 1, 0, 0, &made), GT_INVALID_ARGUMENT, "tensor");
  EXPECT_EQ(made, nullptr);
  EXPECT_FAILS(gt_dlpack_new(nullptr, nullptr, 1, 0, 0, &made), GT_INVALID_ARGUMENT, "tensor");
  EXPECT_FAILS(gt_dlpack_new(&out, nullptr, 1, 0, 0, nullptr), GT_INVALID_ARGUMENT, "out");
  EXPECT_FAILS(gt_dlpack_new(&out, reinterpret_cast<gt_memory>(stream()), 1, 0, 0, &made),
               GT_BAD_HANDLE, "memory is a stream");
  FailHostMemoryAfter(0);
  const gt_error error = gt_dlpack_new(&out, nullptr, 1, 0, 0, &made);
  FailHostMemoryAfter(-1);
  EXPECT_FAILS(error, GT_RESOURCE_EXHAUSTED, "");
  EXPECT_FINE(gt_tree_begin_step(tree()));
  EXPECT_FAILS(gt_dlpack_new(&out, nullptr, 1, 0, 0, &made), GT_FAILED_PRECONDITION, "step");
  EXPECT_FINE(gt_release(out.storage));
  EXPECT_FAILS(gt_dlpack_new(&out, nullptr, 1, 0, 0, &made), GT_BAD_HANDLE, "released");
}

// Outputs of a tree that has gone keep memory of the device: they are named, and nothing changes.
TEST_F(DlpackTest, ADeviceWithValuesLeftIsNotClosed) {
  gt_device other = nullptr;
  gt_stream on = nullptr;
  gt_tree tree = nullptr;
  gt_function make = nullptr;
  gt_layout layout = words();
  ASSERT_FINE(gt_device_open("host", nullptr, &other));
  ASSERT_FINE(gt_stream_new(other, &on));
  ASSERT_FINE(gt_tree_new(other, nullptr, &tree));
  const gt_body body = [](void* context, gt_launcher launcher) {
    gt_value out;
    gt_launcher_empty(launcher, *static_cast<gt_layout*>(context), &out);
    gt_launcher_fill(launcher, &out, 3);
    return gt_launcher_output(launcher, &out);
  };
  ASSERT_FINE(gt_tree_register(tree, "make", nullptr, body, &layout, nullptr, &make));
  gt_value out = gt_nothing(), copy = gt_nothing();
  ASSERT_FINE(gt_call(make, nullptr, 0, on, &out, 1, nullptr));
  ASSERT_FINE(gt_value_copy(&out, &copy));
  dlpack::Managed* const exported = Export(out);
  EXPECT_FINE(gt_stream_synchronize(on));
  EXPECT_FINE(gt_release(on));
  EXPECT_FINE(gt_release(tree));
  EXPECT_FAILS(gt_release(other), GT_FAILED_PRECONDITION,
               "device 'host' has 2 values of its trees and 1 tensor of gt_dlpack_new left");
  ASSERT_FINE(gt_stream_new(other, &on)) << "nothing has changed";
  EXPECT_FINE(gt_release(on));
  EXPECT_FINE(gt_release(out.storage));
  EXPECT_FINE(gt_release(copy.storage));
  EXPECT_FAILS(gt_release(other), GT_FAILED_PRECONDITION, "has 1 tensor of gt_dlpack_new left");
  exported->deleter(exported);
  EXPECT_FINE(gt_release(other));
}

}  // namespace
}  // namespace graphtree::c
