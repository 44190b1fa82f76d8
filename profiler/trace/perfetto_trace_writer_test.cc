// The writer against a golden file, and what the bytes look like where a file ends early. What they
// mean is read by a schema in tools/profile.
#include "profiler/trace/perfetto_trace_writer.h"

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "profiler/trace/records.h"
#include "profiler/trace/sample_trace.h"
#include "profiler/trace/sink.h"
#include "profiler/trace/tables.h"

namespace graphtree::trace {
namespace {

// Where packets begin, as far as whole ones go.
std::vector<size_t> PacketsOf(const std::string& bytes) {
  std::vector<size_t> begins;
  size_t at = 0;
  while (at < bytes.size() && bytes[at] == '\x0a') {
    size_t p = at + 1;
    uint64_t size = 0;
    for (int shift = 0; p < bytes.size(); shift += 7) {
      const auto byte = static_cast<uint8_t>(bytes[p++]);
      size |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) break;
    }
    if (p + size > bytes.size()) break;
    begins.push_back(at);
    at = p + size;
  }
  begins.push_back(at);
  return begins;
}

// Keeps what it was given piece by piece.
class Pieces : public TraceSink {
 public:
  void Write(absl::string_view bytes) override { pieces.emplace_back(bytes); }
  const absl::Status& status() const override { return status_; }
  std::vector<std::string> pieces;

 private:
  absl::Status status_;
};

std::string SampleBytes() {
  TraceTables tables;
  std::string bytes;
  TextSink sink(&bytes);
  PerfettoTraceWriter writer(tables, sink);
  PlaySample(tables, writer);
  return bytes;
}

TEST(PerfettoTraceWriterTest, GoldenFile) {
  std::stringstream golden;
  golden << std::ifstream("profiler/trace/testdata/sample.pftrace", std::ios::binary).rdbuf();
  const std::string bytes = SampleBytes();
  if (bytes == golden.str()) return;
  const std::string now = absl::StrCat(std::getenv("TEST_TMPDIR"), "/sample.pftrace");
  std::ofstream(now, std::ios::binary) << bytes;
  FAIL() << "what it writes now is in " << now;
}

TEST(PerfettoTraceWriterTest, AllOfItIsPackets) {
  const std::string bytes = SampleBytes();
  EXPECT_EQ(PacketsOf(bytes).back(), bytes.size());
  EXPECT_GT(PacketsOf(bytes).size(), 30u);
}

// A process that dies leaves whole pieces, and so a file that ends with a packet.
TEST(PerfettoTraceWriterTest, EveryPieceEndsWithAPacket) {
  TraceTables tables;
  Pieces sink;
  PerfettoTraceWriter writer(tables, sink);
  PlayReplays({.replays = 2000, .ops = 10}, tables, writer);
  ASSERT_GT(sink.pieces.size(), 5u);
  for (const std::string& piece : sink.pieces) {
    EXPECT_LT(piece.size(), 1u << 19);
    EXPECT_EQ(PacketsOf(piece).back(), piece.size());
  }
}

TEST(PerfettoTraceWriterTest, NamesAreInTheFileOnce) {
  TraceTables tables;
  std::string bytes;
  TextSink sink(&bytes);
  PerfettoTraceWriter writer(tables, sink);
  PlayReplays({.replays = 100, .ops = 3}, tables, writer);
  size_t count = 0;
  for (size_t at = bytes.find("kernels/decode.cu"); at != bytes.npos;
       at = bytes.find("kernels/decode.cu", at + 1)) {
    ++count;
  }
  EXPECT_EQ(count, 1u);
}

size_t TracksNamed(const std::string& bytes, const std::string& name) {
  size_t count = 0;
  for (size_t at = bytes.find(name); at != bytes.npos; at = bytes.find(name, at + 1)) ++count;
  return count;
}

TEST(PerfettoTraceWriterTest, WhatOverlapsOnAStreamHasALineOfItsOwn) {
  TraceTables tables;
  std::string bytes;
  TextSink sink(&bytes);
  PerfettoTraceWriter writer(tables, sink);
  writer.Begin({});
  for (int64_t start : {0, 100, 200}) writer.Op({.start_ns = start, .duration_ns = 100});
  writer.Op({.start_ns = 50, .duration_ns = 100, .stream = 1});
  writer.End({});
  EXPECT_EQ(TracksNamed(bytes, "stream 0"), 1u);
  EXPECT_EQ(TracksNamed(bytes, "(2)"), 0u);
  writer.Op({.start_ns = 250, .duration_ns = 100});
  writer.End({});
  EXPECT_EQ(TracksNamed(bytes, "stream 0 (2)"), 1u);
}

TEST(PerfettoTraceWriterTest, StreamsBeyondALimitShareATrack) {
  TraceTables tables;
  std::string bytes;
  TextSink sink(&bytes);
  PerfettoTraceWriter writer(tables, sink);
  writer.Begin({});
  for (uint32_t stream = 0; stream < 70'000; ++stream) writer.Op({.stream = stream});
  for (int64_t thread = 0; thread < 1000; ++thread) writer.Span({.process = 5, .thread = thread});
  writer.End({});
  EXPECT_LE(TracksNamed(bytes, "stream "), (size_t{1} << 16) + 1);
  EXPECT_EQ(PacketsOf(bytes).back(), bytes.size());
}

TEST(PerfettoTraceWriterTest, TextsThatAreNotUtf8AreMadeSo) {
  TraceTables tables;
  std::string bytes;
  TextSink sink(&bytes);
  PerfettoTraceWriter writer(tables, sink);
  writer.Begin({});
  writer.Op({.identity = tables.Intern({.name = tables.Text("a\xff")})});
  writer.End({});
  EXPECT_TRUE(absl::StrContains(bytes, "a\xEF\xBF\xBD"));
}

}  // namespace
}  // namespace graphtree::trace
