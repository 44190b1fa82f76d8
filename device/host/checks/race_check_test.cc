// Races are found whatever order the ops ran in, and none is reported where anything orders them.
#include "device/host/checks/race_check.h"

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace graphtree::host {
namespace {

const std::string& Name(const char* text) {
  static auto* const names = new std::vector<std::unique_ptr<std::string>>();
  names->push_back(std::make_unique<std::string>(text));
  return *names->back();
}

Moment On(uint32_t slot, uint64_t sequence, const VectorClock& clock, const char* op = "op") {
  return {{slot, sequence}, &clock, {}, &Name(op)};
}

constexpr AddressRange kWhole = {1000, 100};

TEST(RaceCheckTest, OneStreamNeverRacesWithItself) {
  RaceCheck races;
  const VectorClock nothing;
  EXPECT_FALSE(races.Touch(kWhole, true, On(0, 1, nothing)).has_value());
  EXPECT_FALSE(races.Touch(kWhole, false, On(0, 2, nothing)).has_value());
  EXPECT_FALSE(races.Touch(kWhole, true, On(0, 3, nothing)).has_value());
}

TEST(RaceCheckTest, AReaderMustComeAfterTheWriterAndAWriterAfterTheReaders) {
  RaceCheck races;
  const VectorClock nothing;
  EXPECT_FALSE(races.Touch(kWhole, true, On(0, 1, nothing, "produce")).has_value());
  const auto read = races.Touch({1010, 10}, false, On(1, 1, nothing, "consume"));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->bytes, (AddressRange{1010, 10}));
  EXPECT_EQ(read->earlier_op, "produce");
  EXPECT_EQ(read->earlier_slot, 0u);
  EXPECT_TRUE(read->earlier_wrote);
  const auto write = races.Touch(kWhole, true, On(0, 2, nothing, "reuse"));
  ASSERT_TRUE(write.has_value());
  EXPECT_EQ(write->earlier_op, "consume");
  EXPECT_FALSE(write->earlier_wrote);
}

TEST(RaceCheckTest, TwoReadersDoNotRace) {
  RaceCheck races;
  const VectorClock nothing;
  EXPECT_FALSE(races.Touch(kWhole, false, On(0, 1, nothing)).has_value());
  EXPECT_FALSE(races.Touch(kWhole, false, On(1, 1, nothing)).has_value());
}

TEST(RaceCheckTest, AnEventOrders) {
  RaceCheck races;
  const VectorClock nothing;
  VectorClock after_two;
  after_two.Raise({0, 2});
  EXPECT_FALSE(races.Touch(kWhole, true, On(0, 2, nothing)).has_value());
  EXPECT_FALSE(races.Touch(kWhole, true, On(1, 1, after_two)).has_value());
  EXPECT_TRUE(races.Touch(kWhole, true, On(0, 3, nothing)).has_value());
}

TEST(RaceCheckTest, AnEventBeforeTheLastWriteDoesNotOrder) {
  RaceCheck races;
  const VectorClock nothing;
  VectorClock after_one;
  after_one.Raise({0, 1});
  EXPECT_FALSE(races.Touch(kWhole, true, On(0, 2, nothing)).has_value());
  EXPECT_TRUE(races.Touch(kWhole, false, On(1, 1, after_one)).has_value());
}

TEST(RaceCheckTest, BranchesOfAGraphRaceUnlessAnEdgeOrdersThem) {
  RaceCheck races;
  const VectorClock nothing;
  const uint32_t none[] = {0, 0};
  const uint32_t after_first[] = {1, 0};
  Moment first = On(0, 7, nothing, "left");
  first.place = {0, 0, none};
  Moment second = On(0, 7, nothing, "right");
  second.place = {1, 0, none};
  EXPECT_FALSE(races.Touch(kWhole, true, first).has_value());
  EXPECT_FALSE(races.Touch(kWhole, true, first).has_value()) << "an op with itself";
  EXPECT_TRUE(races.Touch(kWhole, true, second).has_value());
  races.Forget(kWhole);
  second.place = {1, 0, after_first};
  EXPECT_FALSE(races.Touch(kWhole, true, first).has_value());
  EXPECT_FALSE(races.Touch(kWhole, true, second).has_value());
}

TEST(RaceCheckTest, WritesJoinWhatReadsSplit) {
  RaceCheck races;
  const VectorClock nothing;
  for (Address at = 0; at < 64; ++at) races.Touch({at * 10, 7}, false, On(0, at + 1, nothing));
  EXPECT_EQ(races.size(), 64u);
  EXPECT_FALSE(races.Touch({0, 640}, true, On(0, 100, nothing)).has_value());
  EXPECT_EQ(races.size(), 1u);
}

TEST(RaceCheckTest, PruningDropsOnlyWhatIsDone) {
  RaceCheck races;
  const VectorClock nothing;
  for (Address at = 0; at < 5000; ++at) {
    races.Touch({at * 16, 8}, true, On(at % 2, at + 1, nothing));
  }
  VectorClock first_stream_done;
  first_stream_done.Raise({0, 5000});
  races.Prune(first_stream_done);
  EXPECT_EQ(races.size(), 2500u);
  EXPECT_FALSE(races.Touch({0, 8}, true, On(2, 1, first_stream_done)).has_value());
  EXPECT_TRUE(races.Touch({16, 8}, true, On(2, 2, first_stream_done)).has_value());
}

// Byte by byte: who wrote last, and who read since.
TEST(RaceCheckTest, AgreesWithABookOfEveryByte) {
  constexpr int kBytes = 48;
  constexpr uint32_t kStreams = 3;
  for (uint32_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    RaceCheck races;
    std::vector<Ticket> writer(kBytes);
    std::vector<std::vector<Ticket>> readers(kBytes);
    VectorClock clocks[kStreams];
    uint64_t issued[kStreams] = {};
    for (int step = 0; step < 60; ++step) {
      const uint32_t stream = random() % kStreams;
      if (random() % 4 == 0) {  // wait for another stream
        const uint32_t other = random() % kStreams;
        clocks[stream].Join(clocks[other]);
        clocks[stream].Raise({other, issued[other]});
        continue;
      }
      const bool write = random() % 2 == 0;
      const Address base = random() % kBytes;
      const uint64_t bytes = 1 + random() % (kBytes - base);
      const Ticket now = {stream, ++issued[stream]};
      const auto after = [&](Ticket earlier) {
        return earlier.slot == stream || clocks[stream].At(earlier.slot) >= earlier.sequence;
      };
      bool wanted = false;
      for (Address at = base; at < base + bytes; ++at) {
        wanted = wanted || (writer[at].sequence != 0 && !after(writer[at]));
        for (Ticket reader : readers[at]) wanted = wanted || (write && !after(reader));
        if (write) {
          writer[at] = now;
          readers[at].clear();
        } else {
          readers[at].push_back(now);
        }
      }
      const auto race = races.Touch({base, bytes}, write, {now, &clocks[stream], {}, &Name("op")});
      ASSERT_EQ(race.has_value(), wanted) << "step " << step;
    }
  }
}

}  // namespace
}  // namespace graphtree::host
