// Stacks of functions that are called from two places.
#include "graphs/history/call_stack.h"

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "gtest/gtest.h"

namespace graphtree {

// Not in an unnamed namespace and never inlined, so that they have frames and names of their own.
[[gnu::noinline]] StackId InnerPlace(CallStacks& stacks) {
  const StackId id = stacks.Here();
  asm volatile("");
  return id;
}
[[gnu::noinline]] StackId OuterPlace(CallStacks& stacks) {
  const StackId id = InnerPlace(stacks);
  asm volatile("");
  return id;
}
[[gnu::noinline]] StackId OtherPlace(CallStacks& stacks) {
  const StackId id = InnerPlace(stacks);
  asm volatile("");
  return id;
}
[[gnu::noinline]] StackId DeepPlace(CallStacks& stacks, int depth) {
  const StackId id = depth == 0 ? stacks.Here() : DeepPlace(stacks, depth - 1);
  asm volatile("");
  return id;
}

namespace {

size_t LinesOf(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

TEST(CallStacksTest, NamesTheCallersInnermostFirst) {
  CallStacks stacks;
  const std::string text = stacks.Told("made at", OuterPlace(stacks));
  EXPECT_TRUE(absl::StartsWith(text, "\n  made at:\n    graphtree::InnerPlace() (")) << text;
  EXPECT_LT(text.find("InnerPlace"), text.find("OuterPlace")) << text;
  EXPECT_LT(text.find("OuterPlace"), text.find("TestBody")) << text;
  EXPECT_EQ(text.find("CallStacks::"), std::string::npos) << text;
  EXPECT_EQ(text.find("OtherPlace"), std::string::npos) << text;
}

TEST(CallStacksTest, EveryFrameHasItsFileAndOffset) {
  CallStacks stacks;
  const std::string text = stacks.Told("made at", OuterPlace(stacks));
  size_t places = 0;
  for (size_t at = text.find("+0x"); at != std::string::npos; at = text.find("+0x", at + 1)) {
    ++places;
  }
  EXPECT_GE(places, 3u) << text;
  EXPECT_EQ(places, LinesOf(text) - 1) << text;
}

TEST(CallStacksTest, EqualStacksShareAnId) {
  CallStacks stacks;
  std::vector<StackId> ids;
  for (int i = 0; i < 3; ++i) ids.push_back(OuterPlace(stacks));
  EXPECT_EQ(ids[0], ids[1]);
  EXPECT_EQ(ids[0], ids[2]);
  EXPECT_NE(ids[0], OtherPlace(stacks));
  EXPECT_EQ(stacks.size(), 2u);
}

TEST(CallStacksTest, NoneIsNoText) {
  CallStacks stacks;
  EXPECT_EQ(stacks.Told("made at", 0), "");
  EXPECT_EQ(stacks.Told({{"attend", 0}}), "");
}

TEST(CallStacksTest, SitesNameTheirOps) {
  CallStacks stacks;
  const std::string text =
      stacks.Told({{"norm", OuterPlace(stacks)}, {"attend", OtherPlace(stacks)}});
  const size_t norm = text.find("'norm' was launched at:");
  const size_t attend = text.find("'attend' was launched at:");
  ASSERT_LT(norm, attend);
  ASSERT_NE(attend, std::string::npos);
  EXPECT_LT(text.find("OuterPlace"), attend) << text;
  EXPECT_GT(text.find("OtherPlace"), attend) << text;
}

TEST(CallStacksTest, DeepStacksKeepTheirInnermostFrames) {
  CallStacks stacks;
  const std::string text = stacks.Told("made at", DeepPlace(stacks, 100));
  EXPECT_LE(LinesOf(text), CallStacks::kMostFrames + 1);
  EXPECT_GE(LinesOf(text), CallStacks::kMostFrames - 1);
  EXPECT_NE(text.find("DeepPlace"), std::string::npos) << text;
}

TEST(CallStacksTest, SoManyAreKeptAndNoMore) {
  CallStacks stacks(2);
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(OuterPlace(stacks), 1u);
    EXPECT_EQ(OtherPlace(stacks), 2u);
    EXPECT_EQ(DeepPlace(stacks, 3), 0u) << "the third";
  }
  EXPECT_EQ(stacks.size(), 2u);
}

TEST(CallStacksTest, ManyThreadsAtOnce) {
  CallStacks stacks;
  std::vector<StackId> ids(4);
  std::vector<std::thread> threads;
  for (StackId& id : ids) {
    threads.emplace_back([&stacks, &id] {
      for (int i = 0; i < 100; ++i) {
        id = OuterPlace(stacks);
        EXPECT_NE(stacks.Told("made at", id).find("OuterPlace"), std::string::npos);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ids[0], ids[3]);
}

}  // namespace
}  // namespace graphtree
