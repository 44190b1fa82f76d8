// Memory of a caller's that is taken away under the tree's hands, and put back.
#ifndef GRAPHTREE_TESTS_TREE_FLEETING_MEMORY_H_
#define GRAPHTREE_TESTS_TREE_FLEETING_MEMORY_H_

#include <memory>
#include <utility>

#include "device/address.h"
#include "device/base/status_matchers.h"
#include "device/memory.h"
#include "gtest/gtest.h"

namespace graphtree {

// One granule, from Open to Close. Every failure fails the test.
class FleetingMemory {
 public:
  // At `wish` where that is free; 0: anywhere.
  void Open(Memory& memory, Address wish = 0) {
    memory_ = &memory;
    auto range = memory.Reserve(memory.granularity(), {.alignment = 0, .wished_base = wish});
    EXPECT_THAT(range, IsOk());
    piece_ = *range;
    Map();
  }
  // REQUIRES: nothing uses it any more.
  void Close() {
    if (memory_ == nullptr) return;
    Unmap();
    EXPECT_THAT(memory_->Release(piece_), IsOk());
    memory_ = nullptr;
  }
  Address base() const { return piece_.base; }

  void Map() {
    auto physical = memory_->Create(memory_->granularity());
    ASSERT_THAT(physical, IsOk());
    physical_ = *std::move(physical);
    ASSERT_THAT(memory_->Map(piece_.base, *physical_), IsOk());
    ASSERT_THAT(memory_->SetAccess(piece_, MemoryAccess::kReadWrite), IsOk());
  }
  void Unmap() {
    if (physical_ == nullptr) return;
    EXPECT_THAT(memory_->Unmap(piece_), IsOk());
    physical_.reset();
  }

 private:
  Memory* memory_ = nullptr;
  AddressRange piece_;
  std::unique_ptr<PhysicalMemory> physical_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_TESTS_TREE_FLEETING_MEMORY_H_
