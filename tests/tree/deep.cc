// A path of thousands of levels is counted, drawn and closed by a thread with a small stack.
#include <pthread.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "allocator/snapshot_nodes.h"
#include "device/base/status_matchers.h"
#include "device/host/host_device.h"
#include "device/memory.h"
#include "graphs/reports/outline.h"
#include "graphs/tree.h"
#include "gtest/gtest.h"
#include "tests/tree/bodies.h"

namespace graphtree {
namespace {

constexpr int kLevels = 3000;
constexpr size_t kStackBytes = 256 << 10;

void* RunIt(void* work) {
  (*static_cast<std::function<void()>*>(work))();
  return nullptr;
}

void OnASmallStack(std::function<void()> work) {
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, kStackBytes), 0);
  pthread_t thread;
  ASSERT_EQ(pthread_create(&thread, &attributes, RunIt, &work), 0);
  ASSERT_EQ(pthread_join(thread, nullptr), 0);
  pthread_attr_destroy(&attributes);
}

TEST(DeepTest, CountedDrawnAndClosed) {
  auto device = *OpenHostDevice();
  auto stream = *device->NewStream();
  auto buffer = *device->memory().AllocateHost(64);
  TreeOptions options;
  options.budget.nodes = options.budget.executables = 2 * kLevels;
  options.budget.executable_bytes = uint64_t{1} << 40;
  auto tree = *Tree::Create(*device, options);
  const FunctionId twice = tree->Register("twice", {}, Twice);
  for (int step = 0; step < 2; ++step) {
    tree->BeginStep();
    Values values = {Tensor::Foreign(buffer->range().base, WordsLayout(16))};
    // The first output is held, or the path would end where nothing of it is.
    Values held;
    for (int level = 0; level < kLevels; ++level) {
      Values inputs = {values[0]};
      ASSERT_THAT(tree->Run(twice, absl::MakeSpan(inputs), *stream, &values), IsOk());
      if (level == 0) held = values;
    }
  }
  std::vector<uint64_t> counts;
  OnASmallStack([&] {
    counts = tree->descendants();
    EXPECT_LT(DrawOutline(tree->outline()).size(), 200u * kLevels);
    EXPECT_THAT(tree->OpsOf(kLevels - 1), IsOk());
    EXPECT_EQ(tree->memory_of_nodes().size(), size_t{kLevels});
    tree.reset();
  });
  EXPECT_EQ(counts, std::vector<uint64_t>{kLevels - 1});
  EXPECT_EQ(tree, nullptr);
}

}  // namespace
}  // namespace graphtree
