// Our own files come back as they went, PyTorch's real ones mean what they say, and files that are
// cut, damaged or something else end with a reason.
#include "tools/trace/read/trace_reader.h"

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "device/base/status_matchers.h"
#include "gtest/gtest.h"
#include "profiler/trace/json_trace_writer.h"
#include "profiler/trace/records.h"
#include "profiler/trace/sample_trace.h"
#include "profiler/trace/sink.h"
#include "profiler/trace/store.h"
#include "profiler/trace/tables.h"

namespace graphtree::trace {
namespace {

constexpr size_t kMany = 1 << 20;

std::string SampleText() {
  TraceTables tables;
  std::string text;
  TextSink sink(&text);
  JsonTraceWriter writer(tables, sink);
  PlaySample(tables, writer);
  return text;
}

struct Read {
  TraceTables tables;
  TraceStore store{kMany};
  absl::Status status;

  absl::string_view Name(const DeviceOp& op) const {
    return tables.text(tables.identity(op.identity).name);
  }
};

std::unique_ptr<Read> Parsed(absl::string_view text) {
  auto read = std::make_unique<Read>();
  read->status = ParseTrace(text, read->tables, read->store);
  return read;
}

std::unique_ptr<Read> RealTrace(const std::string& name) {
  auto read = std::make_unique<Read>();
  read->status = ReadTrace(absl::StrCat("tools/trace/testdata/", name, ".json"), read->tables,
                           read->store);
  EXPECT_TRUE(read->status.ok()) << read->status;
  return read;
}

TEST(TraceReaderTest, WhatWeWriteComesBackAsItWas) {
  const std::string text = SampleText();
  TraceTables tables;
  std::string again;
  TextSink sink(&again);
  JsonTraceWriter writer(tables, sink);
  ASSERT_TRUE(ParseTrace(text, tables, writer).ok());
  EXPECT_EQ(again, text);
}

TEST(TraceReaderTest, EveryFieldOfTheSampleIsRead) {
  const auto read = Parsed(SampleText());
  ASSERT_TRUE(read->status.ok()) << read->status;
  EXPECT_EQ(read->store.header().base_ns, kSampleBase);
  EXPECT_EQ(read->store.header().made_by, "graphtree sample");
  const DeviceOp& attend = read->store.ops()[6];
  EXPECT_EQ(attend.start_ns, kSampleBase + 67'500);
  EXPECT_EQ(attend.duration_ns, 9000);
  EXPECT_EQ(attend.correlation, 8u);
  EXPECT_EQ(attend.graph_node, PackedNode(kSampleGraph, 3));
  EXPECT_EQ(attend.graph, kSampleGraph);
  EXPECT_EQ(attend.stream, 3u);
  const Identity& identity = read->tables.identity(attend.identity);
  EXPECT_EQ(identity.tree_node, 5);
  EXPECT_EQ(identity.grid.x, 8u);
  EXPECT_EQ(identity.grid.y, 4u);
  EXPECT_EQ(identity.shared_memory, 1024u);
  EXPECT_EQ(identity.bytes_read, 4096);
  EXPECT_EQ(read->tables.text(identity.program), "llama \"8B\"");
  EXPECT_EQ(read->tables.text(identity.shape), "batch 4");
  EXPECT_EQ(read->tables.text(identity.scope), "attention");
  EXPECT_EQ(read->tables.text(identity.file), "kernels/norm.py");
  EXPECT_EQ(read->store.ops()[1].bytes, 65536);
  // Launched alone: what it is was written at its launch.
  const DeviceOp& alone = read->store.ops()[0];
  EXPECT_EQ(read->tables.text(read->tables.identity(alone.identity).hash), "cgna3x7xk3ff");
  EXPECT_EQ(read->store.spans()[0].kind, SpanKind::kRequest);
  EXPECT_EQ(read->store.spans()[1].kind, SpanKind::kRecord);
  EXPECT_TRUE(read->store.spans()[4].is_graph);
  ASSERT_EQ(read->store.counters().size(), 1u);
  EXPECT_EQ(read->store.counters()[0].value, 1 << 20);
  EXPECT_EQ(read->store.notes().dropped_records, 2u);
  EXPECT_EQ(read->store.notes().drift_ppm, 1.5);
  ASSERT_EQ(read->store.notes().remarks.size(), 1u);
  EXPECT_EQ(read->store.notes().cut, "");
}

TEST(TraceReaderTest, RealGraphReplays) {
  const auto read = RealTrace("torch_2_11_graph_replays");
  size_t kernels = 0;
  size_t copies = 0;
  for (const DeviceOp& op : read->store.ops()) {
    kernels += op.kind == OpKind::kKernel;
    copies += op.kind == OpKind::kCopy;
    EXPECT_EQ(op.device, 0);
    EXPECT_EQ(op.stream, 7u);
  }
  EXPECT_EQ(kernels, 66u);
  EXPECT_EQ(copies, 6u);
  size_t graph_launches = 0;
  for (const HostSpan& span : read->store.spans()) graph_launches += span.is_graph;
  EXPECT_EQ(graph_launches, 4u);
  EXPECT_EQ(read->store.notes().cut, "");
  EXPECT_EQ(read->store.notes().left_out, 0u);
}

// Triton's kernel says nothing itself: the host op with its external id does.
TEST(TraceReaderTest, RealCompiledKernelsAreJoinedWithTheirLaunch) {
  const auto read = RealTrace("torch_2_11_compiled");
  size_t found = 0;
  for (const DeviceOp& op : read->store.ops()) {
    const Identity& identity = read->tables.identity(op.identity);
    if (!absl::StartsWith(read->Name(op), "triton_")) continue;
    ++found;
    EXPECT_EQ(read->tables.text(identity.backend), "triton");
    EXPECT_TRUE(absl::StartsWith(read->tables.text(identity.arguments), "XBLOCK="));
    EXPECT_TRUE(absl::StartsWith(read->tables.text(identity.input_dims), "[[64, 256]"));
  }
  EXPECT_EQ(found, 3u);
  size_t on_the_host = 0;
  for (const HostSpan& span : read->store.spans()) {
    on_the_host += read->tables.identity(span.identity).backend != 0;
  }
  EXPECT_EQ(on_the_host, 3u);
}

TEST(TraceReaderTest, RealTraceWithoutADevice) {
  const auto read = RealTrace("torch_2_13_cpu");
  EXPECT_TRUE(read->store.ops().empty());
  EXPECT_GT(read->store.spans().size(), 100u);
}

// An argument that means something of an op is a foreign one of a span.
TEST(TraceReaderTest, ForeignArgumentsStayWithTheirSpan) {
  const std::string arguments = "\"shape\":\"wide\",\"bytes\":5,\"name\":\"x\",\"scope\":[1]";
  TraceTables tables;
  std::string again;
  TextSink sink(&again);
  JsonTraceWriter writer(tables, sink);
  ASSERT_TRUE(ParseTrace(absl::StrCat("[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"f\",\"ts\":1,"
                                      "\"args\":{",
                                      arguments, "}}]"),
                         tables, writer)
                  .ok());
  EXPECT_TRUE(absl::StrContains(again, absl::StrCat("\"args\":{", arguments, "}"))) << again;
}

TEST(TraceReaderTest, ACounterHasAllItsSeries) {
  const auto read = Parsed("[{\"ph\":\"C\",\"name\":\"memory\",\"ts\":1,\"pid\":2,\"args\":"
                           "{\"live\\t\":5,\"bytes\":7.5,\"note\":\"x\"}}]");
  ASSERT_EQ(read->store.counters().size(), 2u);
  EXPECT_EQ(read->tables.text(read->store.counters()[0].series), "live\t");
  EXPECT_EQ(read->tables.text(read->store.counters()[1].series), "bytes");
  EXPECT_EQ(read->store.counters()[1].value, 7.5);
}

TEST(TraceReaderTest, BothSpellingsOfANodeIdMeanTheSame) {
  const auto event = [](const char* arguments) {
    return absl::StrCat("{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\","
                        "\"ts\":1,\"dur\":1,\"pid\":0,\"tid\":7,\"args\":{",
                        arguments, "}}]}");
  };
  for (const char* arguments : {"\"graph id\":3,\"graph node id\":2",
                                "\"graph id\":3,\"graph node id\":12884901890",
                                "\"graph node id\":12884901890"}) {
    const auto read = Parsed(event(arguments));
    ASSERT_EQ(read->store.ops().size(), 1u);
    EXPECT_EQ(read->store.ops()[0].graph_node, PackedNode(3, 2)) << arguments;
    EXPECT_EQ(read->store.ops()[0].graph, 3u) << arguments;
  }
}

// What is there is shown, and what is missing is said, wherever the file ends.
TEST(TraceReaderTest, EveryTruncation) {
  const std::string text = SampleText();
  size_t ops_before = 0;
  for (size_t size = 0; size + 2 < text.size(); ++size) {
    const auto read = Parsed(absl::string_view(text).substr(0, size));
    if (!read->status.ok()) {
      EXPECT_EQ(ops_before, 0u) << size;
      continue;
    }
    EXPECT_TRUE(absl::StrContains(read->store.notes().cut, absl::StrCat(size, " bytes"))) << size;
    EXPECT_GE(read->store.ops().size(), ops_before);
    ops_before = read->store.ops().size();
  }
  EXPECT_EQ(ops_before, 7u);
}

TEST(TraceReaderTest, DamageInTheMiddleIsToldWithItsPlace) {
  std::string text = SampleText();
  const size_t place = text.find("\"cat\":\"kernel\"");
  text[place + 5] = '!';
  const auto read = Parsed(text);
  ASSERT_TRUE(read->status.ok()) << read->status;
  EXPECT_EQ(read->store.ops().size(), 0u);
  EXPECT_EQ(read->store.spans().size(), 3u);
  EXPECT_TRUE(absl::StrContains(read->store.notes().cut, "damaged at byte"))
      << read->store.notes().cut;
}

TEST(TraceReaderTest, WhatIsNoTraceIsToldApart) {
  const auto message = [](absl::string_view text) {
    const auto read = Parsed(text);
    EXPECT_EQ(read->status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(read->status.message());
  };
  EXPECT_TRUE(absl::StrContains(message(""), "empty"));
  EXPECT_TRUE(absl::StrContains(message("   \n "), "empty"));
  EXPECT_TRUE(absl::StrContains(message("hello"), "does not begin"));
  EXPECT_TRUE(absl::StrContains(message("\x1f\x8b\x08"), "gzip"));
  EXPECT_TRUE(absl::StrContains(message("SQLite format 3\0"), "SQLite"));
  EXPECT_TRUE(absl::StrContains(message("\x80\x04"), "graphtree memory"));
  EXPECT_TRUE(absl::StrContains(message("\x0a\x12\x40"), "Perfetto"));
  EXPECT_TRUE(absl::StrContains(message("{\"segments\": []}"), "traceEvents"));
  EXPECT_TRUE(absl::StrContains(message("{\"traceEvents\": 5}"), "traceEvents"));
  EXPECT_TRUE(absl::StrContains(message("{\"traceEvents\": [7"), "no object"));
}

TEST(TraceReaderTest, EmptyTracesAndListsAloneAreTraces) {
  EXPECT_TRUE(Parsed("{\"traceEvents\": []}")->status.ok());
  EXPECT_TRUE(Parsed("\n [ ]")->status.ok());
  const auto read = Parsed("[{\"ph\":\"X\",\"cat\":\"kernel\",\"ts\":1.5,\"dur\":2,\"tid\":4}");
  EXPECT_TRUE(read->status.ok());
  ASSERT_EQ(read->store.ops().size(), 1u);
  EXPECT_EQ(read->store.ops()[0].start_ns, 1500);
}

TEST(TraceReaderTest, FileThatIsNotThereOrAFolderIsNamed) {
  TraceTables tables;
  TraceStore store(1);
  EXPECT_EQ(ReadTrace("/no/such/trace", tables, store).code(), absl::StatusCode::kNotFound);
  const absl::Status folder = ReadTrace("/tmp", tables, store);
  EXPECT_TRUE(absl::StrContains(folder.message(), "is a folder")) << folder;
}

}  // namespace
}  // namespace graphtree::trace
