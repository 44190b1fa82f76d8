// Interning: equal is one id, different is another, and a full table says so.
#include "profiler/trace/tables.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "profiler/trace/records.h"

namespace graphtree::trace {
namespace {

TEST(TraceTablesTest, EqualTextsHaveOneId) {
  TraceTables tables;
  const TextId id = tables.Text("norm");
  EXPECT_EQ(tables.Text(std::string("no") + "rm"), id);
  EXPECT_NE(tables.Text("norm "), id);
  EXPECT_EQ(tables.text(id), "norm");
  EXPECT_EQ(tables.Text(""), 0u);
}

TEST(TraceTablesTest, TextsStayWhereTheyAre) {
  TraceTables tables;
  const TextId first = tables.Text("first");
  const char* const place = tables.text(first).data();
  for (int i = 0; i < 100000; ++i) tables.Text(absl::StrCat("text ", i));
  EXPECT_EQ(tables.text(first).data(), place);
  EXPECT_EQ(tables.Text("text 99999"), tables.Text("text 99999"));
  EXPECT_EQ(tables.text(tables.Text("text 512")), "text 512");
}

TEST(TraceTablesTest, EveryFieldTellsIdentitiesApart) {
  TraceTables tables;
  const Identity plain = {.name = tables.Text("norm"), .grid = {1, 2, 3}};
  const IdentityId id = tables.Intern(plain);
  EXPECT_EQ(tables.Intern(plain), id);
  Identity other = plain;
  other.tree_node = 0;
  EXPECT_NE(tables.Intern(other), id);
  other = plain;
  other.block.z = 1;
  EXPECT_NE(tables.Intern(other), id);
  EXPECT_EQ(tables.Intern({}), 0u);
  EXPECT_EQ(tables.identity(id).grid.z, 3u);
}

TEST(TraceTablesTest, FullTablesSayTooManyAndCountIt) {
  TraceTables tables({.text_bytes = 1 << 20, .texts = 10, .identities = 4});
  for (int i = 0; i < 100; ++i) {
    const TextId id = tables.Text(absl::StrCat("text ", i));
    tables.Intern({.name = id, .grid = {static_cast<uint32_t>(i), 1, 1}});
  }
  EXPECT_EQ(tables.text_count(), 10u);
  EXPECT_EQ(tables.identity_count(), 4u);
  EXPECT_EQ(tables.text(tables.Text("text 99")), TraceTables::kTooMany);
  EXPECT_EQ(tables.text(tables.Text("text 1")), "text 1");
  EXPECT_EQ(tables.overflowed(), 92u + 98u + 1u);
}

TEST(TraceTablesTest, BytesOfTextsAreBounded) {
  TraceTables tables({.text_bytes = 1 << 20});
  for (int i = 0; i < 100; ++i) tables.Text(std::string(100000, 'a') + absl::StrCat(i));
  EXPECT_GT(tables.overflowed(), 80u);
  EXPECT_LT(tables.bytes(), 2u << 20);
}

}  // namespace
}  // namespace graphtree::trace
