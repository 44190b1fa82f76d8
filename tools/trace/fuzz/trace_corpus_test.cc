// Everything that fuzzing has found worth keeping, every truncation of one file, and files with
// bytes changed by lot, through the fuzzer's own function: an ordinary test under whatever
// sanitizer is on.
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>

#include "gtest/gtest.h"
#include "tools/snapshot/fuzz/corpus.h"

namespace graphtree::trace {
namespace {

using snapshot::Contents;
using snapshot::RunAll;
using snapshot::RunOne;

TEST(TraceCorpusTest, EveryFileOfTheCorpus) {
  EXPECT_GT(RunAll("tools/trace/testdata/corpus"), 20u);
}

TEST(TraceCorpusTest, EveryTruncationOfOneFile) {
  const std::string text = Contents("profiler/trace/testdata/sample.json");
  ASSERT_GT(text.size(), 5000u);
  for (size_t size = 0; size <= text.size(); size += 3) RunOne(text, size);
}

TEST(TraceCorpusTest, BytesChangedByLot) {
  const std::string sample = Contents("profiler/trace/testdata/sample.json");
  ASSERT_GT(sample.size(), 5000u);
  constexpr char kLikely[] = "\"{}[],:\\0123456789eE+-.utfn \n\x80\xff";
  for (uint32_t seed = 0; seed < 1500; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    std::string text = sample;
    for (uint32_t change = random() % 6 + 1; change > 0; --change) {
      const size_t at = random() % text.size();
      const char byte = kLikely[random() % (sizeof(kLikely) - 1)];
      if (random() % 3 == 0) {
        text.erase(at, random() % 40);
      } else if (random() % 2 == 0) {
        text.insert(at, 1, byte);
      } else {
        text[at] = byte;
      }
    }
    RunOne(text, text.size());
  }
}

}  // namespace
}  // namespace graphtree::trace
