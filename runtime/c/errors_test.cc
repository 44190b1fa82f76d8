// Errors, releases, versions: null handles, foreign ones, dangling ones, and ones of another kind.
#include <cstring>
#include <string>

#include "runtime/c/test_runtime.h"
#include "runtime/c/test_tree.h"

namespace graphtree::c {
namespace {

TEST(VersionTest, HeaderAndLibrary) {
  int32_t major = 0, minor = 0, patch = 0;
  gt_version(&major, &minor, &patch);
  EXPECT_EQ(std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch),
            gt_version_string());
  gt_version(nullptr, nullptr, nullptr);
  EXPECT_FINE(gt_version_check(GT_VERSION_MAJOR, GT_VERSION_MINOR));
  EXPECT_FAILS(gt_version_check(GT_VERSION_MAJOR, GT_VERSION_MINOR + 1), GT_FAILED_PRECONDITION,
               "what was added in between is not here");
  EXPECT_FAILS(gt_version_check(GT_VERSION_MAJOR + 1, 0), GT_FAILED_PRECONDITION,
               "they do not fit together");
}

TEST(ErrorTest, OneOfACallersOwn) {
  gt_error error = gt_error_new(GT_NOT_FOUND, "no such weights");
  EXPECT_EQ(gt_error_look(error)->code, GT_NOT_FOUND);
  EXPECT_STREQ(gt_error_look(error)->text, "no such weights");
  EXPECT_EQ(gt_error_look(error)->input, -1);
  EXPECT_EQ(gt_live_handles(), 1u);
  EXPECT_FINE(gt_release(error));
  EXPECT_EQ(gt_error_look(error)->code, GT_BAD_HANDLE);
  EXPECT_FAILS(gt_release(error), GT_BAD_HANDLE, "the handle of a error that was released");
  EXPECT_EQ(gt_error_look(nullptr)->code, GT_OK);
  error = gt_error_new(77, nullptr);
  EXPECT_EQ(gt_error_look(error)->code, GT_UNKNOWN);
  EXPECT_FINE(gt_release(error));
}

TEST(ErrorTest, CodesHaveNames) {
  EXPECT_STREQ(gt_code_name(GT_OK), "GT_OK");
  EXPECT_STREQ(gt_code_name(GT_BAD_HANDLE), "GT_BAD_HANDLE");
  EXPECT_STREQ(gt_code_name(55), "GT_UNKNOWN");
}

class HandlesTest : public CTest {};

TEST_F(HandlesTest, ABadHandleIsSaidToBeWhatItIs) {
  EXPECT_FAILS(gt_stream_synchronize(nullptr), GT_BAD_HANDLE,
               "gt_stream_synchronize: stream is null, and a stream is wanted");
  EXPECT_FAILS(gt_stream_synchronize(reinterpret_cast<gt_stream>(0x123456)), GT_BAD_HANDLE,
               "is no handle of this library");
  EXPECT_FAILS(gt_stream_synchronize(reinterpret_cast<gt_stream>(device())), GT_BAD_HANDLE,
               "stream is a device, and a stream is wanted");
  gt_stream other = nullptr;
  ASSERT_FINE(gt_stream_new(device(), &other));
  EXPECT_FINE(gt_release(other));
  EXPECT_FAILS(gt_stream_synchronize(other), GT_BAD_HANDLE, "is the handle of a stream that was");
  EXPECT_FAILS(gt_release(other), GT_BAD_HANDLE, "that was released");
}

// Numbers that nobody gave out, with every kind that a handle could have.
TEST_F(HandlesTest, WhatWasNeverAHandle) {
  for (uint64_t kind = 0; kind < 256; ++kind) {
    for (const uint64_t rest : {uint64_t{0}, uint64_t{1} << 32, ~uint64_t{0xFF000000}}) {
      void* const made_up = reinterpret_cast<void*>(rest | (kind << 24));
      if (made_up == nullptr || (kind == 1 && rest == ~uint64_t{0xFF000000})) continue;
      EXPECT_FAILS(gt_release(made_up), GT_BAD_HANDLE, "gt_release: handle is") << kind;
    }
  }
}

TEST_F(HandlesTest, NullIsReleasedAsNothing) { EXPECT_FINE(gt_release(nullptr)); }

TEST_F(HandlesTest, OutParametersMustBeThere) {
  EXPECT_FAILS(gt_stream_new(device(), nullptr), GT_INVALID_ARGUMENT, "out is null");
  EXPECT_FAILS(gt_device_open("host", nullptr, nullptr), GT_INVALID_ARGUMENT, "out is null");
  EXPECT_FAILS(gt_device_open(nullptr, nullptr, nullptr), GT_INVALID_ARGUMENT, "name is null");
  gt_stream out = stream();
  EXPECT_FAILS(gt_stream_new(nullptr, &out), GT_BAD_HANDLE, "device is null");
  EXPECT_EQ(out, nullptr);
}

TEST_F(HandlesTest, AnErrorSaysWhichCallAndWhichCodeOfCudas) {
  gt_device other = nullptr;
  const gt_error error = gt_device_open("cuda:99", nullptr, &other);
  ASSERT_NE(error, nullptr);
  EXPECT_STREQ(gt_error_look(error)->call, "gt_device_open");
  EXPECT_NE(gt_error_look(error)->cuda_code, 0);
  EXPECT_FINE(gt_release(error));
}

// What a function is given ends once, also where it fails.
TEST_F(HandlesTest, WhatAFunctionIsGivenEndsWhereItFails) {
  int ended = 0;
  const auto end = [](void* count) { ++*static_cast<int*>(count); };
  gt_kernel_options kernel = GT_INIT(gt_kernel_options);
  kernel.host = [](void*, const gt_host_call*) {};
  kernel.context = &ended;
  kernel.destroy = end;
  gt_kernel made = nullptr;
  EXPECT_FAILS(gt_kernel_new(&kernel, &made), GT_INVALID_ARGUMENT, "name is null");
  EXPECT_EQ(ended, 1);
  kernel.name = "k";
  EXPECT_FAILS(gt_kernel_new(&kernel, nullptr), GT_INVALID_ARGUMENT, "out is null");
  EXPECT_EQ(ended, 2);
  gt_tree_options options = GT_INIT(gt_tree_options);
  options.context = &ended;
  options.destroy = end;
  options.warn = [](void*, const char*) {};
  gt_tree tree = nullptr;
  EXPECT_FAILS(gt_tree_new(nullptr, &options, &tree), GT_BAD_HANDLE, "device is null");
  EXPECT_EQ(ended, 3);
  EXPECT_FAILS(gt_tree_new(device(), &options, nullptr), GT_INVALID_ARGUMENT, "out is null");
  EXPECT_EQ(ended, 4);
  EXPECT_FAILS(gt_opaque_new(&ended, end, nullptr, nullptr), GT_INVALID_ARGUMENT, "out is null");
  EXPECT_EQ(ended, 5);
}

// Fields that have no meaning yet are 0, so that they can be given one.
class ReservedTest : public RuntimeCTest {};

#define EXPECT_RESERVED(call, name) \
  EXPECT_FAILS(call, GT_INVALID_ARGUMENT, name ".reserved is 7, and must be 0")

TEST_F(ReservedTest, OfOptions) {
  int ended = 0;
  gt_tree_options tree = GT_INIT(gt_tree_options);
  tree.reserved = 7;
  tree.warn = [](void*, const char*) {};
  tree.context = &ended;
  tree.destroy = [](void* count) { ++*static_cast<int*>(count); };
  gt_tree made_tree = nullptr;
  EXPECT_RESERVED(gt_tree_new(device(), &tree, &made_tree), "gt_tree_options");
  EXPECT_EQ(ended, 1);
  const gt_alignment alignment = {0, 7, 16};
  gt_function_options function = GT_INIT(gt_function_options);
  function.alignments = &alignment;
  function.alignment_count = 1;
  ASSERT_FINE(gt_tree_new(device(), nullptr, &made_tree));
  gt_function made_function = nullptr;
  const gt_body body = [](void*, gt_launcher) -> gt_error { return nullptr; };
  EXPECT_RESERVED(
      gt_tree_register(made_tree, "f", &function, body, nullptr, nullptr, &made_function),
      "gt_alignment");
  EXPECT_FINE(gt_release(made_tree));
  gt_runtime_options runtime_options = GT_INIT(gt_runtime_options);
  runtime_options.reserved = 7;
  gt_runtime made = nullptr;
  const gt_device over = device();
  EXPECT_RESERVED(gt_runtime_new(&over, 1, &runtime_options, &made), "gt_runtime_options");
  gt_tagged_memory memory = GT_INIT(gt_tagged_memory);
  memory.reserved = 7;
  gt_range range;
  EXPECT_RESERVED(gt_runtime_add_memory(runtime(), &memory, &range), "gt_tagged_memory");
  gt_describe_options describe = GT_INIT(gt_describe_options);
  describe.reserved = 7;
  gt_text text = nullptr;
  EXPECT_RESERVED(gt_runtime_describe(runtime(), GT_EXPLAIN, &describe, &text),
                  "gt_describe_options");
  gt_progress_options progress = GT_INIT(gt_progress_options);
  progress.reserved = 7;
  EXPECT_RESERVED(gt_runtime_progress(runtime(), stream(), &progress, nullptr),
                  "gt_progress_options");
}

TEST_F(ReservedTest, OfKeysShapesAndSteps) {
  const gt_program program = Program("decode", {8});
  gt_key key = Tokens(5);
  gt_shape shape = {program, Tokens(5), GT_FULL, 7};
  gt_plan plan = nullptr;
  EXPECT_RESERVED(gt_plan_new(runtime(), &shape, 1, 0, &plan), "gt_shape");
  key.reserved = 7;
  shape = {program, key, GT_FULL, 0};
  EXPECT_RESERVED(gt_plan_new(runtime(), &shape, 1, 0, &plan), "gt_key");
  gt_choice choice = GT_INIT(gt_choice);
  gt_step step = nullptr;
  EXPECT_RESERVED(gt_program_add_shapes(program, &key, 1, GT_FULL), "gt_key");
  EXPECT_RESERVED(gt_program_exclude(program, &key, 1), "gt_key");
  EXPECT_RESERVED(gt_program_choose(program, &key, GT_ALLOW_ALL, &choice), "gt_key");
  EXPECT_RESERVED(gt_step_begin(program, &key, stream(), nullptr, &step), "gt_key");
  gt_step_options options = GT_INIT(gt_step_options);
  options.reserved = 7;
  key.reserved = 0;
  EXPECT_RESERVED(gt_step_begin(program, &key, stream(), &options, &step), "gt_step_options");
}

class ReservedOfValuesTest : public TreeCTest {};

TEST_F(ReservedOfValuesTest, PlainOnesAndStoredOnes) {
  const gt_function add = Register("add", AddThree);
  gt_value plain = Words(1), out = gt_nothing();
  gt_value made = Call(add, {plain});
  for (gt_value* const value : {&plain, &made}) {
    value->reserved = 7;
    EXPECT_RESERVED(gt_call(add, value, 1, stream(), &out, 1, nullptr), "gt_value");
    EXPECT_RESERVED(gt_record(add, value, 1, stream()), "gt_value");
    EXPECT_RESERVED(gt_value_copy(value, &out), "gt_value");
    EXPECT_RESERVED(gt_value_view(value, words(), 0, &out), "gt_value");
    EXPECT_RESERVED(gt_value_check(value), "gt_value");
    value->reserved = 0;
    EXPECT_FINE(gt_value_check(value));
  }
  EXPECT_FINE(gt_release(made.storage));
}

// What a count says is believed up to a limit that no call needs.
class CountsTest : public TreeCTest, public ::testing::WithParamInterface<size_t> {
 protected:
  void ExpectRefused(gt_error error) {
    EXPECT_FAILS(error, GT_INVALID_ARGUMENT, "1048576 are the most");
  }
};
INSTANTIATE_TEST_SUITE_P(Counts, CountsTest,
                         ::testing::Values(SIZE_MAX, size_t{1} << 62, size_t{1} << 33,
                                           (size_t{1} << 20) + 1));

TEST_P(CountsTest, OfInputsAndOutputs) {
  const gt_function add = Register("add 3", AddThree);
  gt_value in = Words(1), out = gt_nothing();
  ExpectRefused(gt_call(add, &in, GetParam(), stream(), &out, 1, nullptr));
  ExpectRefused(gt_call(add, &in, 1, stream(), &out, GetParam(), nullptr));
  ExpectRefused(gt_call_replay(add, &in, GetParam(), stream(), &out, 1, nullptr));
  ExpectRefused(gt_record(add, &in, GetParam(), stream()));
}

TEST_P(CountsTest, OfWhatABodyLaunches) {
  const gt_function launches = Register("launches", [this](gt_launcher on) {
    gt_value x;
    gt_launcher_input(on, 0, &x);
    const gt_arg args[] = {GT_IN(&x)};
    return gt_launcher_launch(on, add(), &kShape, args, GetParam());
  });
  gt_value in = Words(1);
  ExpectRefused(gt_call(launches, &in, 1, stream(), nullptr, 0, nullptr));
  const gt_function breaks = Register("breaks", [](gt_launcher on) {
    gt_value x;
    gt_launcher_input(on, 0, &x);
    const gt_arg args[] = {GT_IN(&x)};
    const auto part = [](void*, gt_launcher, const gt_value*, size_t) -> gt_error {
      return nullptr;
    };
    return gt_launcher_break(on, "part", args, GetParam(), part, nullptr, nullptr);
  });
  ExpectRefused(gt_call(breaks, &in, 1, stream(), nullptr, 0, nullptr));
  const gt_arg args[] = {GT_IN(&in)};
  ExpectRefused(gt_stream_launch(stream(), add(), &kShape, args, GetParam()));
}

TEST_P(CountsTest, OfOptions) {
  const uint32_t first = 0;
  const int64_t size = 0;
  gt_function made = nullptr;
  gt_function_options options = GT_INIT(gt_function_options);
  options.static_inputs = &first;
  options.static_input_count = GetParam();
  ExpectRefused(gt_tree_register(tree(), "g", &options, AddThree, this, nullptr, &made));
  options = GT_INIT(gt_function_options);
  options.recorded_sizes = &size;
  options.recorded_size_count = GetParam();
  ExpectRefused(gt_tree_register(tree(), "g", &options, AddThree, this, nullptr, &made));
  options.recorded_size_count = 1;
  options.recorded_size_length = GetParam();
  ExpectRefused(gt_tree_register(tree(), "g", &options, AddThree, this, nullptr, &made));
  gt_kernel kernel = nullptr;
  gt_kernel_options of = GT_INIT(gt_kernel_options);
  of.name = "k";
  of.host = [](void*, const gt_host_call*) {};
  of.parameter_bytes = &first;
  of.parameter_count = GetParam();
  ExpectRefused(gt_kernel_new(&of, &kernel));
  const gt_device over = device();
  gt_runtime runtime = nullptr;
  ExpectRefused(gt_runtime_new(&over, GetParam(), nullptr, &runtime));
}

}  // namespace
}  // namespace graphtree::c
