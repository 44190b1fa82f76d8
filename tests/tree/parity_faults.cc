// One device call fails, for every one of a comparison: a call that says that it went well has left
// what one replay leaves, in memory that the body writes in place, too.
#include <memory>

#include "absl/types/span.h"
#include "device/base/status_matchers.h"
#include "device/fault/every_call.h"
#include "device/fault/fault_device.h"
#include "device/host/host_device.h"
#include "graphs/reports/parity.h"
#include "graphs/tree.h"
#include "gtest/gtest.h"
#include "tests/kernels/kernels.h"
#include "tests/kernels/launches.h"
#include "tests/tree/bodies.h"

namespace graphtree {
namespace {

constexpr uint32_t kWords = 48;
constexpr uint32_t kBy = 3;

std::unique_ptr<Device> MakeHost() { return *OpenHostDevice(); }

// Calls until one fails; how many went well. Their words are to be `seed + calls * kBy`.
void CountInPlace(FaultDevice& device, bool replay_differs) {
  const absl::StatusOr<std::unique_ptr<Stream>> stream = device.NewStream();
  if (!stream.ok()) return;
  const absl::StatusOr<std::unique_ptr<HostBuffer>> buffer =
      device.memory().AllocateHost(kWords * sizeof(uint32_t));
  if (!buffer.ok()) return;
  auto* const words = static_cast<uint32_t*>((*buffer)->data());
  for (uint32_t i = 0; i < kWords; ++i) words[i] = i;
  absl::StatusOr<std::unique_ptr<Tree>> tree = Tree::Create(device, {});
  if (!tree.ok()) return;
  uint32_t by = kBy;
  const FunctionId count = (*tree)->Register("count", {}, [&](Launcher& on, Values&) {
    const Tensor here = Tensor::Foreign(AddressOf(words), WordsLayout(kWords));
    on.Launch(IncrementKernel(), TestShape(), {InOut(here), Val(by), Val(kWords)});
    return Values{};
  });
  for (uint32_t calls = 1; calls <= 4; ++calls) {
    if (calls == 4 && replay_differs) by = kBy + 1;
    ParityResult result;
    Values outputs;
    (*tree)->BeginStep();
    const absl::Status ran =
        (*tree)->RunCompared(count, {}, **stream, &outputs, Tolerance(), &result);
    if (!ran.ok() || !(*stream)->Synchronize().ok()) return;
    for (uint32_t i = 0; i < kWords; ++i) {
      ASSERT_EQ(words[i], i + calls * kBy) << "call " << calls << ", after a fault in "
                                           << device.plan().fired_in() << ": " << result.text;
    }
    if (device.plan().fired() == 0 && calls > 2) {
      EXPECT_EQ(result.parity, by == kBy ? Parity::kSame : Parity::kDiffers) << result.text;
    }
  }
}

TEST(ParityFaultsTest, AnyCallOfAComparisonMayFail) {
  const uint64_t calls = ForEveryFailingCall(
      MakeHost, [](FaultDevice& device) { CountInPlace(device, /*replay_differs=*/false); });
  EXPECT_GT(calls, 20u);
}

TEST(ParityFaultsTest, AnyCallOfTheSearchForTheOpMayFail) {
  const uint64_t calls = ForEveryFailingCall(
      MakeHost, [](FaultDevice& device) { CountInPlace(device, /*replay_differs=*/true); });
  EXPECT_GT(calls, 30u);
}

}  // namespace
}  // namespace graphtree
