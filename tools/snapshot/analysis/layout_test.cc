// The layout of memory at earlier moments, held against the layout that the blocks show at the end.
#include "tools/snapshot/analysis/layout.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "device/base/status_matchers.h"
#include "gtest/gtest.h"
#include "tools/snapshot/analysis/settings.h"
#include "tools/snapshot/read/read.h"
#include "tools/snapshot/read/snapshot_text.h"

namespace graphtree::snapshot {
namespace {

std::string Describe(const std::vector<PlacedSegment>& layout) {
  std::string text;
  for (const PlacedSegment& segment : layout) {
    absl::StrAppend(&text, segment.address, "+", segment.size, " on ", segment.stream, ":");
    for (const Piece& piece : segment.pieces) {
      absl::StrAppend(&text, " ", piece.size, piece.state == Piece::kFree ? "free" : "held");
    }
    absl::StrAppend(&text, "\n");
  }
  return text;
}

// The history of these files is whole, so walking it to its end must give what the blocks say.
TEST(LayoutTest, AfterTheLastEventItIsTheLayoutAtTheEnd) {
  for (const char* name : {"train_step7", "leak_step9", "leak_step39", "oom_fragmented",
                           "expandable_two_streams", "reduce_overhead_batches_1_2_4_8",
                           "torch_2_15_mixed", "cpp_writer_2_11"}) {
    const auto read = ReadSnapshot(absl::StrCat("tools/snapshot/testdata/", name, ".pickle"));
    ASSERT_THAT(read, IsOk());
    const Snapshot& snapshot = **read;
    const auto histories = BuildHistories(snapshot, snapshot.gpu);
    EXPECT_FALSE(histories.empty()) << name;
    for (const DeviceHistory& history : histories) {
      const uint32_t last = static_cast<uint32_t>(history.rows.size() - 1);
      EXPECT_EQ(Describe(LayoutAfter(snapshot, snapshot.gpu, history, last)),
                Describe(LayoutAtEnd(snapshot, snapshot.gpu)))
          << name;
      EXPECT_TRUE(LayoutAfter(snapshot, snapshot.gpu, history, kNever).empty()) << name;
    }
  }
}

TEST(LayoutTest, EveryMomentAddsUp) {
  const auto read = ReadSnapshot("tools/snapshot/testdata/train_step7.pickle");
  ASSERT_THAT(read, IsOk());
  const Snapshot& snapshot = **read;
  const DeviceHistory history = BuildHistories(snapshot, snapshot.gpu).at(0);
  int64_t reserved = 0;
  for (uint32_t event = 0; event < history.rows.size(); ++event) {
    reserved += ChangeOf(snapshot, history, event).reserved;
    if (event % 37 != 0) continue;
    uint64_t total = 0;
    for (const PlacedSegment& segment : LayoutAfter(snapshot, snapshot.gpu, history, event)) {
      total += segment.size;
      uint64_t at = segment.address;
      for (const Piece& piece : segment.pieces) {
        ASSERT_EQ(piece.address, at);
        at += piece.size;
      }
      ASSERT_EQ(at, segment.address + segment.size);
    }
    ASSERT_EQ(total, static_cast<uint64_t>(reserved)) << event;
  }
}

TEST(LayoutTest, MemoryThatWentIsThereBefore) {
  SnapshotText text;
  text.Entry("segment_alloc", 0, 2 << 20).Entry("alloc", 512, 1024);
  text.Entry("free_requested", 512, 1024).Entry("free_completed", 512, 1024);
  text.Entry("segment_free", 0, 2 << 20);
  const auto snapshot = text.Parse();
  const DeviceHistory history = BuildHistories(*snapshot, snapshot->gpu).at(0);
  const auto at = [&](uint32_t event) {
    return Describe(LayoutAfter(*snapshot, snapshot->gpu, history, event));
  };
  EXPECT_EQ(at(0), "0+2097152 on 0: 2097152free\n");
  EXPECT_EQ(at(1), "0+2097152 on 0: 512free 1024held 2095616free\n");
  EXPECT_EQ(at(2), "0+2097152 on 0: 512free 1024held 2095616free\n");  // waiting is not free
  EXPECT_EQ(at(3), "0+2097152 on 0: 2097152free\n");
  EXPECT_EQ(at(4), "");
}

TEST(SettingsTest, BracketsDivideNothing) {
  const auto options = ParseConfig("a:1, per_process:[x:0.25,y:2G] ,flag,");
  ASSERT_EQ(options.size(), 3u);
  EXPECT_EQ(options[1].first, "per_process");
  EXPECT_EQ(options[1].second, "[x:0.25,y:2G]");
  EXPECT_EQ(options[2], (std::pair<std::string, std::string>{"flag", ""}));
}

TEST(SettingsTest, SettingsOfARealFile) {
  const auto read = ReadSnapshot("tools/snapshot/testdata/expandable_two_streams.pickle");
  ASSERT_THAT(read, IsOk());
  const Settings settings = SettingsOf(**read);
  EXPECT_TRUE(settings.known);
  EXPECT_TRUE(settings.expandable_segments);
  EXPECT_EQ(settings.max_split_size, -1);
  EXPECT_FALSE(settings.rounds_to_power2_parts);
  EXPECT_EQ(settings.config, "expandable_segments:True");
  EXPECT_FALSE(SettingsOf(*SnapshotText().Parse()).known);
}

}  // namespace
}  // namespace graphtree::snapshot
