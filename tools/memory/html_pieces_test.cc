// Pieces against a model that knows of each byte who held it and since when.
#include "tools/memory/html_pieces.h"

#include <algorithm>
#include <array>
#include <random>
#include <tuple>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace graphtree::memory {
namespace {

using ::testing::ElementsAre;
using Row = std::tuple<uint64_t, uint64_t, int64_t, int64_t>;

std::vector<Row> RowsOf(HtmlPieces& pieces) {
  std::vector<Row> rows;
  for (const HtmlPiece& piece : pieces.Take()) {
    rows.emplace_back(piece.address, piece.size, piece.start, piece.end);
  }
  return rows;
}

TEST(HtmlPiecesTest, SegmentThatComesAndGoes) {
  HtmlPieces pieces;
  pieces.Hold(100, 50, 1, {});
  pieces.Release(100, 50, 4, {});
  EXPECT_THAT(RowsOf(pieces), ElementsAre(Row{100, 50, 1, 4}));
}

TEST(HtmlPiecesTest, UnmappingTheMiddleLeavesTwo) {
  HtmlPieces pieces;
  pieces.Hold(0, 8, 1, {.pool = 3});
  pieces.Release(2, 2, 5, {});
  EXPECT_THAT(RowsOf(pieces), ElementsAre(Row{0, 8, 1, 5}, Row{0, 2, 5, -1}, Row{4, 4, 5, -1}));
}

TEST(HtmlPiecesTest, WhatNoEventMadeWasThereBefore) {
  HtmlPieces pieces;
  pieces.Release(10, 10, 3, {});
  pieces.Hold(40, 10, 4, {});
  pieces.HeldAtEnd(30, 30, {});
  EXPECT_THAT(RowsOf(pieces), ElementsAre(Row{10, 10, -1, 3}, Row{30, 10, -1, -1},
                                          Row{50, 10, -1, -1}, Row{40, 10, 4, -1}));
}

TEST(HtmlPiecesTest, RangeThatEndsBeyondAllAddressesIsCut) {
  HtmlPieces pieces;
  pieces.Hold(~uint64_t{0} - 10, 100, 0, {});
  EXPECT_THAT(RowsOf(pieces), ElementsAre(Row{~uint64_t{0} - 10, 10, 0, -1}));
}

TEST(HtmlPiecesTest, TagsFollowThePieces) {
  HtmlPieces pieces;
  pieces.Hold(0, 8, 1, {.pool = 3, .stream = 2, .stack = 9, .type = 2});
  pieces.Release(0, 4, 2, {});
  const std::vector<HtmlPiece> rows = pieces.Take();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1].tags.pool, 3u);
  EXPECT_EQ(rows[1].tags.stack, 9u);
}

constexpr int kBytes = 40;
constexpr int kEvents = 60;

// Who is held in which state, byte by byte. A byte that is released before any event held it was
// held from the start.
class Model {
 public:
  // False for what no allocator writes: a release of what is known to be free.
  bool Allows(bool holds, uint64_t from, uint64_t size, int event) const {
    for (uint64_t b = from; b < from + size; ++b) {
      if (!holds && seen_[b] && !held_[b][event]) return false;
    }
    return true;
  }
  void Apply(bool holds, uint64_t from, uint64_t size, int event) {
    for (uint64_t b = from; b < from + size; ++b) {
      if (!holds && !seen_[b]) std::fill_n(held_[b].begin(), event + 1, true);
      seen_[b] = true;
    }
    for (uint64_t b = 0; b < kBytes; ++b) {
      held_[b][event + 1] = b - from < size ? holds : held_[b][event];
    }
  }
  void Keep(int event) {
    for (auto& byte : held_) byte[event + 1] = byte[event];
  }
  bool Held(int byte, int state) const { return held_[byte][state]; }

 private:
  std::array<std::array<bool, kEvents + 1>, kBytes> held_ = {};
  std::array<bool, kBytes> seen_ = {};
};

void ExpectCovered(const std::vector<HtmlPiece>& pieces, const Model& model) {
  std::array<std::array<int, kEvents + 1>, kBytes> covered = {};
  for (const HtmlPiece& piece : pieces) {
    const int64_t last = piece.end == HtmlPiece::kNever ? kEvents : piece.end;
    for (int64_t state = piece.start + 1; state <= last; ++state) {
      for (uint64_t b = piece.address; b < piece.address + piece.size; ++b) ++covered[b][state];
    }
  }
  for (int b = 0; b < kBytes; ++b) {
    for (int state = 0; state <= kEvents; ++state) {
      ASSERT_EQ(covered[b][state], model.Held(b, state) ? 1 : 0)
          << "byte " << b << " state " << state;
    }
  }
}

TEST(HtmlPiecesTest, EveryByteIsHeldExactlyWhenTheModelSays) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 200; ++round) {
    HtmlPieces pieces;
    Model model;
    for (int event = 0; event < kEvents; ++event) {
      const uint64_t from = random() % kBytes;
      const uint64_t size = 1 + random() % std::min<uint64_t>(kBytes - from, 12);
      const bool holds = random() % 2 == 0;
      if (!model.Allows(holds, from, size, event)) {
        model.Keep(event);
        continue;
      }
      model.Apply(holds, from, size, event);
      holds ? pieces.Hold(from, size, event, {}) : pieces.Release(from, size, event, {});
    }
    ExpectCovered(pieces.Take(), model);
  }
}

}  // namespace
}  // namespace graphtree::memory
