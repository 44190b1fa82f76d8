// The writer against a golden file, and what PyTorch's readers rely on, line by line. That Python
// reads it as JSON is in tools/profile.
#include "profiler/trace/json_trace_writer.h"

#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "profiler/trace/records.h"
#include "profiler/trace/sample_trace.h"
#include "profiler/trace/sink.h"
#include "profiler/trace/tables.h"

namespace graphtree::trace {
namespace {

std::string SampleText(JsonTraceOptions options = {}) {
  TraceTables tables;
  std::string text;
  TextSink sink(&text);
  JsonTraceWriter writer(tables, sink, options);
  PlaySample(tables, writer);
  return text;
}

std::vector<std::string> LinesWith(const std::string& text, const std::string& part) {
  std::vector<std::string> lines;
  for (const auto line : absl::StrSplit(text, '\n')) {
    if (absl::StrContains(line, part)) lines.emplace_back(line);
  }
  return lines;
}

TEST(JsonTraceWriterTest, GoldenFile) {
  std::stringstream golden;
  golden << std::ifstream("profiler/trace/testdata/sample.json").rdbuf();
  const std::string text = SampleText();
  if (text == golden.str()) return;
  const std::string now = absl::StrCat(std::getenv("TEST_TMPDIR"), "/sample.json");
  std::ofstream(now) << text;
  FAIL() << "what it writes now is in " << now;
}

TEST(JsonTraceWriterTest, LaunchAloneHasItsKernelOnceAndOnTheHost) {
  const std::string text = SampleText();
  const auto launches = LinesWith(text, "\"cuLaunchKernel\"");
  ASSERT_EQ(launches.size(), 1u);
  for (const char* part :
       {"\"cat\":\"cuda_driver\"", "\"kernel_backend\":\"triton\"", "\"kernel_file\":",
        "\"kernel_hash\":", "\"kernel_kwargs\":\"XBLOCK=256\"", "\"stream\":3",
        "\"Input Dims\":[[4, 512], []]"}) {
    EXPECT_TRUE(absl::StrContains(launches[0], part)) << part;
  }
  int host_events = 0;
  for (const std::string& line : LinesWith(text, "kernel_backend")) {
    host_events += absl::StrContains(line, "\"correlation\":6");
  }
  EXPECT_EQ(host_events, 1);
}

TEST(JsonTraceWriterTest, OpOfAGraphSaysItselfWhatItIs) {
  const auto ops = LinesWith(SampleText(), "\"graph node id\":12884901891");
  ASSERT_EQ(ops.size(), 2u);
  for (const char* part : {"\"graph id\":3", "\"kernel_file\":\"kernels/norm.py\"",
                           "\"tree node\":5", "\"function\":\"decode\"", "\"priority\":0"}) {
    EXPECT_TRUE(absl::StrContains(ops[0], part)) << part;
  }
}

TEST(JsonTraceWriterTest, LanesByTreeNodeKeepTheStream) {
  const std::string text = SampleText({.lanes = LaneChoice::kTreeNode});
  const auto ops = LinesWith(text, "\"name\":\"attend\"");
  ASSERT_EQ(ops.size(), 2u);
  EXPECT_TRUE(absl::StrContains(ops[0], "\"tid\":4294967301"));
  EXPECT_TRUE(absl::StrContains(ops[0], "\"stream\":3"));
  EXPECT_EQ(LinesWith(text, "decode, tree node 5").size(), 1u);
}

TEST(JsonTraceWriterTest, WithoutFlowsThereAreNone) {
  EXPECT_EQ(LinesWith(SampleText(), "\"ac2g\"").size(), 3u + 7u);
  EXPECT_EQ(LinesWith(SampleText({.flows = false}), "\"ac2g\"").size(), 0u);
}

TEST(JsonTraceWriterTest, TimesHaveNoRoundingAndExtremesAreWritten) {
  EventText text;
  text.Microseconds(1).Raw(" ").Microseconds(-1).Raw(" ").Microseconds(1'234'567'890'123'456'789);
  text.Raw(" ").Microseconds(std::numeric_limits<int64_t>::min());
  EXPECT_EQ(text.text(), "0.001 -0.001 1234567890123456.789 -9223372036854775.808");
}

// A file may name a million streams; the writer remembers so many and no more.
TEST(JsonTraceWriterTest, LanesBeyondALimitGoWithoutAName) {
  TraceTables tables;
  std::string text;
  TextSink sink(&text);
  JsonTraceWriter writer(tables, sink);
  writer.Begin({});
  for (uint32_t stream = 0; stream < 70'000; ++stream) writer.Op({.stream = stream});
  writer.End({});
  EXPECT_EQ(LinesWith(text, "thread_name").size(), size_t{1} << 16);
  EXPECT_EQ(LinesWith(text, "\"cat\":\"kernel\"").size(), 70'000u);
}

TEST(JsonTraceWriterTest, NamesAreEscaped) {
  TraceTables tables;
  std::string text;
  TextSink sink(&text);
  JsonTraceWriter writer(tables, sink);
  writer.Begin({});
  writer.Op({.identity = tables.Intern({.name = tables.Text("a\"b\\c\n\xff")})});
  writer.End({});
  EXPECT_EQ(LinesWith(text, "\"name\":\"a\\\"b\\\\c\\n\\ufffd\"").size(), 1u) << text;
}

}  // namespace
}  // namespace graphtree::trace
