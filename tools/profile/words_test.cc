// Times and names as people read them.
#include "tools/profile/words.h"

#include <string>

#include "gtest/gtest.h"
#include "profiler/stats/trace_statistics.h"
#include "profiler/trace/records.h"
#include "profiler/trace/tables.h"

namespace graphtree::profile {
namespace {

TEST(WordsTest, DifferencesHaveASign) {
  EXPECT_EQ(SignedTimeText(5), "+5 ns");
  EXPECT_EQ(SignedTimeText(-1500), "-1.50 us");
}

std::string Named(const std::string& name) {
  trace::TraceTables tables;
  return OpName(tables, tables.Intern({.name = tables.Text(name)}));
}

TEST(WordsTest, SignaturesAreCutToWhatTellsThemApart) {
  EXPECT_EQ(Named("attend"), "attend");
  EXPECT_EQ(Named(""), "(unnamed)");
  EXPECT_EQ(Named("Memcpy HtoD (Pageable -> Device)"), "Memcpy HtoD (Pageable -> Device)");
  EXPECT_EQ(Named("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<"
                  "float>, std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>)"),
            "vectorized_elementwise_kernel<4, CUDAFunctor_add<...>, std::array<...> >");
  EXPECT_EQ(Named("void (anonymous namespace)::softmax_warp_forward<c10::BFloat16, float, 8, "
                  "false>(float*, int)"),
            "softmax_warp_forward<BFloat16, float, 8, false>");
  EXPECT_EQ(Named("a\x1b[31m"), "a [31m");
}

TEST(WordsTest, PlacesSayOnlyWhatIsKnown) {
  trace::TraceTables tables;
  trace::OpRow row;
  EXPECT_EQ(OpPlace(tables, row), "");
  row.local_node = 3;
  EXPECT_EQ(OpPlace(tables, row), "op 3");
  row.identity = tables.Intern(
      {.tree_node = 5, .function = tables.Text("decode"), .shape = tables.Text("batch 4")});
  EXPECT_EQ(OpPlace(tables, row), "op 3 of decode, tree node 5, batch 4");
}

TEST(WordsTest, WhatMustBeKnownIsSaid) {
  trace::TraceTables tables;
  trace::TraceStatistics statistics(tables);
  statistics.Op({.correlation = 9});
  statistics.End({.dropped_records = 1, .cut = "it ends", .drift_ppm = 2});
  const std::vector<std::string> warnings = Warnings(statistics);
  ASSERT_EQ(warnings.size(), 4u);
  EXPECT_EQ(warnings[0], "The trace is not whole: it ends. What came before is counted.");
  EXPECT_EQ(warnings[1],
            "1 record was dropped while the trace was taken, so counts are too low.");
  EXPECT_EQ(warnings[2], "The launch of 1 op is not in the trace, so latencies lack them.");
}

}  // namespace
}  // namespace graphtree::profile
