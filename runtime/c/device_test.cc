// Devices, memory, streams, events and kernels through C.
#include <atomic>
#include <cstring>
#include <string>

#include "runtime/c/test_world.h"

namespace graphtree::c {
namespace {

class DeviceTest : public CTest {};

TEST_F(DeviceTest, WhatItIsAndCanDo) {
  gt_device_info info = GT_INIT(gt_device_info);
  EXPECT_FINE(gt_device_look(device(), &info));
  EXPECT_STREQ(info.name, "host");
  EXPECT_STREQ(info.architecture, "host");
  EXPECT_GT(info.total_bytes, 0u);
  int32_t can = 0;
  const char* reason = nullptr;
  EXPECT_FINE(gt_device_can(device(), GT_CAN_CAPTURE, &can, &reason));
  EXPECT_EQ(can, 1);
  EXPECT_FINE(gt_device_can(device(), GT_CAN_RECAPTURE, &can, &reason));
  EXPECT_EQ(can, 0);
  EXPECT_STRNE(reason, "");
  EXPECT_FAILS(gt_device_can(device(), 99, &can, nullptr), GT_INVALID_ARGUMENT, "capability 99");
  EXPECT_FINE(gt_device_health(device()));
  uint64_t free_bytes = 0, total_bytes = 0;
  EXPECT_FINE(gt_device_free_bytes(device(), &free_bytes, &total_bytes));
  EXPECT_EQ(total_bytes, info.total_bytes);
  int32_t captures = -1;
  EXPECT_FINE(gt_device_open_captures(device(), &captures));
  EXPECT_EQ(captures, 0);
  EXPECT_FINE(gt_device_give_back_leftovers(device()));
  gt_text text = nullptr;
  EXPECT_FINE(gt_devices_describe(&text));
  EXPECT_NE(WordsOf(text).find("host: "), std::string::npos);
}

TEST_F(DeviceTest, OptionsOfTheHostDevice) {
  gt_device_options options = GT_INIT(gt_device_options);
  options.memory_bytes = 64 << 20;
  options.scheduler = GT_SCHEDULER_IMMEDIATE;
  gt_device small = nullptr;
  ASSERT_FINE(gt_device_open("host", &options, &small));
  gt_device_info info = GT_INIT(gt_device_info);
  EXPECT_FINE(gt_device_look(small, &info));
  EXPECT_EQ(info.total_bytes, 64u << 20);
  EXPECT_FINE(gt_release(small));
  options.scheduler = 9;
  EXPECT_FAILS(gt_device_open("host", &options, &small), GT_INVALID_ARGUMENT, "scheduler 9");
  options.size = 4;
  EXPECT_FAILS(gt_device_open("host", &options, &small), GT_INVALID_ARGUMENT, "its first field");
}

// Two streams that touch the same words, ordered by an event.
TEST_F(DeviceTest, WorkInOrder) {
  const gt_value x = Words(1), y = Words(0), z = Words(0);
  gt_stream other = nullptr;
  gt_event event = nullptr;
  ASSERT_FINE(gt_stream_new(device(), &other));
  ASSERT_FINE(gt_event_new(device(), 1, &event));
  int32_t done = 0;
  EXPECT_FINE(gt_event_is_done(event, &done));
  EXPECT_EQ(done, 1);
  const int32_t by = 10;
  const gt_arg first[] = {GT_OUT(&y), GT_IN(&x), GT_VAL(by)};
  const gt_arg second[] = {GT_OUT(&z), GT_IN(&y), GT_NUM(by)};
  EXPECT_FINE(gt_stream_launch(other, add(), &kShape, first, 3));
  EXPECT_FINE(gt_stream_record(other, event));
  EXPECT_FINE(gt_stream_wait(stream(), event));
  EXPECT_FINE(gt_stream_launch(stream(), add(), &kShape, second, 3));
  EXPECT_EQ(Read(z), std::vector<int32_t>(kCount, 21));
  EXPECT_FINE(gt_event_synchronize(event));
  double took = -1;
  EXPECT_FINE(gt_event_elapsed(event, event, &took));
  EXPECT_EQ(took, 0);
  EXPECT_FINE(gt_stream_is_done(other, &done));
  EXPECT_EQ(done, 1);
  EXPECT_FINE(gt_stream_fill(stream(), z.word, 7, 4, kCount));
  EXPECT_EQ(Read(z), std::vector<int32_t>(kCount, 7));
  EXPECT_FINE(gt_release(event));
  EXPECT_FINE(gt_release(other));
}

TEST_F(DeviceTest, HostWorkInTheStreamsOrder) {
  std::atomic<int> calls{0};
  EXPECT_FINE(gt_stream_call_host(
      stream(), [](void* count) { ++*static_cast<std::atomic<int>*>(count); }, &calls));
  EXPECT_FINE(gt_stream_synchronize(stream()));
  EXPECT_EQ(calls, 1);
  EXPECT_FAILS(gt_stream_call_host(stream(), nullptr, nullptr), GT_INVALID_ARGUMENT, "null");
}

TEST_F(DeviceTest, AdoptedStreams) {
  gt_stream legacy = nullptr;
  EXPECT_FINE(gt_stream_adopt(device(), nullptr, &legacy));
  EXPECT_FINE(gt_stream_synchronize(legacy));
  EXPECT_FINE(gt_release(legacy));
  EXPECT_FAILS(gt_stream_adopt(device(), &legacy, &legacy), GT_INVALID_ARGUMENT,
               "no native stream of this host device");
  void* native = &legacy;
  EXPECT_NE(TextOf(gt_stream_native(stream(), &native)), "");
  EXPECT_EQ(native, nullptr);
}

TEST_F(DeviceTest, MemoryOnTheDevice) {
  gt_memory memory = nullptr;
  gt_range range = {};
  ASSERT_FINE(gt_memory_new(device(), GT_ON_DEVICE, 1000, &memory));
  EXPECT_FINE(gt_memory_range(memory, &range));
  EXPECT_EQ(range.bytes, 1000u);
  EXPECT_FINE(gt_stream_fill(stream(), range.address, 9, 1, 1000));
  uint8_t read[1000] = {};
  EXPECT_FINE(gt_stream_copy(stream(), reinterpret_cast<uint64_t>(read), range.address, 1000));
  EXPECT_FINE(gt_stream_synchronize(stream()));
  EXPECT_EQ(read[999], 9);
  EXPECT_FINE(gt_release(memory));
  EXPECT_FAILS(gt_memory_new(device(), 7, 1, &memory), GT_INVALID_ARGUMENT, "place 7");
  EXPECT_FAILS(gt_memory_new(device(), GT_ON_DEVICE, ~uint64_t{0}, &memory),
               GT_RESOURCE_EXHAUSTED, "");
}

// Nothing of a device outlives it: closing says what is left.
TEST_F(DeviceTest, ADeviceWithThingsLeftIsNotClosed) {
  gt_device other = nullptr;
  gt_stream on = nullptr;
  ASSERT_FINE(gt_device_open("host", nullptr, &other));
  ASSERT_FINE(gt_stream_new(other, &on));
  EXPECT_FAILS(gt_release(other), GT_FAILED_PRECONDITION, "has 1 of its streams");
  EXPECT_FINE(gt_stream_synchronize(on)) << "nothing has changed";
  EXPECT_FINE(gt_release(on));
  EXPECT_FINE(gt_release(other));
  EXPECT_FAILS(gt_release(other), GT_BAD_HANDLE, "released");
}

TEST_F(DeviceTest, AKernelIsHeldByTheDeviceThatRunsIt) {
  static int ended = 0;
  ended = 0;
  gt_device other = nullptr;
  gt_stream on = nullptr;
  ASSERT_FINE(gt_device_open("host", nullptr, &other));
  ASSERT_FINE(gt_stream_new(other, &on));
  gt_kernel_options options = GT_INIT(gt_kernel_options);
  int runs = 0;
  options.name = "count";
  options.context = &runs;
  options.host = [](void* context, const gt_host_call* call) {
    *static_cast<int*>(context) += static_cast<int>(call->shape.grid[1] + call->count);
  };
  options.destroy = [](void*) { ++ended; };
  gt_kernel kernel = nullptr;
  ASSERT_FINE(gt_kernel_new(&options, &kernel));
  const gt_launch_shape shape = {{1, 5, 1}, {1, 1, 1}, 0, 0};
  EXPECT_FINE(gt_stream_launch(on, kernel, &shape, nullptr, 0));
  EXPECT_FINE(gt_release(kernel));
  EXPECT_EQ(ended, 0);
  EXPECT_FINE(gt_stream_synchronize(on));
  EXPECT_EQ(runs, 5);
  EXPECT_FINE(gt_release(on));
  EXPECT_FINE(gt_release(other));
  EXPECT_EQ(ended, 1);
}

TEST_F(DeviceTest, KernelsThatMakeNoSense) {
  gt_kernel kernel = nullptr;
  gt_kernel_options options = GT_INIT(gt_kernel_options);
  EXPECT_FAILS(gt_kernel_new(&options, &kernel), GT_INVALID_ARGUMENT, "name is null");
  EXPECT_FAILS(gt_kernel_new(nullptr, &kernel), GT_INVALID_ARGUMENT, "name is null");
  options.name = "nothing";
  EXPECT_FAILS(gt_kernel_new(&options, &kernel), GT_INVALID_ARGUMENT, "no body");
  options.cuda_kind = GT_CUDA_SOURCE;
  EXPECT_FAILS(gt_kernel_new(&options, &kernel), GT_INVALID_ARGUMENT, "cuda is null");
  options.cuda = "extern \"C\" __global__ void f() {}";
  EXPECT_FAILS(gt_kernel_new(&options, &kernel), GT_INVALID_ARGUMENT, "entry is null");
  options.entry = "f";
  options.parameter_count = 1;
  EXPECT_FAILS(gt_kernel_new(&options, &kernel), GT_INVALID_ARGUMENT, "parameter_bytes is null");
  options.parameter_count = 0;
  ASSERT_FINE(gt_kernel_new(&options, &kernel));
  // It has no body for this device.
  EXPECT_NE(TextOf(gt_device_load(device(), kernel)), "");
  EXPECT_FINE(gt_release(kernel));
}

TEST_F(DeviceTest, ArgumentsThatAreWrongAreNamed) {
  const gt_value x = Words(1), none = gt_nothing(), number = gt_integer(3);
  const int32_t by = 1;
  const auto launch = [&](const gt_arg& last) {
    const gt_arg args[] = {GT_OUT(&x), GT_IN(&x), last};
    return gt_stream_launch(stream(), add(), &kShape, args, 3);
  };
  EXPECT_FAILS(launch(GT_IN(&none)), GT_INVALID_ARGUMENT, "argument 2 is to be a tensor");
  EXPECT_FAILS(launch(GT_IN(&number)), GT_INVALID_ARGUMENT, "the integer 3");
  EXPECT_FAILS(launch(GT_IN(nullptr)), GT_INVALID_ARGUMENT, "argument 2 points to nothing");
  EXPECT_FAILS(launch({17, 4, &by}), GT_INVALID_ARGUMENT, "access 17");
  EXPECT_FAILS(launch({GT_BYTES, 3, &by}), GT_INVALID_ARGUMENT, "add");
  EXPECT_FAILS(gt_stream_launch(stream(), add(), &kShape, nullptr, 3), GT_INVALID_ARGUMENT, "args");
  EXPECT_FAILS(gt_stream_launch(stream(), add(), nullptr, nullptr, 0), GT_INVALID_ARGUMENT,
               "shape is null");
}

}  // namespace
}  // namespace graphtree::c
