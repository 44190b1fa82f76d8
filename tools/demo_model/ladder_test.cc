// The ladder's order, and where a budget cuts it.
#include "tools/demo_model/ladder.h"

#include <vector>

#include "gtest/gtest.h"
#include "runtime/shapes/shape_table.h"
#include "tools/demo_model/kernels/dims.h"

namespace graphtree::demo {
namespace {

TEST(LadderTest, ABudgetTakesSoManyRungsAsItHoldsTheWorthiestFirst) {
  const std::vector<Rung> whole = LadderUnder(uint64_t{1} << 30, kMostRequests);
  ASSERT_GT(whole.size(), 12u);
  for (size_t rungs = 0; rungs <= whole.size(); ++rungs) {
    const std::vector<Rung> cut = LadderUnder(rungs * RungBytes() + RungBytes() - 1, kMostRequests);
    ASSERT_EQ(cut.size(), rungs);
    for (size_t i = 0; i < rungs; ++i) EXPECT_EQ(cut[i].key, whole[i].key);
  }
  EXPECT_EQ(whole[0].key, (Key{.tokens = 16, .requests = 16, .context = 256}));
  EXPECT_FALSE(whole[0].is_prefill);
  EXPECT_TRUE(whole[1].is_prefill);
}

// Each program's rungs are shapes of one table: none stands twice, and two rungs serve every step
// that decodes.
TEST(LadderTest, EveryLadderIsAShapeTable) {
  for (int most = 1; most <= kMostRequests; ++most) {
    for (size_t rungs : {2, 6, 100}) {
      std::vector<Shape> shapes[2];
      for (const Rung& rung : LadderUnder(rungs * RungBytes(), most)) {
        std::vector<Shape>& of_program = shapes[rung.is_prefill];
        of_program.push_back({.id = of_program.size(), .key = rung.key});
      }
      ASSERT_TRUE(ShapeTable::Make({}, shapes[1]).ok()) << most;
      auto table = ShapeTable::Make({}, shapes[0]);
      ASSERT_TRUE(table.ok()) << most << ": " << table.status();
      for (uint32_t i = 0; i < table->size(); ++i) table->SetUsable(i, Why::kHit);
      for (int requests = 1; requests <= most; ++requests) {
        const Key call = {.tokens = requests, .requests = requests, .context = kPositions};
        EXPECT_TRUE(IsReplay(table->Choose(call, Modes::All()).why)) << ToString(call);
      }
    }
  }
}

}  // namespace
}  // namespace graphtree::demo
