// What is packed comes back, and takes the bytes that it should.
#include "tools/memory/html_columns.h"

#include <limits>
#include <random>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/memory/html_unpack.h"

namespace graphtree::memory {
namespace {

using ::testing::HasSubstr;

class HtmlColumnsTest : public ::testing::Test {
 protected:
  std::string Plain(const std::vector<uint64_t>& values) {
    JsonWriter json;
    json.BeginObject();
    columns_.Plain("c", values, json);
    return json.EndObject().text();
  }
  std::string Delta(const std::vector<uint64_t>& values) {
    JsonWriter json;
    json.BeginObject();
    columns_.Delta("c", values, json);
    return json.EndObject().text();
  }

  HtmlColumns columns_;
};

TEST_F(HtmlColumnsTest, BytesAreThoseOfTheFormat) {
  EXPECT_EQ(Plain({300, 5}), R"({"c":{"kind":"plain","offset":0,"length":3,"count":2}})");
  EXPECT_EQ(Delta({10, 9, 10}), R"({"c":{"kind":"delta","offset":3,"length":3,"count":3}})");
  EXPECT_EQ(columns_.bytes(), std::string("\xac\x02\x05\x14\x01\x02", 6));
}

TEST_F(HtmlColumnsTest, OneValueThroughoutTakesNoBytes) {
  EXPECT_EQ(Plain({7, 7, 7}), R"({"c":{"kind":"constant","value":7,"count":3}})");
  EXPECT_THAT(Plain({}), HasSubstr(R"("count":0)"));
  EXPECT_EQ(columns_.bytes(), "");
}

TEST_F(HtmlColumnsTest, EveryNumberComesBack) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  std::vector<uint64_t> values = {0, 127, 128, std::numeric_limits<uint64_t>::max(), 0, 1};
  for (int i = 0; i < 2000; ++i) values.push_back(random() >> (random() % 64));
  Plain(values);
  const size_t length = columns_.bytes().size();
  EXPECT_EQ(Unpack(columns_.bytes().substr(0, length), values.size()), values);
  Delta(values);
  EXPECT_EQ(UndoDeltas(Unpack(columns_.bytes().substr(length), values.size())), values);
}

}  // namespace
}  // namespace graphtree::memory
