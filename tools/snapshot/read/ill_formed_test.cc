// Texts that are not UTF-8 are found wherever they stand, each once; raw bytes are no texts.
#include "tools/snapshot/read/ill_formed.h"

#include <memory>
#include <string>

#include "device/base/status_matchers.h"
#include "gtest/gtest.h"
#include "tools/snapshot/read/pickle_text.h"
#include "tools/snapshot/read/read.h"

namespace graphtree::snapshot {
namespace {

constexpr char kBad[] = "a\xff.py";
constexpr char kCut[] = "b\xc3";
constexpr char kHalfAndCut[] = "b\xed\xb3\xbf\xc3";
constexpr char kHalf[] = "b\xed\xb3\xbf.py";  // what Python writes for a byte it could not decode

// One entry with a frame, and a part of the file's own.
struct Texts {
  std::string action = "alloc";
  std::string file = "a.py";
  std::string note = "fine";
  std::string bytes = "fine";
};

IllFormedTexts Find(const Texts& texts) {
  PickleText text;
  text.Op("}(").Text("segments").Op("]").Text("device_traces").Op("](]](}(");
  text.Text("action").Text(texts.action).Text("frames").Op("](}(");
  text.Text("name").Text("f").Text("filename").Text(texts.file).Text("line").Op("K\x01");
  text.Op("ueuee").Text("mine").Op("](").Text(texts.note);
  text.Raw("C").Fixed(texts.bytes.size(), 1).Raw(texts.bytes).Op("eu");
  const auto read = ParseSnapshot(text.Done());
  EXPECT_THAT(read, IsOk());
  return read.ok() ? FindIllFormedTexts(**read) : IllFormedTexts();
}

TEST(IllFormedTextsTest, NothingIsFoundWhereAllIsUtf8) {
  EXPECT_EQ(Find({}).count, 0u);
  EXPECT_EQ(Find({}).first, "");
  EXPECT_EQ(Find({.file = kHalf}).count, 0u);
  EXPECT_EQ(Find({.file = "\xc3\xa4 \xf0\x9f\x98\x80.py"}).count, 0u);
}

TEST(IllFormedTextsTest, TheFirstPlaceIsNamed) {
  EXPECT_EQ(Find({.action = kBad}).first, "device_traces[1][0].action");
  EXPECT_EQ(Find({.file = kBad}).first, "device_traces[1][0].frames[0].filename");
  EXPECT_EQ(Find({.file = kHalfAndCut}).first, "device_traces[1][0].frames[0].filename");
  EXPECT_EQ(Find({.note = kBad}).first, "a part that this program does not know");
}

TEST(IllFormedTextsTest, EachTextCountsOnce) {
  EXPECT_EQ(Find({.action = kBad, .file = kBad, .note = kCut}).count, 2u);
}

TEST(IllFormedTextsTest, RawBytesAreNoText) { EXPECT_EQ(Find({.bytes = kBad}).count, 0u); }

}  // namespace
}  // namespace graphtree::snapshot
