// Rows that are like the one before them are read by its pattern; all others must come out as if
// there were no patterns.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "allocator/snapshot/snapshot.h"
#include "allocator/snapshot/words.h"
#include "device/base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/snapshot/read/pickle_text.h"
#include "tools/snapshot/read/read.h"

namespace graphtree::snapshot {
namespace {

using ::testing::ElementsAre;

// Memo numbers of these texts.
enum Word { kAction, kAddr, kSize, kTime, kStream, kContext, kFrames, kAlloc, kFree, kVendor };
constexpr const char* kTexts[] = {"action",          "addr",   "size",  "time_us", "stream",
                                  "compile_context", "frames", "alloc", "free",    "vendor"};

std::string Get(Word word) { return std::string("h") + static_cast<char>(word); }
std::string Byte(uint8_t value) { return std::string("K") + static_cast<char>(value); }
std::string Number(uint64_t value, int bytes) {
  const std::string long1{'\x8a', static_cast<char>(bytes)};
  return PickleText().Raw(long1).Fixed(value, bytes).CutOff().substr(2);
}
std::string NewText(const std::string& text) {
  return PickleText().Text(text).Raw("\x94").CutOff().substr(2);
}
std::string Row(const std::string& pairs) { return "}\x94(" + pairs + "u"; }

struct Fields {
  std::string action = Get(kAlloc);
  std::string addr = Number(0x7f0000000200, 6);
  std::string size = Byte(7);
  std::string time = Number(1790000000000000, 7);
  std::string stream = Byte(0);
  std::string context = NewText("N/A");
  std::string frames = "]\x94";
};

std::string Usual(const Fields& fields) {
  return Row(Get(kAction) + fields.action + Get(kAddr) + fields.addr + Get(kSize) + fields.size +
             Get(kStream) + fields.stream + Get(kTime) + fields.time + Get(kContext) +
             fields.context + Get(kFrames) + fields.frames);
}

absl::StatusOr<std::unique_ptr<Snapshot>> Parse(const std::string& rows) {
  PickleText text;
  for (const char* word : kTexts) text.Text(word).Raw("\x94").Op("0");
  text.Raw("}\x94(").Text("segments").Raw("\x94]\x94").Text("device_traces").Raw("\x94]\x94]\x94(");
  text.Raw(rows).Raw("ea");
  // The short way is taken only where so much follows.
  return ParseSnapshot(text.Text("pad").Text(std::string(100, '-')).Op("u").Done());
}

TEST(PicklePatternsTest, RowsOfAllFormsOfNumbersAreTheSame) {
  const std::string rows =
      Usual({}) + Usual({.size = std::string("M\x07\x00", 3)}) +
      Usual({.size = std::string("J\x07\x00\x00\x00", 5), .stream = Number(0, 1)}) +
      Usual({.addr = Number(0x7f0000000200, 8), .size = Number(7, 2)}) +
      Usual({.context = NewText("N/A"), .frames = "]"}) +
      Usual({.time = Number(1790000000000000, 8)});
  const auto read = Parse(rows);
  ASSERT_THAT(read, IsOk());
  const Snapshot& snapshot = **read;
  ASSERT_EQ(snapshot.entries.size(), 6u);
  for (const TraceEntry& entry : snapshot.entries) {
    EXPECT_EQ(entry.addr, 0x7f0000000200u);
    EXPECT_EQ(entry.size, 7u);
    EXPECT_EQ(entry.time_us, 1790000000000000);
    EXPECT_EQ(entry.action, words::kAlloc);
    EXPECT_EQ(entry.compile_context, words::kNotAvailable);
    EXPECT_EQ(entry.details, snapshot.entries[0].details);
  }
}

TEST(PicklePatternsTest, ARowThatIsUnlikeTheOthersIsReadAsItIs) {
  const std::string few = Row(Get(kAction) + Get(kFree) + Get(kSize) + Byte(9));
  const std::string swapped =
      Row(Get(kAction) + Get(kAlloc) + Get(kSize) + Byte(1) + Get(kAddr) + Byte(2));
  const std::string vendor = Row(Get(kAction) + Get(kAlloc) + Get(kVendor) + Byte(3));
  const auto read = Parse(Usual({}) + Usual({.stream = std::string("J\xff\xff\xff\xff")}) + few +
                          swapped + few + vendor + Usual({.action = NewText("teleport")}) +
                          Usual({.frames = "N"}) + Usual({}));
  ASSERT_THAT(read, IsOk());
  const Snapshot& snapshot = **read;
  ASSERT_EQ(snapshot.entries.size(), 9u);
  const auto& entries = snapshot.entries;
  const auto details = [&](size_t i) { return snapshot.details[entries[i].details]; };
  EXPECT_EQ(IntegerText(snapshot.values, details(1).stream), "-1");
  for (const size_t i : {2u, 4u}) {
    EXPECT_EQ(entries[i].action, words::kFree);
    EXPECT_EQ(entries[i].size, 9u);
    EXPECT_FALSE(snapshot.HasKey(details(i).shape, words::kAddr));
  }
  EXPECT_EQ(entries[3].size, 1u);
  EXPECT_EQ(entries[3].addr, 2u);
  EXPECT_EQ(snapshot.extras[details(5).extras].size(), 1u);
  EXPECT_EQ(snapshot.Text(entries[6].action), "teleport");
  EXPECT_EQ(snapshot.extras[details(7).extras].size(), 1u);
  EXPECT_EQ(entries[8].details, entries[0].details);
}

TEST(PicklePatternsTest, AKeyThatGetsAnotherMeaningIsReadByIt) {
  const std::string both =
      Row(Get(kAction) + Get(kAlloc) + Get(kAddr) + Byte(5) + Get(kSize) + Byte(6));
  const auto put = [](const std::string& text, Word word) {
    return PickleText().Text(text).Raw("q").Fixed(word, 1).Op("0").CutOff().substr(2);
  };
  const auto read = Parse(both + both + put("size", kAddr) + put("addr", kSize) + both + both);
  ASSERT_THAT(read, IsOk());
  ASSERT_EQ((*read)->entries.size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ((*read)->entries[i].addr, i < 2 ? 5u : 6u) << i;
    EXPECT_EQ((*read)->entries[i].size, i < 2 ? 6u : 5u) << i;
  }
}

TEST(PicklePatternsTest, ShapesThatTakeTurnsKeepTheirKeys) {
  const std::string shapes[] = {
      Row(Get(kAction) + Get(kAlloc) + Get(kAddr) + Byte(1)),
      Row(Get(kAction) + Get(kAlloc) + Get(kSize) + Byte(2)),
      Row(Get(kAction) + Get(kFree) + Get(kAddr) + Byte(3) + Get(kSize) + Byte(4))};
  std::string rows;
  for (int i = 0; i < 90; ++i) rows += shapes[(i * i) % 3];
  const auto read = Parse(rows);
  ASSERT_THAT(read, IsOk());
  ASSERT_EQ((*read)->entries.size(), 90u);
  const uint64_t addrs[] = {1, 0, 3};
  const uint64_t sizes[] = {0, 2, 4};
  for (size_t i = 0; i < 90; ++i) {
    EXPECT_EQ((*read)->entries[i].addr, addrs[(i * i) % 3]) << i;
    EXPECT_EQ((*read)->entries[i].size, sizes[(i * i) % 3]) << i;
  }
}

// Frames as they lie in a list of a new row. In the first one the keys are written out, and get the
// memo numbers 20, 22 and 24; its file is number 23.
std::string Named(const std::string& name, const std::string& line) {
  return Row("h\x14" + NewText(name) + "h\x16" + "h\x17" + "h\x18" + line);
}

std::vector<std::string> StackOf(const Snapshot& snapshot, const TraceEntry& entry) {
  std::vector<std::string> lines;
  for (FrameId id : snapshot.stacks[entry.stack]) {
    const Frame& frame = snapshot.frames[id];
    lines.push_back(absl::StrCat(snapshot.Text(frame.filename), ":", frame.line, " ",
                                 snapshot.Text(frame.name)));
  }
  return lines;
}

TEST(PicklePatternsTest, FramesThatAreWrittenOutInAListAreReadWithIt) {
  const std::string first = Row(NewText("name") + NewText("f") + NewText("filename") +
                                NewText("a.py") + NewText("line") + Byte(1));
  // The numbers of rows, lists and frames follow from one another: each row takes one for itself,
  // for "N/A", for its list, and for each frame and its name.
  const auto read = Parse(
      Usual({.frames = "]\x94(" + first + "e"}) +                                  // 16
      Usual({.frames = "]\x94(" + Named("g", Byte(2)) + "h\x13" +                  // 25
                       Named("h", Byte(3)) + "e"}) +
      Usual({.frames = "h\x1b"}) +                                                 // 32
      Usual({.frames = "]\x94" + Named("i", Byte(4)) + "a"}) +                     // 34
      Usual({.frames = "]\x94(h\x25h\x1c" "e"}) +                                // 39
      Usual({.frames = "]\x94(" + Named("j", Byte(5)) + Named("k", "N") + "e"}) +  // 42
      Usual({.frames = "]\x94(h\x2d" "e"}));                                      // 49
  ASSERT_THAT(read, IsOk());
  const Snapshot& snapshot = **read;
  ASSERT_EQ(snapshot.entries.size(), 7u);
  const auto stack = [&](size_t i) { return StackOf(snapshot, snapshot.entries[i]); };
  EXPECT_THAT(stack(0), ElementsAre("a.py:1 f"));
  EXPECT_THAT(stack(1), ElementsAre("a.py:2 g", "a.py:1 f", "a.py:3 h"));
  EXPECT_EQ(snapshot.entries[2].stack, snapshot.entries[1].stack);
  EXPECT_THAT(stack(3), ElementsAre("a.py:4 i"));
  EXPECT_THAT(stack(4), ElementsAre("a.py:4 i", "a.py:2 g"));
  // A line that is None makes it a list of something else, which is kept.
  EXPECT_THAT(stack(5), ElementsAre());
  EXPECT_EQ(snapshot.extras[snapshot.details[snapshot.entries[5].details].extras].size(), 1u);
  EXPECT_THAT(stack(6), ElementsAre("a.py:5 j"));
}

// The bytes of the two lists are the same, but the second one's frame has a number of its own.
TEST(PicklePatternsTest, AFrameThatIsWrittenOutTwiceIsTwoNumbers) {
  const std::string first = Row(NewText("name") + NewText("f") + NewText("filename") +
                                NewText("a.py") + NewText("line") + Byte(1));
  const std::string again =
      Usual({.frames = "]\x94(" + Named("a_long_enough_name", Byte(2)) + "e"});
  const auto read = Parse(Usual({.frames = "]\x94(" + first + "e"}) +  // 16 to 24
                          again + again + again +                      // 25, 30, 35
                          Usual({.frames = "]\x94(h\x26" "e"}));      // the third one's frame
  ASSERT_THAT(read, IsOk());
  ASSERT_EQ((*read)->entries.size(), 5u);
  for (size_t i = 1; i < 5; ++i) {
    EXPECT_THAT(StackOf(**read, (*read)->entries[i]), ElementsAre("a.py:2 a_long_enough_name"));
  }
}

// PyTorch's C++ writer numbers a row, a list and a frame behind its content, or not at all.
std::string Put(uint8_t number) { return std::string("q") + static_cast<char>(number); }
std::string Late(std::string row) { return row.erase(1, 1); }  // without the number that is first

std::string LateFrame(const std::string& name, uint8_t line) {
  return Late(Row("h\x10" + Get(kAlloc) + "h\x11" + name + "h\x12" + Byte(line)));
}

TEST(PicklePatternsTest, NumbersThatComeLastAreReadAsThoseThatComeFirst) {
  const auto usual = [](const std::string& frames) {
    return Late(Usual({.addr = Number(0x7f0000000200, 8), .context = Get(kFree),
                       .frames = frames}));
  };
  const std::string first = Late(Row(NewText("name") + Get(kAlloc) + NewText("filename") +
                                     Get(kFree) + NewText("line") + Byte(1)));  // 16 to 18
  // Before the rows: 16 numbers, as Parse numbers its texts, the root and what it holds.
  const auto read = Parse(
      usual("](" + first + "e" + Put(19)) + Put(20) +
      usual("h\x13") + Put(21) +
      usual("](" + LateFrame(Get(kAlloc), 2) + Put(22) + LateFrame(Get(kFree), 3) + "e" +
            Put(23)) +                                                    // without a number
      usual("](h\x16" + LateFrame(Get(kFree), 4) + "e") + Put(24) +
      usual("](e" + Put(25)) + Put(26) +                                  // a list of none
      usual("h\x19") +
      usual("]" + LateFrame(Get(kFree), 5) + Put(27) + "a" + Put(28)) +
      usual("](h\x1bh\x16h\x1bh\x16h\x1b" "e" + Put(29)) + usual("h\x1d") +
      Usual({.frames = "]\x94(h\x1bh\x16h\x1bh\x16h\x1b" "e"}));
  ASSERT_THAT(read, IsOk());
  const Snapshot& snapshot = **read;
  ASSERT_EQ(snapshot.entries.size(), 10u);
  const auto stack = [&](size_t i) { return StackOf(snapshot, snapshot.entries[i]); };
  EXPECT_THAT(stack(0), ElementsAre("free:1 alloc"));
  EXPECT_THAT(stack(1), ElementsAre("free:1 alloc"));
  EXPECT_THAT(stack(2), ElementsAre("alloc:2 alloc", "free:3 alloc"));
  EXPECT_THAT(stack(3), ElementsAre("alloc:2 alloc", "free:4 alloc"));
  EXPECT_THAT(stack(4), ElementsAre());
  EXPECT_THAT(stack(5), ElementsAre());
  EXPECT_THAT(stack(6), ElementsAre("free:5 alloc"));
  for (size_t i = 7; i < 10; ++i) {
    EXPECT_EQ(stack(i).size(), 5u) << i;
    EXPECT_EQ(snapshot.entries[i].stack, snapshot.entries[7].stack) << i;
  }
  for (size_t i = 0; i < 9; ++i) {
    EXPECT_EQ(snapshot.entries[i].details, snapshot.entries[0].details) << i;
    EXPECT_EQ(snapshot.entries[i].addr, 0x7f0000000200u) << i;
  }
}

// A number out of its turn, a second one, and none where a row is named later on.
TEST(PicklePatternsTest, LateNumbersOfOtherKindsMeanWhatTheySay) {
  const std::string row = Late(Usual({.context = Get(kFree)}));
  for (const std::string& rows :
       {row + Put(40) + row + Put(41), row + Put(16) + Put(17) + row + Put(18), row + row,
        row + "0" + row + Put(15) + row, row + Put(16) + "0h\x10" + row}) {
    const auto read = Parse(rows);
    ASSERT_THAT(read, IsOk());
    EXPECT_EQ((*read)->entries.size(), 2u);
  }
  EXPECT_THAT(Parse(row + Put(16) + "h\x10"),
              FailsWith(absl::StatusCode::kInvalidArgument, "more than one place"));
  EXPECT_THAT(Parse(row + "h\x11"),
              FailsWith(absl::StatusCode::kInvalidArgument, "before anything was put there"));
}

TEST(PicklePatternsTest, ASizeThatIsNoneIsRefusedInAnyRow) {
  for (const std::string& size :
       {Number((uint64_t{1} << 50) + 1, 7), std::string("J\xff\xff\xff\xff"),
        Number(0xffffff, 3), std::string("N"), Get(kAlloc)}) {
    EXPECT_THAT(Parse(Usual({}) + Usual({}) + Usual({.size = size})),
                FailsWith(absl::StatusCode::kInvalidArgument, "[0][2] is not a trace entry"));
  }
}

}  // namespace
}  // namespace graphtree::snapshot
