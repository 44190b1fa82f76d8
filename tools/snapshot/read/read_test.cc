// Reading real files: totals, what is kept, every truncation, and JSON.
#include "tools/snapshot/read/read.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "device/base/status_matchers.h"
#include "gtest/gtest.h"

namespace graphtree::snapshot {
namespace {

using absl::StatusCode;

std::string DataFile(const std::string& name) {
  return absl::StrCat("tools/snapshot/testdata/", name);
}

std::string TemporaryFolder() {
  const char* folder = std::getenv("TEST_TMPDIR");  // which only Bazel sets
  return folder != nullptr ? folder : "/tmp";
}

std::string Contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(ReadTest, FieldsOfARealFileArrive) {
  const auto read = ReadSnapshot(DataFile("torch_2_15_mixed.pickle"));
  ASSERT_THAT(read, IsOk());
  const Snapshot& snapshot = **read;
  EXPECT_EQ(snapshot.pickle_protocol, 4);
  ASSERT_EQ(snapshot.gpu.segments.size(), 5u);
  const Segment& segment = snapshot.gpu.segments[0];
  EXPECT_EQ(segment.address, 139663836708864u);
  EXPECT_EQ(segment.total_size, 20971520u);
  EXPECT_EQ(snapshot.Pool(segment.pool), (std::pair<uint64_t, uint64_t>{0, 1}));
  EXPECT_EQ(snapshot.Text(segment.type), "large");
  ASSERT_EQ(segment.block_count, 2u);
  const Block& block = snapshot.BlocksOf(segment)[0];
  EXPECT_EQ(block.requested_size, 7340032u);
  EXPECT_TRUE(block.allocated());
  ASSERT_EQ(snapshot.stacks[block.stack].size(), 1u);
  const Frame& frame = snapshot.frames[snapshot.stacks[block.stack][0]];
  EXPECT_EQ(snapshot.Text(frame.filename), "scen.py");
  EXPECT_EQ(frame.line, 54);

  ASSERT_EQ(snapshot.gpu.traces.size(), 1u);
  const TraceEntry& entry = snapshot.EntriesOf(snapshot.gpu.traces[0])[3];
  EXPECT_EQ(entry.action, words::kAlloc);
  EXPECT_EQ(entry.size, 3145728u);
  EXPECT_EQ(entry.time_us, 1795220389928592);
  EXPECT_EQ(snapshot.Text(entry.user_metadata), "hello");
  EXPECT_EQ(snapshot.Pool(entry.pool), (std::pair<uint64_t, uint64_t>{0, 0}));
  EXPECT_NE(entry.pool, kNoId);

  ASSERT_EQ(snapshot.host.segments.size(), 2u);
  EXPECT_EQ(snapshot.host.segments[0].device, kHostDevice);
  ASSERT_EQ(snapshot.host.traces.size(), 1u);
  EXPECT_EQ(snapshot.host.traces[0].entry_count, 7u);
  const auto settings = snapshot.Get(words::kAllocatorSettings);
  ASSERT_TRUE(settings.has_value());
  EXPECT_NE(snapshot.values.DictItems(*settings), nullptr);
}

TEST(ReadTest, EveryPrefixOfAFileIsAnErrorAndNothingWorse) {
  for (const char* name : {"torch_2_15_mixed.pickle", "cpp_writer_2_11.pickle"}) {
    const std::string whole = Contents(DataFile(name));
    ASSERT_THAT(ParseSnapshot(whole), IsOk());
    for (size_t size = 0; size < whole.size(); ++size) {
      const std::string prefix = whole.substr(0, size);  // its own memory: asan sees every overrun
      const auto read = ParseSnapshot(prefix);
      ASSERT_FALSE(read.ok()) << name << " cut at " << size;
      ASSERT_EQ(read.status().code(), StatusCode::kInvalidArgument) << read.status();
      if (size > 0) {
        ASSERT_THAT(read, FailsWith(StatusCode::kInvalidArgument, "cut off")) << size;
      }
    }
  }
}

TEST(ReadTest, TruncatedFilesAreReportedFromDiskAsFromMemory) {
  const std::string whole = Contents(DataFile("leak_step9.pickle"));
  const std::string path = absl::StrCat(TemporaryFolder(), "/graphtree-cut-", getpid(), ".pickle");
  for (size_t size : {size_t{0}, size_t{1}, size_t{2}, size_t{100}, whole.size() / 2,
                      whole.size() - 1}) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << whole.substr(0, size);
    EXPECT_FALSE(ReadSnapshot(path).ok()) << size;
  }
  unlink(path.c_str());
  EXPECT_THAT(ReadSnapshot(path + ".missing"), FailsWith(StatusCode::kNotFound, "cannot open"));
  EXPECT_THAT(ReadSnapshot(TemporaryFolder()),
              FailsWith(StatusCode::kInvalidArgument, "is a folder"));
}

TEST(ReadTest, ProgressRunsToTheEndOfTheFile) {
  uint64_t last = 0;
  uint64_t of = 0;
  const auto read = ReadSnapshot(DataFile("reduce_overhead_batches_1_2_4_8.pickle"),
                                 [&](uint64_t done, uint64_t total) {
                                   EXPECT_GE(done, last);
                                   last = done;
                                   of = total;
                                 });
  ASSERT_THAT(read, IsOk());
  EXPECT_EQ(last, of);
  EXPECT_EQ(of, 3086500u);
}

TEST(ReadTest, UnknownKeysAndActionsAreKept) {
  const auto read = ParseSnapshot(R"({"segments": [{"device": 0, "address": 0, "total_size": 512,
      "vendor": {"chip": 7}, "blocks": [{"size": 512, "state": "resting", "colour": "red"}]}],
      "device_traces": [[{"action": "compacted", "addr": 0, "size": 1, "cause": [1, 2]}]],
      "written_by": "a fork"})");
  ASSERT_THAT(read, IsOk());
  const Snapshot& snapshot = **read;
  const StringId vendor = snapshot.strings.Find("vendor");
  ASSERT_TRUE(snapshot.extras.Get(snapshot.gpu.segments[0].extras, vendor).has_value());
  const Block& block = snapshot.blocks[0];
  EXPECT_EQ(snapshot.Text(block.state), "resting");
  const auto colour = snapshot.extras.Get(block.extras, snapshot.strings.Find("colour"));
  ASSERT_TRUE(colour.has_value());
  EXPECT_EQ(snapshot.Text(colour->id()), "red");
  EXPECT_EQ(snapshot.Text(snapshot.entries[0].action), "compacted");
  EXPECT_TRUE(snapshot.Get(snapshot.strings.Find("written_by")).has_value());
}

TEST(ReadTest, OldFilesAreCompleted) {
  // A bare list of segments; blocks without addresses, with their stack inside a history.
  const auto read = ParseSnapshot(R"([{"device": 0, "address": 1024, "total_size": 1536,
      "stream": 0, "blocks": [{"size": 512, "state": "inactive"},
      {"size": 1024, "state": "active_allocated", "history": [{"real_size": 1000, "addr": 1536,
       "frames": [{"name": "f", "filename": "a.py", "line": 3}]}]}]}])");
  ASSERT_THAT(read, IsOk());
  const Snapshot& snapshot = **read;
  EXPECT_TRUE(snapshot.segments_only);
  EXPECT_EQ(snapshot.blocks[0].address, 1024u);
  EXPECT_EQ(snapshot.blocks[1].address, 1536u);
  EXPECT_EQ(snapshot.blocks[1].requested_size, 1000u);
  EXPECT_EQ(snapshot.stacks[snapshot.blocks[1].stack].size(), 1u);
}

TEST(ReadTest, ARowWithAWrongTypeIsNamedByItsPath) {
  EXPECT_THAT(ParseSnapshot(R"({"segments": [{"total_size": 1, "blocks":
                            [{"size": "big", "state": "x"}]}]})"),
              FailsWith(StatusCode::kInvalidArgument, "segments[0].blocks[0] is not a block"));
  EXPECT_THAT(ParseSnapshot(R"({"segments": [3]})"),
              FailsWith(StatusCode::kInvalidArgument, "segments[0] is an int"));
  EXPECT_THAT(ParseSnapshot(R"({"segments": [], "device_traces": [[{"action": "alloc",
                            "size": -5}]]})"),
              FailsWith(StatusCode::kInvalidArgument, "device_traces[0][0] is not a trace entry"));
  EXPECT_THAT(ParseSnapshot(R"({"segments": [], "device_traces": {}})"),
              FailsWith(StatusCode::kInvalidArgument, "device_traces is a dict"));
}

TEST(ReadTest, SizesBeyondAnyMemoryAreRefused) {
  std::string blocks;
  for (int i = 0; i < 5000; ++i) {
    absl::StrAppend(&blocks, i == 0 ? "" : ",", R"({"size":1125899906842624,"state":"x"})");
  }
  EXPECT_THAT(ParseSnapshot(absl::StrCat(R"({"segments":[{"total_size":1,"blocks":[)", blocks,
                                         "]}]}")),
              FailsWith(StatusCode::kInvalidArgument, "larger than the address space"));
}

TEST(ReadTest, DamagedJsonIsRefusedAtItsByte) {
  for (const char* text :
       {"{", "[", "{\"a\"", "{\"a\":", "{\"a\":1", "{\"a\":1,", "{\"a\":1,}", "[1,]", "[1 2]",
        "{\"segments\": []} x", "{1:2}", "[tru]", "[nul", "\"a", "[\"\\x\"]", "[\"\\u12g4\"]",
        "[--1]", "[1e]", "[+1]", "[123456789012345678901234567890]", "{]", "[}", "[\"\x01\"]"}) {
    const auto read = ParseSnapshot(text);
    EXPECT_FALSE(read.ok()) << text;
    EXPECT_EQ(read.status().code(), StatusCode::kInvalidArgument) << text;
  }
  EXPECT_THAT(ParseSnapshot(std::string(100000, '[')),
              FailsWith(StatusCode::kInvalidArgument, "more than 1000 deep"));
}

TEST(ReadTest, JsonTextsAndNumbersArriveWhole) {
  const auto read = ParseSnapshot(
      R"({"segments":[],"t":"\u00e4\ud83d\ude00\n\\\"","i":-9223372036854775808,)"
      R"("u":18446744073709551615,"d":-2.5e3,"n":null,"b":[true,false],"inf":-Infinity})");
  ASSERT_THAT(read, IsOk());
  const Snapshot& s = **read;
  const auto get = [&](const char* key) { return *s.Get(s.strings.Find(key)); };
  EXPECT_EQ(s.Text(get("t").id()), "\u00e4\U0001F600\n\\\"");
  EXPECT_EQ(IntegerText(s.values, get("i")), "-9223372036854775808");
  EXPECT_EQ(IntegerText(s.values, get("u")), "18446744073709551615");
  EXPECT_EQ(s.values.AsDouble(get("d")), -2500);
  EXPECT_TRUE(get("n").is(Value::kNone));
  EXPECT_EQ(s.values.ListItems(get("b"))->size(), 2u);
  EXPECT_LT(s.values.AsDouble(get("inf")), -1e300);
}

}  // namespace
}  // namespace graphtree::snapshot
