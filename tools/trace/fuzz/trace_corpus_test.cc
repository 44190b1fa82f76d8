// Everything that fuzzing has found worth keeping, every truncation of one file, and files with
// bytes changed by lot, through the fuzzer's own function: an ordinary test under whatever
// sanitizer is on.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace graphtree::trace {
namespace {

std::string Contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// In memory of its own size, so that a sanitizer sees every byte that is read beyond it.
void RunOne(const std::string& text, size_t size) {
  std::vector<uint8_t> bytes(text.begin(), text.begin() + static_cast<ptrdiff_t>(size));
  bytes.shrink_to_fit();
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

TEST(TraceCorpusTest, EveryFileOfTheCorpus) {
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator("tools/trace/testdata/corpus")) {
    SCOPED_TRACE(entry.path());
    const std::string text = Contents(entry.path());
    RunOne(text, text.size());
    ++files;
  }
  EXPECT_GT(files, 20u);
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
