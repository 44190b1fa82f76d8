// Everything that fuzzing has found worth keeping, and every truncation of one file, through the
// fuzzer's own function: an ordinary test under whatever sanitizer is on.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace graphtree::snapshot {
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

TEST(ReadCorpusTest, EveryFileOfTheCorpus) {
  size_t files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator("tools/snapshot/testdata/corpus")) {
    SCOPED_TRACE(entry.path());
    const std::string text = Contents(entry.path());
    RunOne(text, text.size());
    ++files;
  }
  EXPECT_GT(files, 100u);
}

TEST(ReadCorpusTest, EveryTruncationOfOneFile) {
  const std::string text = Contents("tools/snapshot/testdata/torch_2_15_mixed.pickle");
  ASSERT_GT(text.size(), 5000u);
  for (size_t size = 0; size <= text.size(); ++size) RunOne(text, size);
}

}  // namespace
}  // namespace graphtree::snapshot
