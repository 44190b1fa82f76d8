// The keys of rows and of dictionaries, and texts from outside.
#include "allocator/snapshot/dict_maker.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "allocator/snapshot/fields.h"
#include "allocator/snapshot/snapshot.h"
#include "allocator/snapshot/value.h"
#include "allocator/snapshot/words.h"
#include "gtest/gtest.h"

namespace graphtree::snapshot {
namespace {

TEST(DictMakerTest, ARowHasItsColumnsAndItsExtrasInTheOrderOfTheirKeys) {
  Snapshot snapshot;
  Block block{.address = 512, .size = 1024};
  DictMaker(snapshot)
      .Columns({words::kSize})
      .Text("tag", "weights")
      .Columns({words::kAddress})
      .Bool("kept", true)
      .KeysInto(block);
  std::vector<std::string> keys;
  std::vector<Field> fields;
  VisitFields(snapshot, block, [&](StringId key, const Field& field) {
    keys.emplace_back(snapshot.Text(key));
    fields.push_back(field);
  });
  ASSERT_EQ(keys, (std::vector<std::string>{"size", "tag", "address", "kept"}));
  EXPECT_EQ(fields[0].number, 1024u);
  EXPECT_EQ(snapshot.Text(fields[1].value.id()), "weights");
  EXPECT_EQ(fields[2].number, 512u);
  EXPECT_EQ(fields[3].value, Value(Value::kBool, 1));
}

TEST(DictMakerTest, ARowOfColumnsOnlyHasNoExtras) {
  Snapshot snapshot;
  Block block;
  DictMaker(snapshot).Columns({words::kAddress, words::kSize}).KeysInto(block);
  EXPECT_EQ(block.extras, 0u);
  EXPECT_TRUE(snapshot.HasKey(block.shape, words::kSize));
  EXPECT_FALSE(snapshot.HasKey(block.shape, words::kState));
}

TEST(DictMakerTest, ADictionaryKeepsNumbersOfEveryWidth) {
  Snapshot snapshot;
  const Value dict = DictMaker(snapshot)
                         .Integer("least", INT64_MIN)
                         .Unsigned("most", UINT64_MAX)
                         .Add("nothing", Value())
                         .Dict();
  const auto get = [&](absl::string_view key) {
    return *snapshot.values.Get(dict, snapshot.strings.Find(key));
  };
  EXPECT_EQ(snapshot.values.AsInteger(get("least")), INT64_MIN);
  EXPECT_EQ(snapshot.values.AsUnsigned(get("most")), UINT64_MAX);
  EXPECT_TRUE(get("nothing").is(Value::kNone));
}

TEST(DictMakerTest, BytesThatAreNoUtf8AreReplaced) {
  Snapshot snapshot;
  EXPECT_EQ(snapshot.Text(InternText(snapshot, "a\xFF")), "a\xEF\xBF\xBD");
  EXPECT_EQ(InternText(snapshot, "segments"), words::kSegments);
}

}  // namespace
}  // namespace graphtree::snapshot
