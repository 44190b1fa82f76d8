// Lives of allocations: peaks, placeholders, notes, pools, and what a trace may have lost.
#include "tools/snapshot/analysis/history.h"

#include <ctime>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tools/snapshot/analysis/holdings.h"
#include "tools/snapshot/read/snapshot_text.h"

namespace graphtree::snapshot {
namespace {

DeviceHistory OnlyHistory(const Snapshot& snapshot) {
  auto histories = BuildHistories(snapshot, snapshot.gpu);
  EXPECT_EQ(histories.size(), 1u);
  return std::move(histories.at(0));
}

TEST(HistoryTest, PeakIsTheMostThatWasLiveTogether) {
  SnapshotText text;
  text.Segment(0, 4096).Block(512, "active_allocated", "b").Block(3584, "inactive");
  text.Entry("segment_alloc", 0, 4096).Entry("alloc", 0, 1024, "a").Entry("alloc", 1024, 512, "a");
  text.Entry("free_requested", 0, 1024).Entry("free_completed", 0, 1024);
  text.Entry("free_requested", 1024, 512).Entry("free_completed", 1024, 512);
  text.Entry("alloc", 0, 512, "b");
  const auto snapshot = text.Parse();
  const DeviceHistory history = OnlyHistory(*snapshot);
  EXPECT_EQ(history.allocated_peak.bytes, 1536u);
  EXPECT_EQ(history.allocated_peak.event, 2u);
  EXPECT_EQ(history.reserved_peak.bytes, 4096u);
  EXPECT_EQ(history.allocated_at_start, 0u);
  EXPECT_FALSE(history.losses.any());
  const auto held = HoldingsAfter(*snapshot, history, history.allocated_peak.event);
  ASSERT_EQ(held.size(), 2u);
  EXPECT_EQ(held[0].bytes + held[1].bytes, 1536u);
}

TEST(HistoryTest, FreedMemoryStaysActiveUntilItsFreeIsComplete) {
  SnapshotText text;
  text.Segment(0, 1024).Block(1024, "inactive");
  text.Entry("segment_alloc", 0, 1024).Entry("alloc", 0, 1024);
  text.Entry("free_requested", 0, 1024).Entry("free_completed", 0, 1024);
  const auto snapshot = text.Parse();
  const DeviceHistory history = OnlyHistory(*snapshot);
  EXPECT_EQ(ChangeOf(*snapshot, history, 2).allocated, -1024);
  EXPECT_EQ(ChangeOf(*snapshot, history, 2).active, 0);
  EXPECT_EQ(ChangeOf(*snapshot, history, 3).allocated, 0);
  EXPECT_EQ(ChangeOf(*snapshot, history, 3).active, -1024);
}

TEST(HistoryTest, PlaceholdersOfAnExactAddressAreInNoPeak) {
  const std::string tagged = "\"internal_metadata\":\"mallocWithAddress\"";
  SnapshotText text;
  text.Segment(0, 8192).Block(4096, "inactive").Block(512, "active_allocated", "a")
      .Block(3584, "inactive");
  text.Entry("segment_alloc", 0, 8192).Entry("alloc", 0, 4096, "a", tagged);
  text.Entry("alloc", 4096, 512, "a", tagged);
  text.Entry("free_requested", 0, 4096, "a", tagged).Entry("free_completed", 0, 4096, "a", tagged);
  const auto snapshot = text.Parse();
  const DeviceHistory history = OnlyHistory(*snapshot);
  EXPECT_EQ(history.allocated_peak.bytes, 512u);
  EXPECT_TRUE(history.allocations[0].placeholder);
  EXPECT_FALSE(history.allocations[1].placeholder);
  EXPECT_EQ(HoldingsAfter(*snapshot, history, 2).size(), 1u);
}

TEST(HistoryTest, ARestoreEndsLivesAndBeginsOthers) {
  SnapshotText text;
  text.Segment(0, 4096).Block(1024, "active_allocated", "a").Block(3072, "inactive");
  text.Entry("segment_map", 0, 4096).Entry("alloc", 0, 1024, "a");
  text.Entry("annotate", 0, 1024, "", "\"user_metadata\":\"first\"");
  text.Entry("free_requested", 0, 1024).Entry("free_completed", 0, 1024);
  text.Entry("alloc", 0, 2048, "b").Entry("alloc", 2048, 512, "b");
  text.Entry("checkpoint_restore", 0, 1024, "",
             "\"gone\":[[0,2048],[2048,512]],\"back\":[[0,1024]]");
  text.Entry("alloc", 1024, 256).Entry("free_requested", 1024, 256);
  text.Entry("free_completed", 1024, 256);
  const auto snapshot = text.Parse();
  const DeviceHistory history = OnlyHistory(*snapshot);
  EXPECT_FALSE(history.losses.any());
  EXPECT_EQ(history.allocated_at_start, 0u);
  EXPECT_EQ(history.allocated_peak.bytes, 2560u);
  EXPECT_EQ(history.allocated_peak.event, 6u);
  EXPECT_EQ(ChangeOf(*snapshot, history, 7).allocated, 1024 - 2560);
  EXPECT_EQ(ChangeOf(*snapshot, history, 7).active, 1024 - 2560);
  const auto held = HoldingsAfter(*snapshot, history, 7);
  ASSERT_EQ(held.size(), 1u);
  EXPECT_EQ(held[0].bytes, 1024u);
  EXPECT_EQ(held[0].notes.size(), 1u);
  EXPECT_EQ(held[0].stack, snapshot->blocks[0].stack) << "that of its first life";
}

// As many devices as segments: no work for each pair of them.
TEST(HistoryTest, ManyDevicesTakeNoLongerThanManySegments) {
  constexpr int kDevices = 30000;
  std::string json = "{\"segments\":[";
  for (int device = 0; device < kDevices; ++device) {
    absl::StrAppend(&json, device == 0 ? "" : ",", "{\"device\":", device,
                    ",\"address\":512,\"total_size\":512,\"blocks\":[]}");
  }
  const auto snapshot = *ParseSnapshot(json + "]}");
  const auto start = std::clock();
  const auto histories = BuildHistories(*snapshot, snapshot->gpu);
  ASSERT_EQ(histories.size(), static_cast<size_t>(kDevices));
  EXPECT_EQ(histories[7].segments, std::vector<uint32_t>{7});
  EXPECT_EQ(histories[7].reserved_at_start, 512u);
  EXPECT_LT(std::clock() - start, 3 * CLOCKS_PER_SEC) << "pairs took seven seconds";
}

TEST(HistoryTest, NotesBelongToTheLifeTheyWerePutOn) {
  SnapshotText text;
  text.Segment(0, 1024).Block(512, "active_allocated", "b").Block(512, "active_allocated", "old");
  text.Entry("alloc", 0, 512, "a").Entry("annotate", 0, 512, "", "\"user_metadata\":\"first\"");
  text.Entry("free_requested", 0, 512).Entry("free_completed", 0, 512);
  text.Entry("alloc", 0, 512, "b").Entry("annotate", 0, 512, "", "\"user_metadata\":\"second\"");
  text.Entry("annotate", 512, 512, "", "\"user_metadata\":\"on an old one\"");
  text.Entry("annotate", 9999, 512, "", "\"user_metadata\":\"on nothing\"");
  const auto snapshot = text.Parse();
  const DeviceHistory history = OnlyHistory(*snapshot);
  EXPECT_EQ(history.allocated_peak.bytes, 1024u);  // notes are no bytes
  EXPECT_EQ(history.losses.notes_without_alloc, 1u);
  const auto held = HoldingsAtEnd(*snapshot, snapshot->gpu, {history});
  ASSERT_EQ(held.size(), 2u);
  ASSERT_EQ(held[0].notes.size(), 1u);
  EXPECT_EQ(snapshot->Text(held[0].notes[0]), "second");
  ASSERT_EQ(held[1].notes.size(), 1u);
  EXPECT_EQ(snapshot->Text(held[1].notes[0]), "on an old one");
}

TEST(HistoryTest, LostBeginningsAreCountedAndTheStartIsKnown) {
  SnapshotText text;
  text.Segment(0, 4096).Block(1024, "active_allocated", "old").Block(512, "inactive")
      .Block(2560, "inactive");
  text.Entry("free_requested", 1024, 512).Entry("free_completed", 1024, 512);
  text.Entry("free_completed", 2048, 512);
  const auto snapshot = text.Parse();
  const DeviceHistory history = OnlyHistory(*snapshot);
  EXPECT_EQ(history.losses.frees_without_alloc, 2u);
  EXPECT_EQ(history.losses.blocks_without_alloc, 1u);
  EXPECT_EQ(history.losses.blocks_without_alloc_bytes, 1024u);
  EXPECT_EQ(history.losses.segments_without_alloc, 1u);
  EXPECT_EQ(history.allocated_at_start, 1536u);
  EXPECT_EQ(history.reserved_at_start, 4096u);
  EXPECT_EQ(history.allocated_peak.bytes, 1536u);
  EXPECT_EQ(history.allocated_peak.event, kNever);
  EXPECT_EQ(HoldingsAfter(*snapshot, history, kNever).size(), 2u);
}

TEST(HistoryTest, AnAllocationOverALiveOneEndsIt) {
  SnapshotText text;
  text.Segment(0, 1024).Block(1024, "active_allocated", "b");
  text.Entry("alloc", 0, 512, "a").Entry("alloc", 0, 1024, "b");
  const auto snapshot = text.Parse();
  const DeviceHistory history = OnlyHistory(*snapshot);
  EXPECT_EQ(history.losses.allocs_over_live, 1u);
  EXPECT_EQ(history.allocated_peak.bytes, 1024u);
  EXPECT_EQ(HoldingsAfter(*snapshot, history, 1).size(), 1u);
}

TEST(HistoryTest, EntriesOutOfOrderAreSortedByTime) {
  const auto read = ParseSnapshot(R"({"segments":[],"device_traces":[[
      {"action":"free_requested","addr":0,"size":512,"time_us":30},
      {"action":"alloc","addr":0,"size":512,"time_us":10},
      {"action":"alloc","addr":512,"size":512,"time_us":20}]]})");
  ASSERT_TRUE(read.ok());
  const DeviceHistory history = OnlyHistory(**read);
  EXPECT_TRUE(history.losses.out_of_order);
  EXPECT_EQ(history.losses.frees_without_alloc, 0u);
  EXPECT_EQ(history.allocated_peak.bytes, 1024u);
}

TEST(HistoryTest, PoolsComeFromTheEntryElseFromTheAddress) {
  SnapshotText text;
  text.Segment(0, 1024, "\"segment_pool_id\":[1,0]").Block(512, "active_allocated")
      .Block(512, "active_allocated");
  text.Entry("alloc", 0, 512, "", "\"pool_id\":[1,0]").Entry("alloc", 512, 512);
  text.Entry("alloc", 1 << 20, 512).Entry("free_requested", 1 << 20, 512);
  const auto snapshot = text.Parse();
  const DeviceHistory history = OnlyHistory(*snapshot);
  EXPECT_EQ(history.pools.from_entry, 1u);
  EXPECT_EQ(history.pools.from_address, 1u);
  EXPECT_EQ(history.pools.unknown, 1u);
  EXPECT_EQ(snapshot->Pool(history.allocations[1].pool), (std::pair<uint64_t, uint64_t>{1, 0}));
  EXPECT_EQ(history.allocations[2].pool, kNoId);
}

TEST(HistoryTest, DevicesAndHostMemoryAreApart) {
  SnapshotText text;
  text.Segment(0, 512).Block(512, "active_allocated");
  text.Device(7).Segment(0, 512).Block(512, "active_allocated");
  text.Entry("alloc", 0, 512);
  text.Device(-1).Segment(0, 4096).Block(4096, "active_allocated").Entry("alloc", 0, 4096);
  const auto snapshot = text.Parse();
  const auto gpu = BuildHistories(*snapshot, snapshot->gpu);
  ASSERT_EQ(gpu.size(), 2u);
  EXPECT_EQ(gpu[1].device, 7);
  EXPECT_EQ(gpu[1].allocated_peak.bytes, 512u);
  const auto host = BuildHistories(*snapshot, snapshot->host);
  ASSERT_EQ(host.size(), 1u);
  EXPECT_EQ(host[0].device, kHostDevice);
  EXPECT_EQ(host[0].allocated_peak.bytes, 4096u);
}

// Random programs, cut at a random place: with the whole trace peaks are exact, and what was cut
// off only ever lowers them; the end is the same however much was lost.
TEST(HistoryTest, ARingThatLostItsBeginningStillExplainsTheEnd) {
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 50; ++round) {
    std::map<uint64_t, uint64_t> live;
    std::vector<std::tuple<std::string, uint64_t, uint64_t>> events;
    uint64_t now = 0, peak = 0;
    for (int i = 0; i < 60; ++i) {
      if (!live.empty() && random() % 2 == 0) {
        auto victim = std::next(live.begin(), random() % live.size());
        events.push_back({"free_requested", victim->first, victim->second});
        events.push_back({"free_completed", victim->first, victim->second});
        now -= victim->second;
        live.erase(victim);
      } else {
        const uint64_t address = 4096 * (random() % 64);
        if (live.contains(address)) continue;
        const uint64_t size = 1 + random() % 4096;
        live[address] = size;
        events.push_back({"alloc", address, size});
        peak = std::max(peak, now += size);
      }
    }
    const size_t cut = round % 2 == 0 ? 0 : random() % events.size();
    SnapshotText text;
    text.Segment(0, 64 * 4096);
    for (uint64_t slot = 0; slot < 64; ++slot) {
      const auto found = live.find(slot * 4096);
      text.Block(4096, found == live.end() ? "inactive" : "active_allocated", "x",
                 found == live.end() ? "" : absl::StrCat("\"requested_size\":", found->second));
    }
    for (size_t i = cut; i < events.size(); ++i) {
      text.Entry(std::get<0>(events[i]), std::get<1>(events[i]), std::get<2>(events[i]));
    }
    if (cut == events.size()) continue;
    // The last of two equal keys counts, and rows with equal keys are no rows: write it once.
    std::string json = text.Json();
    size_t at;
    while ((at = json.find("\"requested_size\":4096,\"state\":\"active_allocated\"")) !=
           std::string::npos) {
      json.erase(at, std::string("\"requested_size\":4096,").size());
    }
    const auto snapshot = ParseSnapshot(json);
    ASSERT_TRUE(snapshot.ok()) << snapshot.status();
    const DeviceHistory history = OnlyHistory(**snapshot);
    uint64_t held = 0;
    for (const Allocation& life : history.allocations) {
      if (life.freed == kNever) held += life.size;
    }
    EXPECT_EQ(held, now);
    if (cut == 0) {
      EXPECT_EQ(history.allocated_peak.bytes, peak);
    } else {
      EXPECT_LE(history.allocated_peak.bytes, peak);
      EXPECT_GE(history.allocated_peak.bytes, now);
    }
  }
}

}  // namespace
}  // namespace graphtree::snapshot
