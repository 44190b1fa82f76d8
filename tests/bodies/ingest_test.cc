// The ingest op on every device: random inputs against a naive copy, and a patched replay.
#include "graphs/inputs/ingest/ingest.h"

#include <cstring>
#include <random>
#include <string>
#include <utility>

#include "absl/types/span.h"
#include "device/base/status_macros.h"
#include "device/base/status_matchers.h"
#include "gmock/gmock.h"
#include "graphs/inputs/ingest/random_inputs.h"
#include "gtest/gtest.h"
#include "tests/bodies/on_device.h"
#include "tests/simulation/seeds.h"

namespace graphtree {
namespace {

class IngestOnDeviceTest : public OnEveryDevice {};
GRAPHTREE_ON_HOST_AND_CUDA(IngestOnDeviceTest);

ByteVector RandomBytes(uint64_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  ByteVector bytes(count);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  return bytes;
}

absl::Status Launch(Stream& stream, const IngestPlan& plan) {
  const Argument table = plan.Table();
  return stream.Launch(plan.kernel(), plan.shape(), absl::MakeConstSpan(&table, 1));
}

uint64_t RoundUp(uint64_t bytes) { return (bytes + 255) / 256 * 256; }

// Target and source arena, one behind the other.
struct Arenas {
  explicit Arenas(const RandomInputs& inputs, uint64_t seed)
      : source_at(RoundUp(inputs.target_bytes())),
        bytes(RandomBytes(source_at + inputs.source_bytes(), seed)) {}
  ByteVector Target(const ByteVector& all, const RandomInputs& inputs) const {
    return ByteVector(all.begin(), all.begin() + inputs.target_bytes());
  }
  ByteVector Source() const { return ByteVector(bytes.begin() + source_at, bytes.end()); }

  uint64_t source_at;
  ByteVector bytes;
};

TEST_P(IngestOnDeviceTest, RandomInputs) {
  const uint64_t first = simulation::RandomSeed();
  for (uint64_t seed = first; seed < first + 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const RandomInputs inputs(seed);
    const Arenas arenas(inputs, seed);
    const absl::StatusOr<ByteVector> after =
        Through(device(), arenas.bytes, [&](Stream& stream, Address base) {
          for (const IngestPlan& plan :
               IngestPlan::For(inputs.CopiesAt(base, base + arenas.source_at), {})) {
            GRAPHTREE_RETURN_IF_ERROR(Launch(stream, plan));
          }
          return absl::OkStatus();
        });
    ASSERT_THAT(after, IsOk());
    ASSERT_EQ(inputs.Mistake(arenas.Source(), arenas.Target(arenas.bytes, inputs),
                             arenas.Target(*after, inputs)),
              "");
  }
}

TEST_P(IngestOnDeviceTest, AReplayIsPatchedToReadElsewhere) {
  // 0: target, 64 KiB: source when recorded, 128 KiB: source of the replay, not aligned; a word.
  constexpr uint64_t kBytes = 50000, kPart = 65536;
  const Layout* layout = Layout::Of(DType::kU8, {kBytes});
  const ByteVector before = RandomBytes(4 * kPart, 1);
  const auto replay = [&](Stream& stream, Address base) -> absl::Status {
    IngestPlan plan = std::move(
        IngestPlan::For({{base, base + kPart, layout}}, {{base + 3 * kPart, 7}}).front());
    GRAPHTREE_RETURN_IF_ERROR(stream.BeginCapture(CaptureMode::kThreadLocal));
    GRAPHTREE_RETURN_IF_ERROR(Launch(stream, plan));
    GRAPHTREE_ASSIGN_OR_RETURN(const std::unique_ptr<Graph> graph, stream.EndCapture());
    GRAPHTREE_ASSIGN_OR_RETURN(const std::unique_ptr<Executable> executable,
                               graph->Instantiate());
    plan.Retarget(0, base + 2 * kPart + 3);
    plan.SetScalar(0, 0x1122334455667788);
    const Argument table = plan.Table();
    GRAPHTREE_RETURN_IF_ERROR(executable->PatchKernel(0, plan.kernel(), plan.shape(),
                                                      absl::MakeConstSpan(&table, 1)));
    GRAPHTREE_RETURN_IF_ERROR(executable->Launch(stream));
    return stream.Synchronize();
  };
  const absl::StatusOr<ByteVector> after = Through(device(), before, replay);
  ASSERT_THAT(after, IsOk());
  EXPECT_EQ(std::memcmp(after->data(), before.data() + 2 * kPart + 3, kBytes), 0);
  uint64_t word;
  std::memcpy(&word, after->data() + 3 * kPart, sizeof(word));
  EXPECT_EQ(word, 0x1122334455667788u);
}

TEST_P(IngestOnDeviceTest, AMegabyteAndAFewBytesTogether) {
  const Layout* large = Layout::Of(DType::kF32, {3 << 20});
  const Layout* small = Layout::Of(DType::kU8, {3});
  const uint64_t half = RoundUp(large->extent_bytes() + 64);
  const ByteVector before = RandomBytes(2 * half, 2);
  const absl::StatusOr<ByteVector> after =
      Through(device(), before, [&](Stream& stream, Address base) {
        const uint64_t tail = large->extent_bytes() + 5;
        return Launch(stream, IngestPlan::For({{base + tail, base + half + tail, small},
                                               {base, base + half, large}},
                                              {})
                                  .front());
      });
  ASSERT_THAT(after, IsOk());
  EXPECT_EQ(std::memcmp(after->data(), before.data() + half, large->extent_bytes()), 0);
  EXPECT_EQ(std::memcmp(after->data() + large->extent_bytes() + 5,
                        before.data() + half + large->extent_bytes() + 5, 3),
            0);
}

}  // namespace
}  // namespace graphtree
