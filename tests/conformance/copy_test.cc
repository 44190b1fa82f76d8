// Copies in every direction, fills of every width, and calls on the host.
#include <atomic>
#include <cstring>

#include "tests/conformance/conformance.h"

namespace graphtree {
namespace {

class CopyTest : public ConformanceTest {
 protected:
  static std::vector<uint32_t> WordsAt(AddressRange host) {
    std::vector<uint32_t> words(host.bytes / sizeof(uint32_t));
    std::memcpy(words.data(), PointerTo<>(host.base), host.bytes);
    return words;
  }
  static void PutWords(AddressRange host, const std::vector<uint32_t>& words) {
    std::memcpy(PointerTo<>(host.base), words.data(), host.bytes);
  }
};
GRAPHTREE_ON_EVERY_DEVICE(CopyTest);

TEST_P(CopyTest, FromTheHostToTheDeviceAndBack) {
  const AddressRange from = NewHostWords(1000);
  const AddressRange on_device = NewWords(1000);
  const AddressRange to = NewHostWords(1000);
  PutWords(from, Pattern(1, 1000));
  ASSERT_THAT(a().Copy(on_device.base, from.base, from.bytes), IsOk());
  ASSERT_THAT(a().Copy(to.base, on_device.base, to.bytes), IsOk());
  ASSERT_THAT(a().Synchronize(), IsOk());
  EXPECT_EQ(WordsAt(to), Pattern(1, 1000));
}

TEST_P(CopyTest, FromOrdinaryHostMemoryOutsideACapture) {
  const std::vector<uint32_t> from = Pattern(2, 500);
  std::vector<uint32_t> to(500, 0);
  const AddressRange on_device = NewWords(500);
  ASSERT_THAT(a().Copy(on_device.base, AddressOf(from.data()), on_device.bytes), IsOk());
  ASSERT_THAT(a().Copy(AddressOf(to.data()), on_device.base, on_device.bytes), IsOk());
  ASSERT_THAT(a().Synchronize(), IsOk());
  EXPECT_EQ(to, from);
}

TEST_P(CopyTest, BetweenDeviceRanges) {
  const AddressRange from = NewWordsWith(Pattern(3, 777));
  const AddressRange to = NewWords(777);
  ASSERT_THAT(a().Copy(to.base, from.base, from.bytes), IsOk());
  ASSERT_THAT(a().Synchronize(), IsOk());
  EXPECT_EQ(Read(to), Pattern(3, 777));
}

TEST_P(CopyTest, BetweenHostRanges) {
  const AddressRange from = NewHostWords(100);
  const AddressRange to = NewHostWords(100);
  PutWords(from, Pattern(4, 100));
  ASSERT_THAT(a().Copy(to.base, from.base, from.bytes), IsOk());
  ASSERT_THAT(a().Synchronize(), IsOk());
  EXPECT_EQ(WordsAt(to), Pattern(4, 100));
}

TEST_P(CopyTest, OddSizesAtOddAddressesTouchNothingElse) {
  const AddressRange from = NewHostWords(64);
  PutWords(from, Pattern(5, 64));
  const AddressRange to = NewWordsWith(std::vector<uint32_t>(64, 0));
  ASSERT_THAT(a().Copy(to.base + 3, from.base + 5, 41), IsOk());
  ASSERT_THAT(a().Synchronize(), IsOk());
  std::vector<uint32_t> wanted(64, 0);
  std::memcpy(reinterpret_cast<uint8_t*>(wanted.data()) + 3, PointerTo<uint8_t>(from.base) + 5, 41);
  EXPECT_EQ(Read(to), wanted);
}

TEST_P(CopyTest, CopyingNothingIsFine) {
  const AddressRange words = NewWordsWith(Pattern(6, 8));
  EXPECT_THAT(a().Copy(words.base, words.base + 4, 0), IsOk());
  EXPECT_THAT(a().Synchronize(), IsOk());
  EXPECT_EQ(Read(words), Pattern(6, 8));
}

TEST_P(CopyTest, FillsOfEveryWidth) {
  const AddressRange words = NewWordsWith(std::vector<uint32_t>(48, 0));
  ASSERT_THAT(a().Fill(words.base, 0xABCDEF12, 1, 64), IsOk());
  ASSERT_THAT(a().Fill(words.base + 64, 0xABCDEF12, 2, 32), IsOk());
  ASSERT_THAT(a().Fill(words.base + 128, 0xABCDEF12, 4, 15), IsOk());
  ASSERT_THAT(a().Synchronize(), IsOk());
  std::vector<uint32_t> wanted(16, 0x12121212);
  wanted.insert(wanted.end(), 16, 0xEF12EF12);
  wanted.insert(wanted.end(), 15, 0xABCDEF12);
  wanted.push_back(0);
  EXPECT_EQ(Read(words), wanted);
}

TEST_P(CopyTest, OddNumbersOfNarrowElements) {
  const AddressRange words = NewWordsWith(std::vector<uint32_t>(4, 0));
  ASSERT_THAT(a().Fill(words.base + 1, 0x55, 1, 2), IsOk());
  ASSERT_THAT(a().Fill(words.base + 6, 0x7788, 2, 3), IsOk());
  ASSERT_THAT(a().Synchronize(), IsOk());
  EXPECT_EQ(Read(words), (std::vector<uint32_t>{0x00555500, 0x77880000, 0x77887788, 0}));
}

TEST_P(CopyTest, FillingNothingIsFine) {
  const AddressRange words = NewWordsWith(Pattern(7, 8));
  EXPECT_THAT(a().Fill(words.base, 1, 4, 0), IsOk());
  EXPECT_THAT(a().Synchronize(), IsOk());
  EXPECT_EQ(Read(words), Pattern(7, 8));
}

TEST_P(CopyTest, FillsOfOtherWidthsAreRefused) {
  const AddressRange words = NewWordsWith(Pattern(8, 8));
  for (const uint32_t width : {0u, 3u, 8u}) {
    EXPECT_THAT(a().Fill(words.base, 1, width, 1),
                HasError(ErrorCode::kInvalidValue, "width " + std::to_string(width)));
  }
  EXPECT_THAT(a().Synchronize(), IsOk());
  EXPECT_EQ(Read(words), Pattern(8, 8));
}

TEST_P(CopyTest, FillsOffTheirWidthsAlignmentAreRefused) {
  const AddressRange words = NewWordsWith(Pattern(9, 8));
  EXPECT_THAT(a().Fill(words.base + 1, 1, 2, 1), HasError(ErrorCode::kInvalidValue, "align"));
  EXPECT_THAT(a().Fill(words.base + 2, 1, 4, 1), HasError(ErrorCode::kInvalidValue, "align"));
  EXPECT_THAT(a().Synchronize(), IsOk());
  EXPECT_EQ(Read(words), Pattern(9, 8));
}

TEST_P(CopyTest, HostCallsComeInOrderWithTheBytesAroundThem) {
  const AddressRange host = NewHostWords(1);
  const AddressRange word = NewWordsWith({1});
  std::vector<uint32_t> seen;
  for (int i = 0; i < 10; ++i) {
    ASSERT_THAT(a().Copy(host.base, word.base, 4), IsOk());
    ASSERT_THAT(a().CallHost([&] { seen.push_back(*PointerTo<uint32_t>(host.base)); }), IsOk());
    ASSERT_THAT(Increment(a(), word, 1), IsOk());
  }
  ASSERT_THAT(a().Synchronize(), IsOk());
  EXPECT_EQ(seen, (std::vector<uint32_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
}

TEST_P(CopyTest, AHostCallsFunctionLivesUntilItRan) {
  auto shared = std::make_shared<std::atomic<int>>(0);
  const std::weak_ptr<std::atomic<int>> watch = shared;
  ASSERT_THAT(Delay(a(), 5000), IsOk());
  ASSERT_THAT(a().CallHost([shared] { ++*shared; }), IsOk());
  shared.reset();
  ASSERT_THAT(a().CallHost([] {}), IsOk());
  ASSERT_THAT(a().Synchronize(), IsOk());
  EXPECT_TRUE(watch.expired()) << "the function was kept after it ran";
}

// CUDA forbids every call there and refuses those that would wait; the host device refuses all.
TEST_P(CopyTest, AHostCallThatWaitsForTheDeviceIsRefusedThereAndNothingHangs) {
  const AddressRange words = NewWordsWith({1, 2});
  absl::Status wait;
  ASSERT_THAT(a().CallHost([&] { wait = a().Synchronize(); }), IsOk());
  ASSERT_THAT(a().Synchronize(), IsOk());
  EXPECT_THAT(wait, HasError(ErrorCode::kNotPermitted, ""));
  EXPECT_THAT(a().Fill(words.base, 0, 1, 4), IsOk());
  EXPECT_THAT(a().Synchronize(), IsOk());
  EXPECT_EQ(Read(words), (std::vector<uint32_t>{0, 2}));
}

TEST_P(CopyTest, AHostCallWithoutAFunctionIsRefused) {
  EXPECT_THAT(a().CallHost(nullptr), HasError(ErrorCode::kInvalidValue, "function"));
}

}  // namespace
}  // namespace graphtree
