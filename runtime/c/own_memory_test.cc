// The n-th allocation of a function of graphtree.h fails, for every n: the function returns an
// error that says so and everything can be released, or the process ends with words that name the
// function. It never hangs, and never lets an exception out.
//
// Each n is tried in a child: it says over a pipe what became of the call.
#include "runtime/c/own_memory.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <new>
#include <string>
#include <vector>

#include "runtime/c/test_world.h"

namespace {

// Of this thread: after so many allocations each one fails; negative: none does.
thread_local int64_t left = -1;
thread_local bool has_failed = false;

}  // namespace

void* operator new(std::size_t bytes) {
  if (left == 0) {
    has_failed = true;
    throw std::bad_alloc();
  }
  if (left > 0) --left;
  void* const memory = std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) std::abort();
  return memory;
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return left == 0 ? nullptr : std::malloc(bytes == 0 ? 1 : bytes);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace graphtree::c {
namespace {

TEST(TryOwnTest, SaysWhetherThereWasMemory) {
  std::vector<int> numbers;
  EXPECT_TRUE(TryOwn([&] { numbers.resize(3); }));
  left = 0;
  const bool grew = TryOwn([&] { numbers.resize(1000); });
  left = -1;
  EXPECT_FALSE(grew);
  EXPECT_EQ(numbers.size(), 3u);
}

// What a call is tried with. What it makes is added to `made`, and released in the end.
struct World {
  gt_device device = nullptr;
  gt_stream stream = nullptr;
  gt_tree tree = nullptr;
  gt_runtime runtime = nullptr;
  gt_function function = nullptr;
  gt_layout layout = nullptr;
  gt_memory memory = nullptr;
  gt_value input = gt_nothing();
  std::vector<void*> made;
  int ended = 0;

  static gt_error Body(void* context, gt_launcher on) {
    gt_value out;
    gt_launcher_empty(on, static_cast<World*>(context)->layout, &out);
    gt_launcher_fill(on, &out, 1);
    return gt_launcher_output(on, &out);
  }
  static void End(void* world) { ++static_cast<World*>(world)->ended; }

  World() {
    gt_range range = {};
    const int64_t sizes[] = {4};
    made.reserve(16);
    EXPECT_FINE(gt_device_open("host", nullptr, &device));
    EXPECT_FINE(gt_stream_new(device, &stream));
    EXPECT_FINE(gt_tree_new(device, nullptr, &tree));
    EXPECT_FINE(gt_runtime_new(&device, 1, nullptr, &runtime));
    EXPECT_FINE(gt_layout_new(GT_I32, 1, sizes, nullptr, &layout));
    EXPECT_FINE(gt_memory_new(device, GT_ON_HOST, 64, &memory));
    EXPECT_FINE(gt_memory_range(memory, &range));
    EXPECT_FINE(gt_tree_register(tree, "f", nullptr, Body, this, nullptr, &function));
    input = gt_tensor(range.address, layout);
  }
  // Whether all handles went.
  bool Release() {
    gt_release(gt_stream_synchronize(stream));
    for (void* handle : made) gt_release(gt_release(handle));
    for (void* handle : {static_cast<void*>(function), static_cast<void*>(tree),
                         static_cast<void*>(runtime), static_cast<void*>(memory),
                         static_cast<void*>(stream), static_cast<void*>(device)}) {
      gt_release(gt_release(handle));
    }
    return gt_live_handles() == 0;
  }
};

struct Tried {
  const char* name;
  std::function<gt_error(World&)> call;
  bool is_to_fail;  // some of its allocations are the interface's own
};

template <typename Handle>
gt_error Kept(World& world, gt_error error, Handle handle) {
  if (handle != nullptr) world.made.push_back(handle);
  return error;
}

gt_error NewKernel(World& world) {
  gt_kernel_options options = GT_INIT(gt_kernel_options);
  const uint32_t bytes[] = {8, 8, 4};
  options.name = "a kernel with a name that is too long to lie in a string itself";
  options.parameter_count = 3;
  options.parameter_bytes = bytes;
  options.host = [](void*, const gt_host_call*) {};
  options.context = &world;
  options.destroy = World::End;
  gt_kernel kernel = nullptr;
  const gt_error error = gt_kernel_new(&options, &kernel);
  return Kept(world, error, kernel);
}

gt_error Register(World& world) {
  gt_function_options options = GT_INIT(gt_function_options);
  const uint32_t numbers[] = {0, 1};
  const gt_alignment alignment = {0, 0, 16};
  const char* const name = "an input with a name that is too long to lie in a string itself";
  options.static_inputs = numbers;
  options.static_input_count = 2;
  options.alignments = &alignment;
  options.alignment_count = 1;
  options.input_names = &name;
  options.input_name_count = 1;
  gt_function function = nullptr;
  const gt_error error = gt_tree_register(world.tree, "g", &options, World::Body, &world,
                                          World::End, &function);
  return Kept(world, error, function);
}

gt_error Call(World& world) {
  gt_value inputs[] = {world.input, world.input}, out = gt_nothing();
  const gt_error error = gt_call(world.function, inputs, 2, world.stream, &out, 1, nullptr);
  return Kept(world, error, out.storage);
}

gt_error NewTree(World& world) {
  gt_tree_options options = GT_INIT(gt_tree_options);
  options.warn = [](void*, const char*) {};
  options.context = &world;
  options.destroy = World::End;
  gt_tree tree = nullptr;
  const gt_error error = gt_tree_new(world.device, &options, &tree);
  return Kept(world, error, tree);
}

gt_error NewOpaque(World& world) {
  gt_value value = gt_nothing();
  const gt_error error = gt_opaque_new(&world, World::End, nullptr, &value);
  return Kept(world, error, value.storage);
}

gt_error NewProgram(World& world) {
  gt_program_options options = GT_INIT(gt_program_options);
  options.name = "p";
  options.body = World::Body;
  options.context = &world;
  options.destroy = World::End;
  gt_program program = nullptr;
  const gt_error error = gt_program_new(world.runtime, &options, &program);
  return Kept(world, error, program);
}

#define GRAPHTREE_MAKES(call, type, arguments, fails) \
  {#call, [](World& world) { \
     type made = nullptr; \
     const gt_error error = call arguments; \
     return Kept(world, error, made); \
   }, fails}

const std::vector<Tried>& AllTried() {
  static const auto* const all = new std::vector<Tried>{
      {"gt_kernel_new", NewKernel, true},
      {"gt_tree_register", Register, true},
      {"gt_call", Call, true},
      {"gt_tree_new", NewTree, true},
      {"gt_opaque_new", NewOpaque, true},
      {"gt_program_new", NewProgram, true},
      GRAPHTREE_MAKES(gt_device_open, gt_device, ("host", nullptr, &made), true),
      GRAPHTREE_MAKES(gt_stream_new, gt_stream, (world.device, &made), false),
      GRAPHTREE_MAKES(gt_event_new, gt_event, (world.device, 0, &made), false),
      GRAPHTREE_MAKES(gt_memory_new, gt_memory, (world.device, GT_ON_DEVICE, 64, &made), false),
      GRAPHTREE_MAKES(gt_generator_new, gt_generator, (7, &made), true),
      GRAPHTREE_MAKES(gt_budget_new, gt_budget, (1, 1, 1, &made), true),
      GRAPHTREE_MAKES(gt_runtime_new, gt_runtime, (&world.device, 1, nullptr, &made), true),
      GRAPHTREE_MAKES(gt_dependency_new, gt_dependency, (world.runtime, "weights", &made), true),
      GRAPHTREE_MAKES(gt_plan_new, gt_plan, (world.runtime, nullptr, 0, 0, &made), false),
      GRAPHTREE_MAKES(gt_pool_new, gt_pool, (world.device, nullptr, &made), false),
      GRAPHTREE_MAKES(gt_workspace_new, gt_workspace, (world.tree, "w", {world.input.word, 64},
                                                       &made), true),
      GRAPHTREE_MAKES(gt_tree_describe, gt_text, (world.tree, GT_OUTLINE, &made), false),
      GRAPHTREE_MAKES(gt_runtime_describe, gt_text, (world.runtime, GT_SETTINGS, nullptr, &made),
                      false),
      GRAPHTREE_MAKES(gt_value_describe, gt_text, (&world.input, &made), false),
      {"gt_layout_new", [](World&) {
         const int64_t sizes[] = {3, 5, 7};
         gt_layout made = nullptr;
         return gt_layout_new(GT_F16, 3, sizes, nullptr, &made);
       }, false},
      {"gt_record", [](World& world) {
         return gt_record(world.function, &world.input, 1, world.stream);
       }, true},
      {"gt_stream_fill", [](World& world) {
         return gt_stream_fill(world.stream, world.input.word, 1, 4, 4);
       }, false},
      {"gt_tree_write_snapshot", [](World& world) {
         return gt_tree_write_snapshot(world.tree, "/dev/null");
       }, false},
  };
  return *all;
}

enum class Became : char { kFine = 'f', kError = 'e', kWrong = 'w', kEnded = 'x' };

// In a child, whose standard error goes into the pipe, too.
[[noreturn]] void Try(const Tried& tried, int64_t n, int pipe) {
  dup2(pipe, STDERR_FILENO);
  World world;
  left = n;
  has_failed = false;
  const gt_error error = tried.call(world);
  left = -1;
  const gt_error_info& info = *gt_error_look(error);
  const bool is_said = info.code == GT_RESOURCE_EXHAUSTED &&
                       std::string(info.text).find("no memory") != std::string::npos;
  const bool is_error = error != nullptr;
  std::string said(1, static_cast<char>(is_error ? Became::kError : Became::kFine));
  if (is_error && !is_said) said = std::string("an error of another kind: ") + info.text;
  if (!is_error && has_failed) said = "a failed allocation was not seen";
  // What the call comes to with memory is others' to test.
  if (!has_failed) said = static_cast<char>(Became::kFine);
  gt_release(gt_release(error));
  if (!world.Release()) said = "something could not be released";
  if (write(pipe, said.data(), said.size()) != static_cast<ssize_t>(said.size())) std::abort();
  _exit(0);
}

Became TryInChild(const Tried& tried, int64_t n) {
  int ends[2];
  if (pipe(ends) != 0) return Became::kWrong;
  const pid_t child = fork();
  if (child == 0) Try(tried, n, ends[1]);
  close(ends[1]);
  std::string said;
  char byte = 0;
  while (read(ends[0], &byte, 1) == 1) said += byte;
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  // A body's own call is named, where it lacks memory. Where Abseil lacks it within what must not
  // throw, the C++ run time has the words.
  const bool is_named = (said.rfind("graphtree: out of host memory in gt_", 0) == 0 &&
                         said.find('\n') == said.size() - 1) ||
                        said.rfind("terminate called after throwing", 0) == 0 ||
                        said.rfind("terminating with uncaught exception", 0) == 0;
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT && is_named) return Became::kEnded;
  if (WIFEXITED(status) && said.size() == 1) return static_cast<Became>(said[0]);
  ADD_FAILURE() << tried.name << ", allocation " << n << ": status " << status << ": " << said;
  return Became::kWrong;
}

class NthAllocationTest : public ::testing::TestWithParam<size_t> {};
INSTANTIATE_TEST_SUITE_P(Functions, NthAllocationTest,
                         ::testing::Range(size_t{0}, AllTried().size()),
                         [](const auto& info) { return AllTried()[info.param].name; });

TEST_P(NthAllocationTest, IsAnErrorOrEndsTheProcessInWords) {
  const Tried& tried = AllTried()[GetParam()];
  int errors = 0, ends = 0;
  for (int64_t n = 0;; ++n) {
    ASSERT_LT(n, 1000);
    const Became became = TryInChild(tried, n);
    ASSERT_NE(became, Became::kWrong) << "allocation " << n;
    if (became == Became::kFine) break;
    ++(became == Became::kError ? errors : ends);
  }
  EXPECT_TRUE(!tried.is_to_fail || errors > 0) << ends << " ended the process";
}

}  // namespace
}  // namespace graphtree::c
