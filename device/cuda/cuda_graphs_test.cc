// Graphs and executables where CUDA itself is asked for more than the interface promises: closures
// of host calls through updates, memory of executables, threads, arguments beyond the inline array.
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "device/cuda/gpu_fixture.h"
#include "device/error.h"

namespace graphtree {
namespace {

using std::chrono::milliseconds;

class GraphsTest : public GpuTest {
 protected:
  // CUDA destroys closures on a thread of its own.
  template <typename T>
  static bool GoneSoon(const std::weak_ptr<T>& watch) {
    for (int i = 0; i < 2000 && !watch.expired(); ++i) {
      std::this_thread::sleep_for(milliseconds(1));
    }
    return watch.expired();
  }
  // A kernel as code that knows nothing of this library may launch it.
  cudaError_t LaunchWith(std::vector<cudaLaunchAttribute> attributes,
                         const void* symbol = kAddWordSymbol) {
    cudaLaunchConfig_t config = {};
    config.gridDim = 2;
    config.blockDim = 1;
    config.stream = RawStream();
    config.attrs = attributes.data();
    config.numAttrs = static_cast<unsigned>(attributes.size());
    uint64_t word = Word(0).base;
    uint32_t by = 1;
    void* arguments[] = {&word, &by};
    return cudaLaunchKernelExC(&config, symbol, arguments);
  }
  // What updating an executable of the one to the other comes to; it can be launched after that.
  UpdateResult UpdatedTo(const Graph& from, const Graph& to) {
    auto executable = from.Instantiate();
    EXPECT_THAT(executable, IsOk());
    const auto updated = (*executable)->Update(to);
    EXPECT_THAT(updated, IsOk());
    EXPECT_THAT((*executable)->Launch(*stream_), IsOk());
    EXPECT_THAT(stream_->Synchronize(), IsOk());
    return *updated;
  }
  std::unique_ptr<Graph> Calls(std::shared_ptr<std::atomic<int>> counter, int by) {
    return Captured([&] {
      EXPECT_THAT(stream_->CallHost([counter, by] { *counter += by; }), IsOk());
    });
  }
};

// It keeps the old ones, too, as ops are patched by the nodes of the graph that it was made from.
TEST_F(GraphsTest, AnUpdatedExecutableKeepsTheNewClosures) {
  auto old_counter = std::make_shared<std::atomic<int>>(0);
  auto new_counter = std::make_shared<std::atomic<int>>(0);
  const std::weak_ptr<std::atomic<int>> old_watch = old_counter, new_watch = new_counter;
  std::unique_ptr<Graph> first = Calls(old_counter, 1);
  std::unique_ptr<Graph> second = Calls(new_counter, 10);
  auto executable = first->Instantiate();
  ASSERT_THAT(executable, IsOk());
  auto updated = (*executable)->Update(*second);
  ASSERT_THAT(updated, IsOk());
  EXPECT_EQ(*updated, UpdateResult::kUpdated);
  first.reset();
  second.reset();
  EXPECT_THAT((*executable)->Launch(*stream_), IsOk());
  EXPECT_THAT(stream_->Synchronize(), IsOk());
  EXPECT_EQ(*new_counter, 10);
  EXPECT_EQ(*old_counter, 0);
  new_counter.reset();
  old_counter.reset();
  EXPECT_FALSE(new_watch.expired());
  executable->reset();
  EXPECT_TRUE(GoneSoon(new_watch));
  EXPECT_TRUE(GoneSoon(old_watch));
}

// An update would leave the kernel as it was launched first, and report success.
TEST_F(GraphsTest, AnUpdateThatWouldLoseAnAttributeIsRefused) {
  const std::unique_ptr<Graph> plain = Captured([&] {
    EXPECT_EQ(LaunchWith({}), cudaSuccess);
  });
  cudaLaunchAttribute clusters = {}, window = {}, domain = {};
  clusters.id = cudaLaunchAttributeClusterDimension;
  clusters.val.clusterDim = {2, 1, 1};
  domain.id = cudaLaunchAttributeMemSyncDomain;
  domain.val.memSyncDomain = cudaLaunchMemSyncDomainRemote;
  window.id = cudaLaunchAttributeAccessPolicyWindow;
  window.val.accessPolicyWindow.base_ptr = PointerTo(Word(0).base);
  window.val.accessPolicyWindow.num_bytes = 4096;
  window.val.accessPolicyWindow.hitRatio = 1;
  cudaLaunchAttribute cooperative = {};
  cooperative.id = cudaLaunchAttributeCooperative;
  cooperative.val.cooperative = 1;
  std::vector<std::unique_ptr<Graph>> special;
  for (const cudaLaunchAttribute& attribute : {clusters, window, domain, cooperative}) {
    special.push_back(Captured([&] {
      EXPECT_EQ(LaunchWith({attribute}), cudaSuccess) << attribute.id;
    }));
  }
  special.push_back(Captured([&] {
    EXPECT_EQ(LaunchWith({}, kClusteredSymbol), cudaSuccess);
  }));
  ASSERT_EQ(UpdatedTo(*plain, *plain), UpdateResult::kUpdated);
  for (size_t i = 0; i < special.size(); ++i) {
    EXPECT_EQ(UpdatedTo(*plain, *special[i]), UpdateResult::kOpNotUpdatable) << i;
    EXPECT_EQ(UpdatedTo(*special[i], *plain), UpdateResult::kOpNotUpdatable) << i;
  }
}

TEST_F(GraphsTest, AClosureOfACaptureThatFailsIsDropped) {
  auto counter = std::make_shared<std::atomic<int>>(0);
  const std::weak_ptr<std::atomic<int>> watch = counter;
  ASSERT_THAT(stream_->BeginCapture(CaptureMode::kThreadLocal), IsOk());
  EXPECT_THAT(stream_->CallHost([counter] { ++*counter; }), IsOk());
  EXPECT_FALSE(stream_->Synchronize().ok());
  EXPECT_FALSE(stream_->EndCapture().ok());
  counter.reset();
  EXPECT_TRUE(GoneSoon(watch));
}

TEST_F(GraphsTest, AnExecutableDestroyedInFlightStillCalls) {
  auto counter = std::make_shared<std::atomic<int>>(0);
  std::atomic<bool> go{false};
  std::unique_ptr<Graph> graph = Calls(counter, 1);
  auto executable = graph->Instantiate();
  ASSERT_THAT(executable, IsOk());
  EXPECT_THAT(stream_->CallHost([&go] {
    while (!go) std::this_thread::sleep_for(milliseconds(1));
  }), IsOk());
  EXPECT_THAT((*executable)->Launch(*stream_), IsOk());
  executable->reset();
  graph.reset();
  go = true;
  EXPECT_THAT(stream_->Synchronize(), IsOk());
  EXPECT_EQ(*counter, 1);
}

// What an executable is said to take is about what the device has less for many of them.
TEST_F(GraphsTest, ExecutablesTakeTheDeviceMemoryThatTheySay) {
  const auto graph = Captured([&] {
    for (int i = 0; i < 1000; ++i) EXPECT_THAT(AddTo(*stream_, 0, 1), IsOk());
  });
  ASSERT_NE(graph, nullptr);
  std::vector<std::unique_ptr<Executable>> executables;
  constexpr int kMany = 64;
  uint64_t bytes = 0;
  const auto before = device_->memory().Info();
  ASSERT_THAT(before, IsOk());
  for (int i = 0; i < kMany; ++i) {
    auto executable = graph->Instantiate();
    ASSERT_THAT(executable, IsOk());
    EXPECT_THAT((*executable)->Upload(*stream_), IsOk());
    EXPECT_THAT(stream_->Synchronize(), IsOk());
    bytes += (*executable)->device_bytes();
    executables.push_back(*std::move(executable));
  }
  const auto after = device_->memory().Info();
  ASSERT_THAT(after, IsOk());
  const double measured = static_cast<double>(before->free_bytes) - after->free_bytes;
  RecordProperty("device_bytes", absl::StrCat(measured / kMany));
  std::printf("executables of 1000 kernels: %.1f KiB each, by their own word %.1f KiB\n",
              measured / kMany / 1024, bytes / kMany / 1024.0);
  // Others use the device, too.
  EXPECT_GT(bytes, measured / 3);
  EXPECT_LT(bytes, measured * 3 + (64 << 20));
}

TEST_F(GraphsTest, ThreadsCaptureInstantiateAndLaunchAtOnce) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      auto stream = device_->NewStream();
      ASSERT_THAT(stream, IsOk());
      for (int round = 0; round < 20; ++round) {
        ASSERT_THAT((*stream)->BeginCapture(CaptureMode::kThreadLocal), IsOk());
        for (int i = 0; i < 10; ++i) EXPECT_THAT(AddTo(**stream, t, 1), IsOk());
        auto graph = (*stream)->EndCapture();
        ASSERT_THAT(graph, IsOk());
        auto executable = (*graph)->Instantiate();
        ASSERT_THAT(executable, IsOk());
        EXPECT_THAT((*executable)->PatchKernel(9, add_, {}, WordArguments(t, 2)), IsOk());
        EXPECT_THAT((*executable)->Launch(**stream), IsOk());
        EXPECT_THAT((*stream)->Synchronize(), IsOk());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int t = 0; t < 8; ++t) EXPECT_EQ(ValueOf(t), 20u * 11u);
  EXPECT_EQ(device_->open_captures(), 0);
}

TEST_F(GraphsTest, ADeviceNumberThatDoesNotExist) {
  const absl::StatusOr<int> count = CountCudaDevices();
  ASSERT_THAT(count, IsOk());
  for (int ordinal : {*count, 1000, -1}) {
    const absl::Status status = OpenCudaDevice(ordinal, {}).status();
    EXPECT_EQ(ErrorCodeOf(status), ErrorCode::kInvalidDevice) << status;
    EXPECT_THAT(std::string(status.message()), testing::HasSubstr(absl::StrCat(ordinal)));
  }
}

TEST_F(GraphsTest, TheDescriptionIsThatOfTheDevice) {
  auto description = DescribeCudaDevice(0, TestOptions());
  ASSERT_THAT(description, IsOk());
  EXPECT_EQ(description->info.identity, device_->info().identity);
  EXPECT_EQ(description->info.architecture.substr(0, 3), "sm_");
  EXPECT_GE(description->info.driver_version, 13000);
  std::printf("%s: %s, %s, driver %d, runtime %d\n", description->info.name.c_str(),
              description->info.model.c_str(), description->info.architecture.c_str(),
              description->info.driver_version, description->info.runtime_version);
  for (const CapabilityState& state : description->capabilities) {
    std::printf("  %-24s %s\n", CapabilityName(state.capability),
                state.present ? "yes" : state.reason.c_str());
  }
}

// The driver has addresses left over from ranges of that size, which it would rather hand out.
TEST_F(GraphsTest, AWishedBaseIsTakenForSmallRangesToo) {
  Memory& memory = device_->memory();
  for (int i = 0; i < 3; ++i) {
    auto leftover = memory.Reserve(8 * bytes_, {});
    ASSERT_THAT(leftover, IsOk());
    ASSERT_THAT(memory.Release(*leftover), IsOk());
    ReserveOptions wish;
    wish.wished_base = 0x620000000000;
    auto granted = memory.Reserve(8 * bytes_, wish);
    ASSERT_THAT(granted, IsOk());
    EXPECT_EQ(granted->base, wish.wished_base) << "round " << i;
    auto other = memory.Reserve(8 * bytes_, wish);
    ASSERT_THAT(other, IsOk());
    EXPECT_FALSE(other->Overlaps(*granted));
    EXPECT_THAT(memory.Release(*other), IsOk());
    EXPECT_THAT(memory.Release(*granted), IsOk());
  }
}

// A stream that is dropped with work on it is waited for by Close, and only by it.
TEST_F(GraphsTest, DroppingABusyStreamDoesNotWait) {
  // Shared, since the call may outlive this test's own variables.
  auto go = std::make_shared<std::atomic<bool>>(false);
  auto done = std::make_shared<std::atomic<bool>>(false);
  auto busy = device_->NewStream();
  ASSERT_THAT(busy, IsOk());
  EXPECT_THAT((*busy)->CallHost([go, done] {
    while (!*go) std::this_thread::sleep_for(milliseconds(1));
    *done = true;
  }), IsOk());
  busy->reset();
  EXPECT_FALSE(*done);
  EXPECT_THAT(AddTo(*stream_, 0, 1), IsOk());
  EXPECT_THAT(stream_->Synchronize(), IsOk());
  EXPECT_FALSE(*done);
  *go = true;
  EXPECT_EQ(ValueOf(0), 1u);
}

}  // namespace
}  // namespace graphtree
