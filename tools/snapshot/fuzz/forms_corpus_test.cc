// Everything that fuzzing the forms has found worth keeping, the other fuzzer's corpus, and whole
// files, through the fuzzer's own function: an ordinary test under whatever sanitizer is on.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace graphtree::snapshot {
namespace {

size_t RunAll(const std::string& folder, const std::string& ending = "") {
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (!ending.empty() && entry.path().extension() != ending) continue;
    SCOPED_TRACE(entry.path());
    std::ifstream file(entry.path(), std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    const std::string bytes = text.str();
    // In memory of its own size, so that a sanitizer sees every byte that is read beyond it.
    const std::vector<uint8_t> exact(bytes.begin(), bytes.end());
    LLVMFuzzerTestOneInput(exact.data(), exact.size());
    ++files;
  }
  return files;
}

TEST(FormsCorpusTest, EveryFileOfTheCorpus) {
  EXPECT_GT(RunAll("tools/snapshot/testdata/forms_corpus"), 100u);
}

TEST(FormsCorpusTest, EveryFileOfTheReadersCorpus) {
  EXPECT_GT(RunAll("tools/snapshot/testdata/corpus"), 100u);
}

TEST(FormsCorpusTest, WholeSnapshots) {
  EXPECT_GT(RunAll("tools/snapshot/testdata", ".pickle"), 5u);
}

}  // namespace
}  // namespace graphtree::snapshot
