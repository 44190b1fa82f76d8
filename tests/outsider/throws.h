// What a body throws where its program says so: the one file here that knows exceptions.
#ifndef GRAPHTREE_TESTS_OUTSIDER_THROWS_H_
#define GRAPHTREE_TESTS_OUTSIDER_THROWS_H_

namespace graphtree::outsider {

// Even numbers throw what the standard library knows, odd ones throw themselves.
[[noreturn]] void ThrowSomething(int what);

}  // namespace graphtree::outsider

#endif  // GRAPHTREE_TESTS_OUTSIDER_THROWS_H_
