// The page's data for small snapshots, number by number, and the page around it.
#include "tools/memory/html_page.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "device/base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/memory/html_unpack.h"
#include "tools/snapshot/read/read.h"

namespace graphtree::memory {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Numbers = std::vector<uint64_t>;

// Entries of a trace: [action, addr, size], at times 100, 110, ...
struct Event {
  std::string action;
  uint64_t addr = 0;
  uint64_t size = 0;
  std::string more = "";
};

std::string TraceText(const std::vector<Event>& events) {
  std::string text;
  int time = 100;
  for (const Event& event : events) {
    absl::StrAppend(&text, text.empty() ? "" : ",", R"({"action":")", event.action,
                    event.action == "oom" ? R"(","device_free":)" : R"(","addr":)", event.addr,
                    R"(,"size":)", event.size, R"(,"stream":7,"time_us":)", time, event.more, "}");
    time += 10;
  }
  return text;
}

std::string SnapshotText(const std::vector<Event>& events, const std::string& segments = "") {
  return absl::StrCat(R"({"segments":[)", segments, R"(],"device_traces":[[)", TraceText(events),
                      R"(]],"allocator_settings":{"expandable_segments":true}})");
}

class HtmlPageTest : public ::testing::Test {
 protected:
  void Render(const std::string& json) {
    auto parsed = snapshot::ParseSnapshot(json);
    ASSERT_THAT(parsed, IsOk());
    snapshot_ = *std::move(parsed);
    data_ = RenderHtmlData({{"file.pickle", snapshot_.get()}});
  }

  // The number after `key` in the directory, from a place on.
  uint64_t NumberAfter(const std::string& key, size_t from) const {
    const size_t at = data_.directory.find(absl::StrCat("\"", key, "\":"), from);
    EXPECT_NE(at, std::string::npos) << key;
    uint64_t number = 0;
    const std::string text = data_.directory.substr(at + key.size() + 3);
    EXPECT_TRUE(absl::SimpleAtoi(text.substr(0, text.find_first_of(",}")), &number)) << text;
    return number;
  }

  Numbers Column(const std::string& name) const {
    const size_t at = data_.directory.find(absl::StrCat("\"", name, "\":{"));
    EXPECT_NE(at, std::string::npos) << name;
    const uint64_t count = NumberAfter("count", at);
    const std::string kind = data_.directory.substr(at, data_.directory.find('}', at) - at);
    if (absl::StrContains(kind, "constant")) return Numbers(count, NumberAfter("value", at));
    const std::string bytes =
        data_.columns.substr(NumberAfter("offset", at), NumberAfter("length", at));
    const Numbers values = Unpack(bytes, count);
    return absl::StrContains(kind, "delta") ? UndoDeltas(values) : values;
  }

  std::unique_ptr<snapshot::Snapshot> snapshot_;
  HtmlData data_;
};

TEST_F(HtmlPageTest, LifeOfOneAllocation) {
  Render(SnapshotText({{"segment_alloc", 8192, 4096},
                       {"alloc", 8192, 512},
                       {"free_requested", 8192, 512},
                       {"alloc", 9216, 100},
                       {"free_completed", 8192, 512}}));
  EXPECT_THAT(Column("event_time"), ElementsAre(0, 10, 20, 30, 40));
  EXPECT_THAT(Column("event_kind"), ElementsAre(4, 0, 1, 0, 2));
  EXPECT_THAT(Column("allocation_start"), ElementsAre(2, 4));  // one more than the event
  EXPECT_THAT(Column("allocation_end"), ElementsAre(3, 0));    // distance from the start
  EXPECT_THAT(Column("allocation_requested"), ElementsAre(1, 0));
  EXPECT_THAT(Column("allocation_size"), ElementsAre(512, 100));
  EXPECT_EQ(NumberAfter("address_unit", 0), 1024u);
  EXPECT_THAT(Column("allocation_address"), ElementsAre(0, 1));
  EXPECT_THAT(data_.directory, HasSubstr(R"("address_base":"8192")"));
  EXPECT_THAT(Column("piece_size"), ElementsAre(4096));
  EXPECT_THAT(data_.directory, HasSubstr(R"("streams":["7"])"));
  EXPECT_THAT(data_.directory, HasSubstr(R"(["expandable_segments","true"])"));
}

TEST_F(HtmlPageTest, LostHistoryIsSaidAndDrawnFromTheStart) {
  Render(SnapshotText({{"free_requested", 512, 100}, {"free_completed", 512, 100}}));
  EXPECT_THAT(Column("allocation_start"), ElementsAre(0));  // before the history
  EXPECT_THAT(Column("allocation_requested"), ElementsAre(1));
  EXPECT_THAT(Column("allocation_end"), ElementsAre(2));
  EXPECT_THAT(data_.directory, HasSubstr("not complete"));
}

TEST_F(HtmlPageTest, LostFreeGetsAnEventOfItsOwn) {
  Render(SnapshotText({{"alloc", 512, 100}, {"alloc", 512, 200}, {"snapshot", 0, 0}}));
  EXPECT_THAT(Column("event_kind"), ElementsAre(0, 3, 0, 8));
  EXPECT_THAT(Column("event_time"), ElementsAre(0, 10, 10, 20));
  EXPECT_THAT(Column("allocation_start"), ElementsAre(1, 3));
  EXPECT_THAT(Column("allocation_end"), ElementsAre(1, 0));
  EXPECT_THAT(data_.directory, HasSubstr(R"("markers":[{"event":3,"kind":"snapshot")"));
}

TEST_F(HtmlPageTest, PlaceholdersAreNotDrawn) {
  const std::string tag = R"(,"internal_metadata":"mallocWithAddress")";
  Render(SnapshotText({{"alloc", 512, 1 << 20, tag},
                       {"alloc", 2 << 20, 100, tag},
                       {"free_requested", 512, 1 << 20, tag},
                       {"free_completed", 512, 1 << 20, tag}}));
  EXPECT_THAT(Column("allocation_size"), ElementsAre(100));
  EXPECT_THAT(Column("event_kind"), ElementsAre(11, 0, 11, 11));
}

TEST_F(HtmlPageTest, FailuresNotesNodesAndUnknownActions) {
  Render(SnapshotText({{"alloc", 512, 100, R"(,"node":4,"pool_id":[3,0])"},
                       {"annotate", 512, 100, R"(,"user_metadata":"weights")"},
                       {"oom", 777, 1 << 20},
                       {"brand_new", 0, 0}}));
  EXPECT_THAT(data_.directory, HasSubstr(R"("notes":[[0,["weights"]]])"));
  EXPECT_THAT(data_.directory, HasSubstr(R"("kind":"oom","size":1048576,"free":777)"));
  EXPECT_THAT(data_.directory, HasSubstr(R"("kind":"brand_new")"));
  EXPECT_THAT(data_.directory, HasSubstr(R"("nodes":["node 4"])"));
  EXPECT_THAT(data_.directory, HasSubstr(R"("pools":[[3,0]])"));
  EXPECT_THAT(Column("allocation_node"), ElementsAre(1));
}

TEST_F(HtmlPageTest, NodesAndFunctionsOfBlocksAtTheEnd) {
  const auto block = [](int address, const std::string& more) {
    return absl::StrCat(R"({"address":)", address, R"(,"size":512,"requested_size":500,)",
                        R"("state":"active_allocated","frames":[])", more, "}");
  };
  Render(SnapshotText(
      {{"alloc", 512, 500}},
      absl::StrCat(R"({"device":0,"address":512,"total_size":2048,"stream":0,)",
                   R"("segment_type":"large","segment_pool_id":[0,1],"is_expandable":true,)",
                   R"("frames":[],"blocks":[)",
                   block(512, R"(,"node":"root/2","function":"decode")"), ",",
                   block(1024, R"(,"node":"root/2","function":"decode")"), ",",
                   block(1536, R"(,"function":"prefill")"), ",", block(2048, ""), "]}")));
  EXPECT_THAT(data_.directory, HasSubstr(R"("nodes":["root/2, decode","prefill"])"));
  EXPECT_THAT(Column("allocation_node"), ElementsAre(1, 2, 0, 1));  // those of before come first
}

TEST_F(HtmlPageTest, StacksShareTheirOuterFrames) {
  const auto frames = [](const std::string& inner) {
    return absl::StrCat(
        R"(,"frames":[{"name":")", inner,
        R"(","filename":"a.py","line":3},{"name":"main","filename":"a.py","line":9}])");
  };
  Render(SnapshotText({{"alloc", 512, 1, frames("f")}, {"alloc", 1024, 1, frames("g")},
                       {"alloc", 1536, 1, frames("f")}}));
  EXPECT_THAT(Column("stack_parent"), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(Column("stack_frame"), ElementsAre(0, 0, 1, 2));
  EXPECT_THAT(Column("allocation_stack"), ElementsAre(2, 3, 2));
  EXPECT_THAT(Column("frame_words"), ElementsAre(1, 2, 9, 3, 2, 3, 4, 2, 3));
  EXPECT_THAT(data_.directory, HasSubstr(R"("strings":["","main","a.py","f","g"])"));
}

TEST_F(HtmlPageTest, RangesArePairedByNameAndNest) {
  Render(absl::StrCat(
      R"({"segments":[],"device_traces":[[)", TraceText({{"alloc", 512, 1}}), R"(]],)",
      R"("external_annotations":[)",
      R"({"name":"s","stage":"START","device":0,"time_us":110},)",
      R"({"name":"s","stage":"START","device":0,"time_us":120},)",
      R"({"name":"s","stage":"END","device":0,"time_us":130},)",
      R"({"name":"s","stage":"END","device":0,"time_us":140},)",
      R"({"name":"s","stage":"END","device":0,"time_us":150},)",
      R"({"name":"t","stage":"START","device":1,"time_us":150}]})"));
  EXPECT_THAT(data_.directory, HasSubstr(R"("ranges":[["s",20,30],["s",10,40]])"));
}

TEST_F(HtmlPageTest, TextsFromTheFileCannotEndTheScript) {
  Render(SnapshotText({{"alloc", 512, 1, R"x(,"user_metadata":"</script><script>alert(1)")x"}}));
  const PageParts parts = {"<title>@TITLE@</title>@STYLE@|@DIRECTORY@|@COLUMNS@|@SCRIPT@", "s{}",
                           "run(@STYLE@)", ""};
  const auto page = RenderHtml({{"<b>.pickle", snapshot_.get()}}, parts);
  ASSERT_THAT(page, IsOk());
  EXPECT_THAT(*page, Not(HasSubstr("</script>")));
  EXPECT_THAT(*page, HasSubstr(R"x(\u003c/script>\u003cscript>alert(1))x"));
  EXPECT_THAT(*page, HasSubstr("<title>&lt;b&gt;.pickle</title>s{}|"));
  EXPECT_THAT(*page, HasSubstr("|run(@STYLE@)")) << "what is filled in is not looked at again";
}

TEST_F(HtmlPageTest, BinaryWithoutThePageSaysSo) {
  EXPECT_THAT(RenderHtml({}, {"", "", "", "no bundler"}),
              FailsWith(absl::StatusCode::kFailedPrecondition, "without its page: no bundler"));
}

TEST_F(HtmlPageTest, SameSnapshotSamePage) {
  const std::string text = SnapshotText({{"alloc", 512, 1, R"(,"user_metadata":"m")"},
                                         {"annotate", 512, 1, R"(,"user_metadata":"n")"}});
  Render(text);
  const HtmlData first = data_;
  Render(text);
  EXPECT_EQ(first.directory, data_.directory);
  EXPECT_EQ(first.columns, data_.columns);
}

}  // namespace
}  // namespace graphtree::memory
