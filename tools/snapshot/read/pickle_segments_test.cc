// Segments that are like the one before them are read with their blocks in one go; all others must
// come out as if they were not.
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "allocator/snapshot/snapshot.h"
#include "allocator/snapshot/words.h"
#include "device/base/status_matchers.h"
#include "gtest/gtest.h"
#include "tools/snapshot/read/pickle_text.h"
#include "tools/snapshot/read/read.h"

namespace graphtree::snapshot {
namespace {

// Memo numbers of these texts.
enum Word { kDevice, kAddress, kTotal, kStream, kType, kPool, kExpandable, kFrames, kBlocks,
            kSize, kRequested, kState, kLarge, kActive, kVendor, kWords };
constexpr const char* kTexts[kWords] = {
    "device", "address", "total_size", "stream", "segment_type", "segment_pool_id",
    "is_expandable", "frames", "blocks", "size", "requested_size", "state", "large",
    "active_allocated", "vendor"};

std::string Get(Word word) { return std::string("h") + static_cast<char>(word); }
std::string Byte(uint8_t value) { return std::string("K") + static_cast<char>(value); }
std::string Number(uint64_t value) {
  return PickleText().Int(static_cast<int64_t>(value)).CutOff().substr(2);
}
std::string Dict(const std::string& pairs) { return "}\x94(" + pairs + "u"; }
std::string List(const std::string& items) { return "]\x94(" + items + "e"; }

std::string BlockRow(uint8_t size, const std::string& more = "") {
  return Dict(Get(kAddress) + Number(0x7f0000000000) + Get(kSize) + Byte(size) + Get(kRequested) +
              Byte(size) + Get(kState) + Get(kActive) + Get(kFrames) + "]\x94" + more);
}

// `last` stands behind the blocks.
std::string SegmentRow(const std::string& blocks, const std::string& stream = Byte(0),
                       const std::string& last = "") {
  return Dict(Get(kDevice) + Byte(3) + Get(kAddress) + Number(0x7f0000000000) + Get(kTotal) +
              Number(1 << 20) + Get(kStream) + stream + Get(kType) + Get(kLarge) + Get(kPool) +
              Byte(7) + Byte(1) + "\x86\x94" + Get(kExpandable) + "\x88" + Get(kFrames) + "]\x94" +
              Get(kBlocks) + blocks + last);
}

absl::StatusOr<std::unique_ptr<Snapshot>> Parse(const std::string& segments) {
  PickleText text;
  for (const char* word : kTexts) text.Text(word).Raw("\x94").Op("0");
  text.Raw("}\x94(").Text("segments").Raw("\x94" + List(segments));
  // The short way is taken only where so much follows.
  return ParseSnapshot(text.Text("pad").Text(std::string(100, '-')).Op("u").Done());
}

// The first two teach how blocks and segments lie.
std::string Usual() { return SegmentRow(List(BlockRow(1) + BlockRow(2))); }
std::string Taught() { return Usual() + Usual(); }

void ExpectUsual(const Snapshot& snapshot, size_t at, size_t blocks = 2) {
  const Segment& segment = snapshot.gpu.segments[at];
  EXPECT_EQ(segment.device, 3);
  EXPECT_EQ(segment.address, 0x7f0000000000u);
  EXPECT_EQ(segment.total_size, 1u << 20);
  EXPECT_EQ(IntegerText(snapshot.values, segment.stream), "0");
  EXPECT_EQ(segment.type, words::kLarge);
  EXPECT_EQ(snapshot.Pool(segment.pool), (std::pair<uint64_t, uint64_t>{7, 1}));
  EXPECT_TRUE(segment.expandable);
  EXPECT_EQ(segment.shape, snapshot.gpu.segments[0].shape);
  ASSERT_EQ(segment.block_count, blocks);
  for (size_t i = 0; i < blocks; ++i) {
    EXPECT_EQ(snapshot.BlocksOf(segment)[i].size, i + 1);
    EXPECT_EQ(snapshot.BlocksOf(segment)[i].state, words::kActiveAllocated);
  }
}

TEST(PickleSegmentsTest, TheFifthIsReadLikeTheFirst) {
  const auto read = Parse(Taught() + Usual() + SegmentRow(List(BlockRow(1))) +
                          SegmentRow("]\x94" + BlockRow(1) + "a") + Usual());
  ASSERT_THAT(read, IsOk());
  ASSERT_EQ((*read)->gpu.segments.size(), 6u);
  ASSERT_EQ((*read)->blocks.size(), 10u);
  for (size_t i = 0; i < 6; ++i) ExpectUsual(**read, i, i == 3 || i == 4 ? 1 : 2);
}

TEST(PickleSegmentsTest, WhatIsUnlikeTheOthersLeavesNothingBehind) {
  const std::string odd[] = {
      SegmentRow(List(BlockRow(1) + BlockRow(2)), std::string("J\xff\xff\xff\xff")),
      SegmentRow(List(BlockRow(1) + BlockRow(2)), Byte(0), Get(kVendor) + Byte(9)),
      SegmentRow("]\x94"),
      SegmentRow(List(BlockRow(1) + BlockRow(2, Get(kVendor) + Byte(9)))),
      // Pieces, as of a list that was too long for one.
      SegmentRow("]\x94(" + BlockRow(1) + "e(" + BlockRow(2) + "e"),
  };
  const size_t blocks[] = {2, 2, 0, 2, 2};
  for (size_t i = 0; i < std::size(odd); ++i) {
    SCOPED_TRACE(i);
    const auto read = Parse(Taught() + odd[i] + Usual());
    ASSERT_THAT(read, IsOk());
    const Snapshot& snapshot = **read;
    ASSERT_EQ(snapshot.gpu.segments.size(), 4u);
    ASSERT_EQ(snapshot.blocks.size(), 6 + blocks[i]);
    EXPECT_EQ(snapshot.gpu.segments[2].block_count, blocks[i]);
    for (size_t k = 0; k < blocks[i]; ++k) {
      EXPECT_EQ(snapshot.BlocksOf(snapshot.gpu.segments[2])[k].size, k + 1);
    }
    ExpectUsual(snapshot, 3);
  }
}

TEST(PickleSegmentsTest, ManyBlocksComeInPieces) {
  std::string items = "]\x94(";
  for (int i = 0; i < 2500; ++i) {
    items += (i % 1000 == 0 && i > 0 ? "e(" : "") + BlockRow(static_cast<uint8_t>(i % 251));
  }
  const auto read = Parse(Taught() + SegmentRow(items + "e") + Usual());
  ASSERT_THAT(read, IsOk());
  const Segment& segment = (*read)->gpu.segments[2];
  ASSERT_EQ(segment.block_count, 2500u);
  for (size_t i = 0; i < 2500; ++i) EXPECT_EQ((*read)->BlocksOf(segment)[i].size, i % 251);
  ExpectUsual(**read, 3);
}

TEST(PickleSegmentsTest, AListOfBlocksThatHoldsSomethingElseIsRefused) {
  using absl::StatusCode;
  EXPECT_THAT(Parse(Taught() + SegmentRow(List(BlockRow(1) + Usual()))),
              FailsWith(StatusCode::kInvalidArgument, "segments[2].blocks[1] is"));
  EXPECT_THAT(Parse(Taught() + SegmentRow(List(BlockRow(1) + "N"))),
              FailsWith(StatusCode::kInvalidArgument, "segments[2].blocks[1] is"));
  // Its first two blocks are those of the segment before, by their memo number.
  const std::string number = PickleText().Fixed(500, 4).CutOff().substr(2);
  const std::string before = List(BlockRow(1) + BlockRow(2)) + "r" + number;
  EXPECT_THAT(Parse(Taught() + SegmentRow(before) + SegmentRow("j" + number)),
              FailsWith(StatusCode::kInvalidArgument, "more than one place"));
}

}  // namespace
}  // namespace graphtree::snapshot
