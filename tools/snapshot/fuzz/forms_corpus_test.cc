// Everything that fuzzing the forms has found worth keeping, the other fuzzer's corpus, and whole
// files, through the fuzzer's own function: an ordinary test under whatever sanitizer is on.
#include "gtest/gtest.h"
#include "tools/snapshot/fuzz/corpus.h"

namespace graphtree::snapshot {
namespace {

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
