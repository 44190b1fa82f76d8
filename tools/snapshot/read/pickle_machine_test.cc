// The pickle reader on files that no honest writer would write: each is refused, with a reason.
#include "tools/snapshot/read/pickle_machine.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "device/base/status_matchers.h"
#include "gtest/gtest.h"
#include "tools/snapshot/read/pickle_text.h"
#include "tools/snapshot/read/read.h"

namespace graphtree::snapshot {
namespace {

using absl::StatusCode;

// An empty snapshot, with something else in front of its segments.
PickleText Around() { return PickleText().Op("}(").Text("extra"); }
std::string Close(PickleText text) { return text.Text("segments").Op("]u").Done(); }

TEST(PickleMachineTest, EmptySnapshotIsFine) {
  const auto read = ParseSnapshot(Close(Around().Op("N")));
  ASSERT_THAT(read, IsOk());
  EXPECT_EQ((*read)->pickle_protocol, 4);
  EXPECT_TRUE((*read)->gpu.segments.empty());
}

TEST(PickleMachineTest, EveryImportIsNamedAndRefused) {
  EXPECT_THAT(
      ParseSnapshot(PickleText(2).Raw("cos\nsystem\n(").Text("touch /tmp/x").Raw("tR").Done()),
      FailsWith(StatusCode::kPermissionDenied, "import os.system (GLOBAL at byte 2)"));
  EXPECT_THAT(ParseSnapshot(PickleText().Text("posix").Text("system").Raw("\x93").Done()),
              FailsWith(StatusCode::kPermissionDenied, "import posix.system (STACK_GLOBAL"));
  EXPECT_THAT(ParseSnapshot(PickleText().Raw("(").Text("ls").Raw("ios\nsystem\n").Done()),
              FailsWith(StatusCode::kPermissionDenied, "import os.system (INST"));
  EXPECT_THAT(ParseSnapshot(PickleText().Raw("cos\nsys\x1b[2Jtem\n").Done()),
              FailsWith(StatusCode::kPermissionDenied, "os.sys?[2Jtem"));
}

TEST(PickleMachineTest, EveryCallIsRefused) {
  for (const auto& [opcode, name] : std::initializer_list<std::pair<const char*, const char*>>{
           {"R", "REDUCE"}, {"b", "BUILD"}, {"\x81", "NEWOBJ"}, {"\x92", "NEWOBJ_EX"},
           {"o", "OBJ"}, {"\x82\x01", "EXT1"}, {"Q", "BINPERSID"}, {"P1\n", "PERSID"}}) {
    EXPECT_THAT(ParseSnapshot(PickleText().Op("}}").Raw(opcode).Done()),
                FailsWith(StatusCode::kPermissionDenied, absl::StrCat("call something (", name)));
  }
}

TEST(PickleMachineTest, ProtocolsOutsideTwoToFiveAreRefused) {
  EXPECT_THAT(ParseSnapshot(PickleText(6).Op("}").Done()),
              FailsWith(StatusCode::kInvalidArgument, "protocol 6"));
  EXPECT_THAT(ParseSnapshot(PickleText(1).Op("}").Done()),
              FailsWith(StatusCode::kInvalidArgument, "protocol 1"));
  EXPECT_THAT(ParseSnapshot("(dp0\n."), FailsWith(StatusCode::kInvalidArgument, "protocol 0 or 1"));
}

TEST(PickleMachineTest, ALengthBeyondTheFileAllocatesNothing) {
  for (const char* opcode : {"\x8d", "\x8e"}) {
    EXPECT_THAT(ParseSnapshot(Around().Raw(opcode).Fixed(uint64_t{1} << 60, 8).Done()),
                FailsWith(StatusCode::kInvalidArgument, "cut off"));
    EXPECT_THAT(ParseSnapshot(Around().Raw(opcode).Fixed(~uint64_t{0}, 8).Done()),
                FailsWith(StatusCode::kInvalidArgument, "cut off"));
  }
  EXPECT_THAT(ParseSnapshot(Around().Raw("X").Fixed(0xfffffff0u, 4).Done()),
              FailsWith(StatusCode::kInvalidArgument, "cut off"));
}

TEST(PickleMachineTest, AMemoNumberThatCannotBeIsRefused) {
  EXPECT_THAT(ParseSnapshot(Around().Raw("Nr").Fixed(0xffffffffu, 4).Done()),
              FailsWith(StatusCode::kInvalidArgument, "memo number 4294967295"));
  EXPECT_THAT(ParseSnapshot(Around().Raw("j").Fixed(77, 4).Done()),
              FailsWith(StatusCode::kInvalidArgument, "memo number 77"));
  // A gap is no value.
  EXPECT_THAT(ParseSnapshot(Around().Raw("Nq\x05h\x03").Done()),
              FailsWith(StatusCode::kInvalidArgument, "memo number 3"));
}

TEST(PickleMachineTest, DeepNestingIsRefusedOrHarmless) {
  EXPECT_THAT(ParseSnapshot(Around().Raw(std::string(100000, '(')).Done()),
              FailsWith(StatusCode::kInvalidArgument, "more than 1000 deep"));
  // Without marks: [[[[...]]]] by a hundred thousand lists and as many appends.
  EXPECT_THAT(ParseSnapshot(Close(Around()
                                      .Raw(std::string(100000, ']'))
                                      .Raw(std::string(99999, 'a')))),
              IsOk());
}

TEST(PickleMachineTest, ExponentialSharingStaysSmall) {
  // Each list holds the one before twice: 2^64 leaves if anyone followed all of them.
  PickleText laughs = Around().Raw("]q").Fixed(0, 1);
  for (int i = 1; i <= 64; ++i) laughs.Raw("](h").Fixed(i - 1, 1).Raw("h").Fixed(i - 1, 1)
                                      .Raw("eq").Fixed(i, 1).Raw("0h").Fixed(i, 1);
  EXPECT_EQ(ParseSnapshot(laughs.Done()).ok(), false);  // values are left over
  PickleText doubled = Around().Op("]");
  for (int i = 0; i < 40; ++i) doubled.Raw("2\x86");  // the same value twice, as a tuple
  EXPECT_THAT(ParseSnapshot(Close(doubled)), IsOk());
}

TEST(PickleMachineTest, TheSameRowsInManyPlacesAreRefused) {
  // One trace of one entry, named a hundred times.
  PickleText text = PickleText().Op("}(").Text("segments").Op("]").Text("device_traces").Op("](");
  text.Op("](}(").Text("action").Text("alloc").Text("addr").Int(512).Text("size").Int(512);
  text.Op("ueq").Fixed(1, 1);
  for (int i = 0; i < 100; ++i) text.Raw("h\x01");
  EXPECT_THAT(ParseSnapshot(text.Op("eu").Done()),
              FailsWith(StatusCode::kInvalidArgument, "more than one place"));
}

TEST(PickleMachineTest, RowsBesideOtherThingsAreStillOneList) {
  const auto traces = [](absl::string_view entries) {
    PickleText text = PickleText().Op("}(").Text("segments").Op("]").Text("device_traces");
    return text.Op("](](").Raw(entries).Op("eeu").Done();
  };
  // As Python writes it, but for the keys: a memo number, a mark, all pairs at once.
  const std::string entry = PickleText()
                                .Raw("}\x94(").Text("action").Text("alloc").Text("addr").Int(512)
                                .Text("size").Int(512).Op("u").CutOff().substr(2);
  const auto read = ParseSnapshot(traces(entry + entry + entry));
  ASSERT_THAT(read, IsOk());
  EXPECT_EQ((*read)->entries.size(), 3u);
  EXPECT_THAT(ParseSnapshot(traces(entry + "N" + entry)),
              FailsWith(StatusCode::kInvalidArgument, "device_traces[0][1] is None"));
  EXPECT_THAT(ParseSnapshot(traces(entry + "2")),
              FailsWith(StatusCode::kInvalidArgument, "more than one place"));
  EXPECT_THAT(ParseSnapshot(PickleText().Op("}(").Text("segments").Op("](").Raw(entry).Op("eu")
                                .Done()),
              FailsWith(StatusCode::kInvalidArgument, "segments[0] is a trace entry"));
}

// Two entries with the same bytes for their frames, and between them a memo number that gets
// another meaning.
TEST(PickleMachineTest, AKnownListOfFramesIsReadAgainWhenTheMemoChanges) {
  PickleText text;
  for (const char* word : {"action", "alloc", "addr", "size", "frames", "name", "filename",
                           "line"}) {
    text.Text(word).Raw("\x94" "0");  // memo 0 to 7
  }
  for (const char* name : {"first", "second"}) {  // 8 and 9
    text.Raw("}(h\x05").Text(name).Raw("h\x06").Text("a.py").Raw("h\x07K\x01u\x94" "0");
  }
  text.Op("}(").Text("segments").Op("]").Text("device_traces").Op("](](");
  std::string entry = absl::StrCat("}\x94(h", std::string(1, '\0'),
                                   "h\x01h\x02K\x01h\x03K\x02h\x04]\x94(");
  for (int i = 0; i < 40; ++i) entry += "h\x08";
  text.Raw(entry).Op("eu").Raw(entry).Op("eu");
  text.Raw("h\x09q\x08" "0").Raw(entry).Op("eueeu");
  const auto read = ParseSnapshot(text.Done());
  ASSERT_THAT(read, IsOk());
  const Snapshot& snapshot = **read;
  ASSERT_EQ(snapshot.entries.size(), 3u);
  const auto name = [&](int entry) {
    const auto stack = snapshot.stacks[snapshot.entries[entry].stack];
    EXPECT_EQ(stack.size(), 40u);
    return snapshot.Text(snapshot.frames[stack[39]].name);
  };
  EXPECT_EQ(name(0), "first");
  EXPECT_EQ(name(1), "first");
  EXPECT_EQ(name(2), "second");
}

TEST(PickleMachineTest, BytesOfProtocolTwoAreDataAndOtherCallsAreNot) {
  const auto around = [](absl::string_view call) {
    return ParseSnapshot(
        PickleText(2).Op("}(").Text("x").Raw(call).Text("segments").Op("]u").Done());
  };
  // b"\0\xff" and b"", as Python writes them with protocol 2.
  const std::string text("\0\xc3\xbf", 3);
  const std::string call = absl::StrCat(std::string("c_codecs\nencode\nq\x01X\x03\0\0\0", 23),
                                        text, std::string("X\x06\0\0\0latin1\x86R", 13));
  const auto read = around(call);
  ASSERT_THAT(read, IsOk());
  const Value value = (*read)->root[0].value;
  ASSERT_TRUE(value.is(Value::kBytes));
  EXPECT_EQ((*read)->strings[value.id()], absl::string_view("\0\xff", 2));
  EXPECT_THAT(around("c__builtin__\nbytes\n)R"), IsOk());
  EXPECT_THAT(around("c_codecs\nencode\n"),
              FailsWith(StatusCode::kPermissionDenied, "import _codecs.encode"));
  EXPECT_THAT(around("](c_codecs\nencode\nc_codecs\nencode\ne"),
              FailsWith(StatusCode::kPermissionDenied, "import _codecs.encode"));
  EXPECT_THAT(around("]c_codecs\nencode\na"),
              FailsWith(StatusCode::kPermissionDenied, "import _codecs.encode"));
  for (const char* filled : {"Na", "(NNe", "NNs", "(NNu"}) {
    EXPECT_THAT(around(absl::StrCat("c_codecs\nencode\n", filled)),
                FailsWith(StatusCode::kPermissionDenied, "import _codecs.encode"))
        << filled;
  }
  EXPECT_THAT(around("c_codecs\nencode\nN\x85R"),
              FailsWith(StatusCode::kInvalidArgument, "_codecs.encode is called with"));
  EXPECT_THAT(around("c__builtin__\nbytes\nK\x05\x85R"),
              FailsWith(StatusCode::kPermissionDenied, "call something"));
  EXPECT_THAT(around("c_codecs\ndecode\n"),
              FailsWith(StatusCode::kPermissionDenied, "import _codecs.decode"));
}

TEST(PickleMachineTest, ImportsOfProtocolZeroAreNamed) {
  EXPECT_THAT(ParseSnapshot("cposix\nsystem\np0\n(Vtouch x\np1\ntp2\nRp3\n."),
              FailsWith(StatusCode::kPermissionDenied, "import posix.system"));
  EXPECT_THAT(ParseSnapshot("(dp0\nVsegments\np1\n(lp2\nsVx\np3\ncposix\nsystem\np4\n."),
              FailsWith(StatusCode::kPermissionDenied, "import posix.system"));
}

TEST(PickleMachineTest, BytesBehindTheEndAreCounted) {
  const std::string whole = Close(Around().Op("N"));
  EXPECT_EQ((*ParseSnapshot(whole))->trailing_bytes, 0u);
  EXPECT_EQ((*ParseSnapshot(whole + "more"))->trailing_bytes, 4u);
}

TEST(PickleMachineTest, AListThatHoldsItselfDoesNotHang) {
  EXPECT_THAT(ParseSnapshot(Close(Around().Raw("]q\x01h\x01" "a"))), IsOk());
  PickleText itself = PickleText().Op("}q").Fixed(1, 1).Op("(").Text("segments").Raw("h\x01u");
  EXPECT_THAT(ParseSnapshot(itself.Done()),
              FailsWith(StatusCode::kInvalidArgument, "segments is a dict"));
}

TEST(PickleMachineTest, StackTricksAreRefused) {
  for (const char* body : {"", "0", "1", "2", "u", "e", "s", "a", "t", "\x86", "q\x01", "}e",
                           "(u", "}(Nu", "](Nu", "N(Nae", "}(NNe", "N]a", "((]e", "}a"}) {
    EXPECT_THAT(ParseSnapshot(PickleText().Raw(body).Done()),
                FailsWith(StatusCode::kInvalidArgument, "damaged"))
        << body;
  }
  EXPECT_THAT(ParseSnapshot(PickleText().Raw("\xff").Done()),
              FailsWith(StatusCode::kInvalidArgument, "byte 255 is no opcode"));
}

TEST(PickleMachineTest, IntegersOfEveryWidthArrive) {
  const auto integer = [](absl::string_view encoded) -> std::string {
    auto read = ParseSnapshot(Close(Around().Raw(encoded)));
    if (!read.ok()) return std::string(read.status().message());
    const Value value = (*read)->root[0].value;
    return IntegerText((*read)->values, value);
  };
  EXPECT_EQ(integer("K\xff"), "255");
  EXPECT_EQ(integer("M\xff\xff"), "65535");
  EXPECT_EQ(integer("J\xff\xff\xff\xff"), "-1");
  EXPECT_EQ(integer(absl::string_view("\x8a\x00", 2)), "0");
  EXPECT_EQ(integer("\x8a\x01\x80"), "-128");
  EXPECT_EQ(integer(absl::string_view("\x8a\x08\0\0\0\0\0\0\0\x80", 10)), "-9223372036854775808");
  EXPECT_EQ(integer(absl::string_view("\x8a\x09\0\0\0\0\0\0\0\x80\0", 11)), "9223372036854775808");
  EXPECT_EQ(integer(absl::string_view("\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\0", 11)),
            "18446744073709551615");
  EXPECT_NE(integer(absl::string_view("\x8a\x09\0\0\0\0\0\0\0\0\x01", 11)).find("64 bits"),
            std::string::npos);
  EXPECT_NE(integer("\x8a\x0a" "0123456789").find("10 bytes"), std::string::npos);
}

TEST(PickleMachineTest, WhatIsNoSnapshotIsToldApart) {
  EXPECT_THAT(ParseSnapshot(""), FailsWith(StatusCode::kInvalidArgument, "empty"));
  EXPECT_THAT(ParseSnapshot("\x1f\x8b\x08"), FailsWith(StatusCode::kInvalidArgument, "gzip"));
  EXPECT_THAT(ParseSnapshot("PK\x03\x04"), FailsWith(StatusCode::kInvalidArgument, "torch.save"));
  EXPECT_THAT(ParseSnapshot("hello"), FailsWith(StatusCode::kInvalidArgument, "no allocator"));
  EXPECT_THAT(ParseSnapshot(PickleText().Op("N").Done()),
              FailsWith(StatusCode::kInvalidArgument, "holds None"));
  EXPECT_THAT(ParseSnapshot(PickleText().Op("}").Done()),
              FailsWith(StatusCode::kInvalidArgument, "no key 'segments'"));
}

}  // namespace
}  // namespace graphtree::snapshot
