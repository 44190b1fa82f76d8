// Everything that fuzzing has found worth keeping, and every truncation of one file, through the
// fuzzer's own function: an ordinary test under whatever sanitizer is on.
#include <cstddef>
#include <string>

#include "gtest/gtest.h"
#include "tools/snapshot/fuzz/corpus.h"

namespace graphtree::snapshot {
namespace {

TEST(ReadCorpusTest, EveryFileOfTheCorpus) {
  EXPECT_GT(RunAll("tools/snapshot/testdata/corpus"), 100u);
}

TEST(ReadCorpusTest, EveryTruncationOfOneFile) {
  const std::string text = Contents("tools/snapshot/testdata/torch_2_15_mixed.pickle");
  ASSERT_GT(text.size(), 5000u);
  for (size_t size = 0; size <= text.size(); ++size) RunOne(text, size);
}

}  // namespace
}  // namespace graphtree::snapshot
