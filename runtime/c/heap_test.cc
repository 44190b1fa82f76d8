// A replay through C takes nothing from the heap beyond what the same replay through C++ takes on
// the host device, whose own books allocate; and where the host has no memory for an object of the
// interface, the call says so, and everything can still be released.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include "runtime/c/host_memory.h"
#include "runtime/c/objects.h"
#include "runtime/c/test_runtime.h"
#include "runtime/c/test_tree.h"
#include "runtime/c/tree_objects.h"

namespace {

thread_local uint64_t allocations = 0;

void* Counted(std::size_t bytes) {
  ++allocations;
  void* const memory = std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) std::abort();
  return memory;
}

}  // namespace

void* operator new(std::size_t bytes) { return Counted(bytes); }
// What this one gives is freed by the same delete.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return Counted(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace graphtree::c {
namespace {

class HeapTest : public TreeCTest {};

// The host device's books take more in some calls than in others: the cheapest count.
TEST_F(HeapTest, AReplayTakesNothing) {
  const gt_function add = Register("add", AddThree);
  gt_value x = Words(1), out = gt_nothing();
  // Not held, as a call that is not alone in its function has vectors of its own.
  FunctionObject* const function = Find<FunctionObject>(HandleOf(add)).get();
  StreamObject* const on = Find<StreamObject>(HandleOf(stream())).get();
  Values inputs = {Tensor::Foreign(x.word, ::graphtree::c::LayoutOf(x.layout))}, outputs;
  uint64_t through_c = ~uint64_t{0}, through_cpp = ~uint64_t{0};
  for (int step = 0; step < 60; ++step) {
    EXPECT_FINE(gt_tree_begin_step(tree()));
    EXPECT_FINE(gt_stream_synchronize(stream()));
    const uint64_t before = allocations;
    if (step % 2 == 0) {
      FailHostMemoryAfter(step < 8 ? -1 : 0);
      const gt_error called = gt_call(add, &x, 1, stream(), &out, 1, nullptr);
      const gt_error released = gt_release(out.storage);
      FailHostMemoryAfter(-1);
      if (step >= 8) through_c = std::min(through_c, allocations - before);
      EXPECT_FINE(called);
      EXPECT_FINE(released);
    } else {
      const absl::Status status =
          function->tree().Run(function->id(), absl::MakeSpan(inputs), on->stream(), &outputs);
      outputs.clear();
      if (step >= 8) through_cpp = std::min(through_cpp, allocations - before);
      EXPECT_TRUE(status.ok());
    }
  }
  EXPECT_LE(through_c, through_cpp);
  EXPECT_GT(through_cpp, 0u) << "nothing is counted";
}

class StepHeapTest : public RuntimeCTest {};

// What leads to a replay, too: choosing, beginning, staging.
TEST_F(StepHeapTest, AStepTakesNothing) {
  const gt_program decode = Program("decode", {8});
  EXPECT_FINE(gt_program_record(decode, stream()));
  const gt_key key = Tokens(5);
  const int32_t ids[5] = {1, 2, 3, 4, 5};
  const gt_rows rows = {GT_I32, 0, reinterpret_cast<uint64_t>(ids), 5, 0, 0};
  for (int round = 0; round < 20; ++round) {
    gt_step step = nullptr;
    gt_value out = gt_nothing();
    gt_choice choice = GT_INIT(gt_choice);
    gt_error errors[6];
    uint64_t taken = 0;
    FailHostMemoryAfter(round < 4 ? -1 : 0);
    const uint64_t before = allocations;
    errors[0] = gt_program_choose(decode, &key, GT_ALLOW_ALL, &choice);
    errors[1] = gt_step_begin(decode, &key, stream(), nullptr, &step);
    errors[2] = gt_step_stage(step, 0, &rows);
    taken = allocations - before;
    errors[3] = gt_step_run(step, &out, 1, nullptr);
    const uint64_t before_end = allocations;
    errors[4] = gt_release(step);
    errors[5] = gt_release(out.storage);
    taken += allocations - before_end;
    FailHostMemoryAfter(-1);
    for (const gt_error error : errors) EXPECT_FINE(error);
    EXPECT_TRUE(round < 4 || taken == 0) << taken << " in round " << round;
    EXPECT_FINE(gt_stream_synchronize(stream()));
  }
}

// A small program; the first thing that fails ends it. What it has made is in `made`.
class Program {
 public:
  gt_error Run() {
    const uint32_t bytes[] = {8};
    const int64_t sizes[] = {4};
    gt_kernel_options kernel = GT_INIT(gt_kernel_options);
    kernel.name = "nothing";
    kernel.parameter_count = 1;
    kernel.parameter_bytes = bytes;
    kernel.host = [](void*, const gt_host_call*) {};
    gt_error error = gt_device_open("host", nullptr, &device);
    if (error == nullptr) error = gt_stream_new(device, &stream);
    if (error == nullptr) error = gt_event_new(device, 0, &event);
    if (error == nullptr) error = gt_kernel_new(&kernel, &nothing);
    if (error == nullptr) error = gt_layout_new(GT_I32, 1, sizes, nullptr, &layout);
    if (error == nullptr) error = gt_memory_new(device, GT_ON_HOST, 64, &memory);
    if (error == nullptr) error = gt_tree_new(device, nullptr, &tree);
    if (error == nullptr) {
      error = gt_tree_register(tree, "f", nullptr, Body, this, [](void*) {}, &function);
    }
    for (int step = 0; step < 3 && error == nullptr; ++step) {
      error = gt_tree_begin_step(tree);
      if (error == nullptr) error = gt_call(function, nullptr, 0, stream, &out, 1, nullptr);
      gt_release(out.storage);
    }
    gt_text text = nullptr;
    if (error == nullptr) error = gt_tree_describe(tree, GT_OUTLINE, &text);
    gt_release(text);
    return error;
  }
  void Release() {
    gt_release(gt_stream_synchronize(stream));
    const std::vector<void*> made = {function, tree, memory, nothing, event, stream, device};
    for (void* handle : made) EXPECT_FINE(gt_release(handle));
  }

 private:
  static gt_error Body(void* context, gt_launcher on) {
    const Program& own = *static_cast<Program*>(context);
    const gt_launch_shape shape = {{1, 1, 1}, {1, 1, 1}, 0, 0};
    gt_value out;
    gt_stream borrowed = nullptr;
    gt_launcher_stream(on, &borrowed);
    gt_launcher_empty(on, own.layout, &out);
    const gt_arg args[] = {GT_OUT(&out)};
    gt_launcher_launch(on, own.nothing, &shape, args, 1);
    return gt_launcher_output(on, &out);
  }

  gt_device device = nullptr;
  gt_stream stream = nullptr;
  gt_event event = nullptr;
  gt_kernel nothing = nullptr;
  gt_layout layout = nullptr;
  gt_memory memory = nullptr;
  gt_tree tree = nullptr;
  gt_function function = nullptr;
  gt_value out = gt_nothing();
};

TEST(FailingMemoryTest, TheNthAllocationThatFailsIsAnError) {
  int failed = 0;
  for (int n = 0;; ++n) {
    ASSERT_LT(n, 1000);
    Program program;
    FailHostMemoryAfter(n);
    const gt_error error = program.Run();
    FailHostMemoryAfter(-1);
    const bool is_fine = error == nullptr;
    if (!is_fine) {
      ++failed;
      EXPECT_FAILS(error, GT_RESOURCE_EXHAUSTED, "no memory") << "allocation " << n;
    }
    program.Release();
    EXPECT_EQ(gt_live_handles(), 0u) << "allocation " << n;
    if (is_fine) break;
  }
  EXPECT_GT(failed, 8);
}

}  // namespace
}  // namespace graphtree::c
