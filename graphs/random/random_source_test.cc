// Eager and recorded draws give the same numbers; generators move by what is taken from them.
#include "graphs/random/random_source.h"

#include <array>
#include <atomic>
#include <set>
#include <thread>

#include "device/kernel.h"
#include "graphs/random/philox.h"
#include "graphs/random/uniform.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

std::vector<float> Fill(uint32_t count, const RandomState& state) {
  std::vector<float> out(count);
  float* data = out.data();
  const std::array<const void*, 3> arguments = {&data, &count, &state};
  UniformKernel().host()(HostCall(UniformShape(count), arguments));
  return out;
}

// A function of two ops, run through any source.
std::vector<float> Body(RandomSource& source, const GeneratorPtr& generator) {
  const absl::StatusOr<RandomState> first = source.Draw(generator, 10);
  const absl::StatusOr<RandomState> second = source.Draw(generator, 5);
  EXPECT_TRUE(first.ok() && second.ok());
  std::vector<float> numbers = Fill(10, *first);
  for (float x : Fill(5, *second)) numbers.push_back(x);
  return numbers;
}

TEST(RandomSourceTest, ReplaysGiveTheNumbersOfEagerRuns) {
  const auto eager = std::make_shared<Generator>(42);
  const auto replayed = std::make_shared<Generator>(42);
  std::array<uint64_t, 2> words = {};
  RecordedRandom recording([&] { return AddressOf(words.data()); });
  Body(recording, replayed);
  EXPECT_EQ(replayed->offset(), 0u) << "recording takes nothing";
  ASSERT_EQ(recording.uses().size(), 1u);
  const RandomUse& use = recording.uses().front();
  EXPECT_EQ(use.increment, 15u);
  // A replay launches the two ops with the arguments that were frozen when they were recorded.
  const RandomState frozen[] = {{words.data(), 0, 0}, {words.data(), 0, 10}};
  for (int run = 0; run < 5; ++run) {
    EagerRandom source;
    const RandomPiece piece = use.generator->Take(use.increment);
    words = {piece.seed, piece.offset};
    std::vector<float> numbers = Fill(10, frozen[0]);
    for (float x : Fill(5, frozen[1])) numbers.push_back(x);
    EXPECT_EQ(numbers, Body(source, eager)) << "run " << run;
  }
  EXPECT_EQ(eager->offset(), replayed->offset());
}

TEST(RandomSourceTest, EveryGeneratorOfARecordingHasWordsOfItsOwn) {
  const auto a = std::make_shared<Generator>(1);
  const auto b = std::make_shared<Generator>(2);
  Address next = 1000;
  RecordedRandom recording([&] { return next += 16; });
  ASSERT_TRUE(recording.Draw(a, 3).ok());
  ASSERT_TRUE(recording.Draw(b, 4).ok());
  const absl::StatusOr<RandomState> third = recording.Draw(a, 5);
  ASSERT_TRUE(third.ok());
  EXPECT_EQ(AddressOf(third->words), 1016u);
  EXPECT_EQ(third->offset, 3u);
  ASSERT_EQ(recording.uses().size(), 2u);
  EXPECT_EQ(recording.uses()[0].increment, 8u);
  EXPECT_EQ(recording.uses()[1].words, 1032u);
}

TEST(RandomSourceTest, AFailedRunGivesBackWhatItTook) {
  const auto generator = std::make_shared<Generator>(3);
  generator->Take(100);
  EagerRandom source;
  const std::vector<float> numbers = Body(source, generator);
  EXPECT_EQ(source.generators(), std::vector<size_t>{1});
  source.GiveBack();
  EXPECT_EQ(generator->offset(), 100u);
  EagerRandom again;
  EXPECT_EQ(Body(again, generator), numbers);
}

// section: a, b, a | part: c | section: nothing | part: a | section: b
TEST(RandomSourceTest, GeneratorsAreCountedBySection) {
  const auto a = std::make_shared<Generator>(1), b = std::make_shared<Generator>(2);
  const auto c = std::make_shared<Generator>(3);
  EagerRandom source;
  for (const auto& generator : {a, b, a}) ASSERT_TRUE(source.Draw(generator, 5).ok());
  source.EndSection();
  ASSERT_TRUE(source.Draw(c, 5).ok());
  source.EndSection();
  source.EndSection();
  ASSERT_TRUE(source.Draw(a, 5).ok());
  source.EndSection();
  ASSERT_TRUE(source.Draw(b, 5).ok());
  EXPECT_EQ(source.generators(), (std::vector<size_t>{2, 0, 1}));
  source.GiveBack();
  EXPECT_EQ(a->offset() + b->offset() + c->offset(), 0u);
}

TEST(RandomSourceTest, EverySectionOfARecordingHasItsOwnUses) {
  const auto a = std::make_shared<Generator>(1);
  RecordedRandom recording([] { return Address{1000}; });
  ASSERT_TRUE(recording.Draw(a, 3).ok());
  EXPECT_EQ(recording.TakeUses().size(), 1u);
  const absl::StatusOr<RandomState> second = recording.Draw(a, 4);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second->offset, 0u);
  ASSERT_EQ(recording.uses().size(), 1u);
  EXPECT_EQ(recording.uses()[0].increment, 4u);
}

TEST(RandomSourceTest, NumbersThatSomebodyElseFollowedAreNotGivenBack) {
  const auto generator = std::make_shared<Generator>(3);
  const RandomPiece mine = generator->Take(10);
  const RandomPiece theirs = generator->Take(1);
  EXPECT_FALSE(generator->GiveBack(mine));
  EXPECT_EQ(generator->offset(), 11u);
  EXPECT_TRUE(generator->GiveBack(theirs));
  EXPECT_TRUE(generator->GiveBack(mine));
}

TEST(RandomSourceTest, ErrorsAreSaid) {
  EagerRandom eager;
  EXPECT_EQ(eager.Draw(nullptr, 7).status().code(), absl::StatusCode::kInvalidArgument);
  RecordedRandom recording(
      [] { return absl::StatusOr<Address>(absl::ResourceExhaustedError("no words")); });
  const auto generator = std::make_shared<Generator>(1);
  EXPECT_EQ(recording.Draw(generator, 1).status().message(), "no words");
  EXPECT_TRUE(recording.uses().empty());
}

TEST(GeneratorTest, ThreadsNeverGetTheSameNumbers) {
  Generator generator(1);
  std::atomic<uint64_t> sum{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) sum += generator.Take(3).offset;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(generator.offset(), 12000u);
  // 0 + 3 + ... + 11997: each piece was handed out once.
  EXPECT_EQ(sum.load(), 3ull * 3999 * 4000 / 2);
}

TEST(GeneratorTest, SeedingStartsOver) {
  Generator generator(1);
  generator.Take(5);
  generator.Seed(9, 77);
  const RandomPiece piece = generator.Take(1);
  EXPECT_EQ(piece.seed, 9u);
  EXPECT_EQ(piece.offset, 77u);
}

}  // namespace
}  // namespace graphtree
