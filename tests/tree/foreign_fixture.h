// For tests of foreign code, whose allocator callbacks come to the tree.
#ifndef GRAPHTREE_TESTS_TREE_FOREIGN_FIXTURE_H_
#define GRAPHTREE_TESTS_TREE_FOREIGN_FIXTURE_H_

#include <cstdint>

#include "allocator/foreign.h"
#include "tests/tree/tree_fixture.h"

namespace graphtree {

class ForeignFixture : public TreeTest {
 protected:
  static constexpr uint64_t kBytes = kWords * sizeof(uint32_t);

  ForeignAllocator& foreign() { return tree().foreign_allocator(); }
  AddressRange Allocate(Stream& stream) {
    auto address = foreign().Allocate(kBytes, stream);
    EXPECT_THAT(address, IsOk());
    return {address.value_or(0), kBytes};
  }
  void Free(AddressRange range, Stream& stream) {
    EXPECT_THAT(foreign().Free(range.base, stream), IsOk());
  }
};

}  // namespace graphtree

#endif  // GRAPHTREE_TESTS_TREE_FOREIGN_FIXTURE_H_
