// Structs from the past, from the future, and that nobody has set.
#include "runtime/c/read_options.h"

#include <cstdint>

#include "device/base/status_matchers.h"
#include "gtest/gtest.h"

namespace graphtree::c {
namespace {

struct Options {
  size_t size;
  uint64_t first;
  uint64_t second;
};
struct Newer {
  Options old;
  uint64_t third;
};

TEST(ReadOptionsTest, NoneAreDefaults) {
  Options read = {1, 2, 3};
  EXPECT_THAT(ReadOptions<Options>(nullptr, "options", &read), IsOk());
  EXPECT_EQ(read.size, sizeof(Options));
  EXPECT_EQ(read.first, 0u);
  EXPECT_EQ(read.second, 0u);
}

TEST(ReadOptionsTest, OneFromThePastGetsDefaults) {
  const Options given = {2 * sizeof(size_t), 7, 8};
  Options read;
  EXPECT_THAT(ReadOptions(&given, "options", &read), IsOk());
  EXPECT_EQ(read.first, 7u);
  EXPECT_EQ(read.second, 0u);
  EXPECT_EQ(read.size, sizeof(Options));
}

TEST(ReadOptionsTest, OneFromTheFutureIsReadWhereItAsksForNothingNew) {
  Newer given = {{sizeof(Newer), 7, 8}, 0};
  Options read;
  EXPECT_THAT(ReadOptions(&given.old, "options", &read), IsOk());
  EXPECT_EQ(read.second, 8u);
  given.third = uint64_t{1} << 40;
  EXPECT_THAT(ReadOptions(&given.old, "options", &read),
              FailsWith(absl::StatusCode::kUnimplemented, "options has 32 bytes and sets byte 29"));
}

TEST(ReadOptionsTest, OneThatNobodyHasSet) {
  Options read;
  for (const size_t size : {size_t{0}, size_t{7}, size_t{12}, size_t{1} << 40, ~size_t{0}}) {
    const Options given = {size, 1, 1};
    EXPECT_THAT(ReadOptions(&given, "options", &read),
                FailsWith(absl::StatusCode::kInvalidArgument, "here that is 24"));
  }
}

struct WithReserved {
  size_t size;
  int32_t first;
  int32_t reserved;
};

TEST(ReadOptionsTest, AReservedFieldIsZero) {
  WithReserved given = {sizeof(WithReserved), 7, 0}, read;
  EXPECT_THAT(ReadOptions(&given, "options", &read), IsOk());
  EXPECT_EQ(read.first, 7);
  given.reserved = -3;
  EXPECT_THAT(ReadOptions(&given, "options", &read),
              FailsWith(absl::StatusCode::kInvalidArgument, "options.reserved is -3"));
  // A caller whose struct ends before it has not set it.
  given.size = sizeof(size_t);
  EXPECT_THAT(ReadOptions(&given, "options", &read), IsOk());
}

TEST(WriteFiguresTest, AsMuchAsTheCallerKnows) {
  const Options figures = {sizeof(Options), 7, 8};
  Options older = {2 * sizeof(size_t), 0, 99};
  EXPECT_THAT(WriteFigures(figures, "figures", &older), IsOk());
  EXPECT_EQ(older.first, 7u);
  EXPECT_EQ(older.second, 99u) << "beyond what the caller has";
  EXPECT_EQ(older.size, 2 * sizeof(size_t));
  Newer newer = {{sizeof(Newer), 0, 0}, 99};
  EXPECT_THAT(WriteFigures(figures, "figures", &newer.old), IsOk());
  EXPECT_EQ(newer.old.second, 8u);
  EXPECT_EQ(newer.third, 0u);
  Options unset = {0, 0, 0};
  EXPECT_THAT(WriteFigures(figures, "figures", &unset),
              FailsWith(absl::StatusCode::kInvalidArgument, "figures says that it has 0 bytes"));
  EXPECT_THAT(WriteFigures<Options>(figures, "figures", nullptr),
              FailsWith(absl::StatusCode::kInvalidArgument, "no figures"));
}

}  // namespace
}  // namespace graphtree::c
