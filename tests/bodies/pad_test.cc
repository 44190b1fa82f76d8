// The pad op on every device: random pads against a naive copy, and one of many blocks.
#include "graphs/pad/pad_op.h"

#include <cstring>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "device/base/status_matchers.h"
#include "gmock/gmock.h"
#include "graphs/layout.h"
#include "graphs/pad/random_pads.h"
#include "gtest/gtest.h"
#include "tests/bodies/on_device.h"
#include "tests/simulation/seeds.h"

namespace graphtree {
namespace {

class PadOnDeviceTest : public OnEveryDevice {};
GRAPHTREE_ON_HOST_AND_CUDA(PadOnDeviceTest);

absl::Status LaunchInPlace(Stream& stream, const PadOp& op, Address target) {
  const pad::Table& table = op.table();
  const AddressRange written = {target + op.written().base, op.written().bytes};
  return stream.Launch(PadInPlaceKernel(), op.shape(),
                       {{Argument::Out(written), Argument::Bytes(&table, sizeof(table))}});
}

absl::Status LaunchCopy(Stream& stream, const PadOp& op, AddressRange target, AddressRange source) {
  const pad::Table& table = op.table();
  return stream.Launch(PadCopyKernel(), op.shape(),
                       {{Argument::Out(target), Argument::In(source),
                         Argument::Bytes(&table, sizeof(table))}});
}

absl::Status Launch(Stream& stream, const RandomPad& pad, Address base) {
  if (!pad.copies) {
    GRAPHTREE_ASSIGN_OR_RETURN(const PadOp op, PadOp::InPlace(*pad.from, *pad.to, pad.bits));
    return LaunchInPlace(stream, op, base + pad.target);
  }
  GRAPHTREE_ASSIGN_OR_RETURN(const PadOp op, PadOp::Copy(*pad.from, *pad.to, pad.bits));
  return LaunchCopy(stream, op, {base + pad.target, pad.to->extent_bytes()},
                    {base + pad.source, pad.from->extent_bytes()});
}

TEST_P(PadOnDeviceTest, RandomPads) {
  const uint64_t first = simulation::RandomSeed();
  for (uint64_t seed = first; seed < first + 100; ++seed) {
    std::mt19937_64 random(seed);
    const RandomPad pad = RandomPad::Draw(random);
    SCOPED_TRACE(absl::StrCat("seed ", seed, ": ", pad.ToString()));
    const ByteVector before = pad.Arena(random);
    const absl::StatusOr<ByteVector> after =
        Through(device(), before,
                [&pad](Stream& stream, Address base) { return Launch(stream, pad, base); });
    ASSERT_THAT(after, IsOk());
    ASSERT_EQ(pad.Mistake(before, *after), "");
  }
}

// More blocks than one, with a rest in the last one of each box.
TEST_P(PadOnDeviceTest, LargePads) {
  for (const bool copies : {false, true}) {
    RandomPad pad;
    pad.copies = copies;
    pad.to = Layout::Of(DType::kF32, {1030, 1027});
    pad.from = copies ? Layout::Of(DType::kF32, {1001, 1003})
                      : Layout::Strided(DType::kF32, {1001, 1003}, {1027, 1});
    pad.bits = 0x3f800001;
    pad.source = (pad.to->extent_bytes() + 255) / 256 * 256;
    std::mt19937_64 random(1);
    const ByteVector before = pad.Arena(random);
    const absl::StatusOr<ByteVector> after =
        Through(device(), before,
                [&pad](Stream& stream, Address base) { return Launch(stream, pad, base); });
    ASSERT_THAT(after, IsOk());
    ASSERT_EQ(pad.Mistake(before, *after), "");
  }
}

}  // namespace
}  // namespace graphtree
