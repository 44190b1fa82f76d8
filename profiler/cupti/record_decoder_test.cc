// Records written by hand: in no order, longer than known, of unknown kinds, cut off.
#include "profiler/cupti/record_decoder.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "device/stream.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler/activity/activity.h"
#include "profiler/cupti/cupti_api.h"
#include "profiler/cupti/record_layout.h"
#include "profiler/cupti/test_listener.h"

namespace graphtree::cupti {
namespace {

using activity::ActivityKind;

// Walks over records of the lengths that they were written with, and can do nothing else.
class Walker : public CuptiApi {
 public:
  template <typename Record>
  void Add(const Record& record, size_t bytes) {
    starts.push_back(buffer.size());
    buffer.resize(buffer.size() + bytes, 0xEE);
    std::memcpy(buffer.data() + starts.back(), &record, std::min(bytes, sizeof(record)));
  }
  void Decode(activity::ActivityListener& listener) {
    DecodeBuffer(*this, buffer.data(), buffer.size(), listener, counts);
  }

  Step Next(uint8_t* from, size_t valid_bytes, uint8_t** record) override {
    size_t number = 0;
    if (*record != nullptr) {
      while (from + starts[number] != *record) ++number;
      ++number;
    }
    if (number >= starts.size() || starts[number] >= valid_bytes) return last;
    *record = from + starts[number];
    return Step::kRecord;
  }

  std::string name() const override { return "walker"; }
  absl::Status Subscribe(CuptiEvents*) override { return Never(); }
  absl::Status Unsubscribe() override { return Never(); }
  absl::Status RegisterBuffers() override { return Never(); }
  absl::Status EnableLaunches(bool) override { return Never(); }
  absl::Status EnableKind(RecordKind) override { return Never(); }
  absl::Status DisableKind(RecordKind) override { return Never(); }
  absl::Status Flush(bool) override { return Never(); }
  uint64_t TakeDropped() override { return 0; }
  absl::Status Finalize() override { return Never(); }
  absl::StatusOr<int64_t> NowNs() override { return Never(); }
  absl::StatusOr<uint32_t> IdOf(const void*) override { return Never(); }
  absl::StatusOr<uint32_t> IdOf(const Stream&) override { return Never(); }

  std::vector<uint8_t> buffer;
  std::vector<size_t> starts;
  Step last = Step::kEnd;
  DecodeCounts counts;

 private:
  static absl::Status Never() { return absl::UnimplementedError("a walker walks"); }
};

KernelRecord Kernel(uint64_t start, uint64_t end, const char* name) {
  KernelRecord record;
  record.start = start;
  record.end = end;
  record.name = name;
  return record;
}

TEST(RecordDecoderTest, ReadsAllFieldsOfAKernel) {
  KernelRecord record = Kernel(1700000000000000001, 1700000000000000900, "_Z5AlphaPf");
  record.registers = 32;
  record.device = 1;
  record.context = 2;
  record.stream = 13;
  record.grid[0] = 4;
  record.grid[1] = 5;
  record.grid[2] = 6;
  record.block[0] = 7;
  record.block[1] = 8;
  record.block[2] = 9;
  record.static_shared = 48;
  record.dynamic_shared = 1024;
  record.correlation = 0xfffffff0;
  record.graph = 7;
  record.graph_node = uint64_t{7} << 32 | 3;
  Walker walker;
  walker.Add(record, kKernelBytes);
  TestListener listener;
  walker.Decode(listener);
  ASSERT_EQ(listener.ops.size(), 1u);
  const activity::Activity& op = listener.ops[0].op;
  EXPECT_EQ(op.kind, ActivityKind::kKernel);
  EXPECT_EQ(op.start_ns, 1700000000000000001);
  EXPECT_EQ(op.end_ns, 1700000000000000900);
  EXPECT_EQ(op.registers, 32);
  EXPECT_EQ(op.device, 1);
  EXPECT_EQ(op.context, 2u);
  EXPECT_EQ(op.stream, 13u);
  EXPECT_EQ(op.grid, (Dim3{4, 5, 6}));
  EXPECT_EQ(op.block, (Dim3{7, 8, 9}));
  EXPECT_EQ(op.static_shared, 48u);
  EXPECT_EQ(op.dynamic_shared, 1024u);
  EXPECT_EQ(op.correlation, 0xfffffff0u);
  EXPECT_EQ(op.graph, 7u);
  EXPECT_EQ(op.graph_node, uint64_t{7} << 32 | 3);
  EXPECT_EQ(op.bytes, -1);
  EXPECT_EQ(listener.ops[0].name, "_Z5AlphaPf");
}

TEST(RecordDecoderTest, ReadsCopiesAndFills) {
  CopyRecord copy;
  copy.copy_kind = 8;
  copy.bytes = uint64_t{5} << 30;
  copy.start = 10;
  copy.end = 20;
  copy.stream = 3;
  copy.correlation = 4;
  copy.graph_node = uint64_t{9} << 32 | 1;
  copy.graph = 9;
  FillRecord fill;
  fill.value = 0xAB;
  fill.bytes = 4096;
  fill.start = 30;
  fill.end = 31;
  fill.graph = 0;
  Walker walker;
  walker.Add(copy, kCopyBytes);
  walker.Add(fill, kFillBytes);
  TestListener listener;
  walker.Decode(listener);
  ASSERT_EQ(listener.ops.size(), 2u);
  EXPECT_EQ(listener.ops[0].op.kind, ActivityKind::kCopy);
  EXPECT_EQ(listener.ops[0].op.bytes, int64_t{5} << 30);
  EXPECT_EQ(listener.ops[0].op.graph_node, uint64_t{9} << 32 | 1);
  EXPECT_EQ(listener.ops[0].name, "device to device");
  EXPECT_EQ(listener.ops[1].op.kind, ActivityKind::kFill);
  EXPECT_EQ(listener.ops[1].op.bytes, 4096);
  EXPECT_EQ(listener.ops[1].op.graph, 0u);
  EXPECT_EQ(listener.ops[1].name, "fill");
  EXPECT_EQ(walker.counts.ops, 2u);
  EXPECT_EQ(WordsOf(walker.counts), "");
}

TEST(RecordDecoderTest, TellsOfEachInTheOrderInWhichTheyLie) {
  Walker walker;
  for (uint64_t start : {500, 100, 300, 100}) {
    KernelRecord record = Kernel(start, start + 1, "k");
    record.correlation = 77;  // an id that comes again is no matter of the decoder's
    walker.Add(record, kKernelBytes);
  }
  TestListener listener;
  walker.Decode(listener);
  std::vector<int64_t> starts;
  for (const KeptOp& kept : listener.ops) starts.push_back(kept.op.start_ns);
  EXPECT_THAT(starts, testing::ElementsAre(500, 100, 300, 100));
}

TEST(RecordDecoderTest, ReadsStructsOfOtherVersionsByTheirPrefix) {
  Walker walker;
  for (size_t bytes : {kKernelPrefix, kKernelPrefix + 4, kKernelBytes, kKernelBytes + 128}) {
    walker.Add(Kernel(1, 2, "k"), bytes);
  }
  CopyRecord copy;
  copy.start = copy.end = 1;
  walker.Add(copy, kCopyPrefix);
  walker.Add(copy, kCopyBytes + 64);
  FillRecord fill;
  fill.start = fill.end = 1;
  walker.Add(fill, kFillPrefix);
  walker.Add(fill, kFillBytes + 8);
  TestListener listener;
  walker.Decode(listener);
  EXPECT_EQ(listener.ops.size(), 8u);
  EXPECT_EQ(listener.dropped, 0u);
}

TEST(RecordDecoderTest, SkipsAndCountsUnknownKinds) {
  Walker walker;
  struct Unknown {
    uint32_t kind;
    uint32_t rest[5];
  };
  for (uint32_t kind : {0u, 3u, 5u, 51u, 54u, 4000000000u}) walker.Add(Unknown{kind, {}}, 24);
  walker.Add(Kernel(1, 2, "k"), kKernelBytes);
  TestListener listener;
  walker.Decode(listener);
  EXPECT_EQ(listener.ops.size(), 1u);
  EXPECT_EQ(walker.counts.of_unknown_kind, 6u);
  EXPECT_EQ(listener.dropped, 0u);
  EXPECT_THAT(WordsOf(walker.counts), testing::HasSubstr("6 records of kinds"));
}

// However much of the last record is there, nothing behind the end is read (the sanitizers see
// that), and it is told as an op or as dropped.
TEST(RecordDecoderTest, CountsWhatIsCutOff) {
  for (size_t there = 0; there <= kKernelBytes; ++there) {
    Walker walker;
    walker.Add(Kernel(1, 2, "first"), kKernelBytes);
    walker.Add(Kernel(3, 4, "second"), kKernelBytes);
    walker.buffer.resize(kKernelBytes + there);
    walker.buffer.shrink_to_fit();
    TestListener listener;
    walker.Decode(listener);
    const bool is_whole = there >= kKernelPrefix;
    EXPECT_EQ(listener.ops.size(), is_whole ? 2u : 1u) << there;
    EXPECT_EQ(listener.dropped, is_whole || there == 0 ? 0u : 1u) << there;
    EXPECT_EQ(walker.counts.cut_off, listener.dropped);
  }
}

TEST(RecordDecoderTest, CountsWhatHadNotEnded) {
  Walker walker;
  walker.Add(Kernel(0, 0, "not begun"), kKernelBytes);
  walker.Add(Kernel(5, 0, "not ended"), kKernelBytes);
  walker.Add(Kernel(5, 6, nullptr), kKernelBytes);
  TestListener listener;
  walker.Decode(listener);
  ASSERT_EQ(listener.ops.size(), 1u);
  EXPECT_EQ(listener.ops[0].name, "(no name)");
  EXPECT_EQ(listener.dropped, 2u);
  EXPECT_EQ(walker.counts.lost(), 2u);
  EXPECT_THAT(WordsOf(walker.counts), testing::HasSubstr("2 ops had not ended"));
}

TEST(RecordDecoderTest, TellsOfABufferThatCannotBeRead) {
  Walker walker;
  walker.Add(Kernel(1, 2, "k"), kKernelBytes);
  walker.last = CuptiApi::Step::kBroken;
  TestListener listener;
  walker.Decode(listener);
  EXPECT_EQ(listener.ops.size(), 1u);
  EXPECT_EQ(walker.counts.unreadable_buffers, 1u);
  EXPECT_THAT(WordsOf(walker.counts), testing::HasSubstr("1 buffers could not"));
}

// A walk that does not advance, or leaves the buffer, ends.
class Madman : public Walker {
 public:
  Step Next(uint8_t* from, size_t valid_bytes, uint8_t** record) override {
    *record = *record == nullptr ? from : from + at;
    return Step::kRecord;
  }
  ptrdiff_t at = 0;
};

TEST(RecordDecoderTest, DoesNotFollowAWalkThatLeadsNowhere) {
  for (ptrdiff_t at : {ptrdiff_t{0}, ptrdiff_t{kKernelBytes}, ptrdiff_t{1 << 20}}) {
    Madman madman;
    madman.at = at;
    madman.Add(Kernel(1, 2, "k"), kKernelBytes);
    TestListener listener;
    madman.Decode(listener);
    EXPECT_EQ(listener.ops.size(), 1u);
    EXPECT_EQ(madman.counts.unreadable_buffers, 1u);
  }
}

TEST(RecordDecoderTest, AnEmptyBufferTellsNothing) {
  Walker walker;
  TestListener listener;
  walker.Decode(listener);
  EXPECT_TRUE(listener.ops.empty());
  EXPECT_EQ(WordsOf(walker.counts), "");
}

}  // namespace
}  // namespace graphtree::cupti
