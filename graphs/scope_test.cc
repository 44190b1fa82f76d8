// Scopes on stacks.
#include "graphs/scope.h"

#include "gtest/gtest.h"

namespace graphtree {
namespace {

TEST(ScopeTest, TheInnerComesFirst) {
  ScopeStack stack;
  EXPECT_EQ(stack.text(), "");
  EXPECT_TRUE(stack.empty());
  {
    const NamedScope layer(stack, "layer 3");
    EXPECT_EQ(stack.text(), "layer 3");
    {
      const NamedScope attention(stack, "attention");
      EXPECT_EQ(stack.text(), "attention;layer 3");
    }
    EXPECT_EQ(stack.text(), "layer 3");
  }
  EXPECT_TRUE(stack.empty());
}

TEST(ScopeTest, NamesAreOneLineAndOneScope) {
  ScopeStack stack;
  const NamedScope scope(stack, "a;b\nc");
  EXPECT_EQ(stack.text(), "a,b\\nc");
}

TEST(ScopeTest, PoppingNothingDoesNothing) {
  ScopeStack stack;
  stack.Pop();
  EXPECT_EQ(stack.text(), "");
}

TEST(ScopeTest, EitherSideMayBeEmpty) {
  EXPECT_EQ(JoinedScopes("", ""), "");
  EXPECT_EQ(JoinedScopes("a", ""), "a");
  EXPECT_EQ(JoinedScopes("", "b"), "b");
  EXPECT_EQ(JoinedScopes("a", "b;c"), "a;b;c");
}

}  // namespace
}  // namespace graphtree
