// A fuzzer's bytes as a program of ledger calls, every one checked against the books' own rules and
// against a copy of the live set.
//
// The entry point is libFuzzer's. Without libFuzzer ledger_fuzz_test.cc feeds it seeded bytes.
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "allocator/books/block_record.h"
#include "allocator/books/checkpoint_tree.h"
#include "allocator/books/ledger.h"
#include "allocator/placement/placement.h"
#include "allocator/placement/run.h"
#include "allocator/placement/slab.h"
#include "device/base/check.h"

namespace graphtree {
namespace {

class Bytes {
 public:
  Bytes(const uint8_t* data, size_t size) : at_(data), end_(data + size) {}
  bool empty() const { return at_ == end_; }
  uint32_t Next() { return empty() ? 0 : *at_++; }

 private:
  const uint8_t* at_;
  const uint8_t* end_;
};

class Machine {
 public:
  void Run(Bytes bytes) {
    while (!bytes.empty()) {
      Step(bytes);
      Check();
    }
  }

 private:
  using LiveSet = std::map<uint32_t, uint32_t>;  // record to offset

  void Step(Bytes& bytes) {
    switch (bytes.Next() % 8) {
      case 0:
      case 1:
      case 2: return Allocate(bytes);
      case 3: return AllocateAt(bytes);
      case 4: return Free(bytes);
      case 5: return Take();
      case 6: return Restore(bytes);
      default: return Drop(bytes);
    }
  }

  void Enter(const Allocation& got) {
    if (got.outcome != AllocateOutcome::kAllocated) return;
    live_[got.block.index] = ledger_.record(got.block.index).offset;
  }
  void Allocate(Bytes& bytes) {
    const uint64_t magnitude = bytes.Next() % 20;
    const uint64_t size = (uint64_t{bytes.Next()} << magnitude) + bytes.Next();
    const uint64_t alignment = bytes.Next() % 4 == 0 ? uint64_t{512} << bytes.Next() % 8 : 0;
    Enter(ledger_.Allocate({.bytes = size,
                            .alignment = alignment,
                            .region = bytes.Next() % 8 == 0 ? Region::kLasting : Region::kStep,
                            .guarded = bytes.Next() % 8 == 0}));
  }
  void AllocateAt(Bytes& bytes) {
    const uint64_t offset = uint64_t{bytes.Next() << 8 | bytes.Next()} * kQuantum;
    Enter(ledger_.AllocateAt(offset, {.bytes = uint64_t{bytes.Next()} << 6}));
  }
  // Half of the handles are made up.
  void Free(Bytes& bytes) {
    const uint32_t pick = bytes.Next();
    if (pick % 2 == 0) {
      const BlockId made_up = {bytes.Next(), bytes.Next() % 4};
      const bool is_live = live_.count(made_up.index) != 0 &&
                           ledger_.IdOf(made_up.index).generation == made_up.generation;
      GRAPHTREE_CHECK((ledger_.Free(made_up, 0) == HandleState::kLive) == is_live);
      if (is_live) live_.erase(made_up.index);
    } else if (!live_.empty()) {
      auto it = live_.begin();
      std::advance(it, static_cast<long>(pick % live_.size()));
      GRAPHTREE_CHECK(ledger_.Free(ledger_.IdOf(it->first), 0) == HandleState::kLive);
      live_.erase(it);
    }
  }
  LiveSet StepBlocks() const {
    LiveSet step;
    for (const auto& [index, offset] : live_) {
      if (ledger_.record(index).region == Region::kStep) step.emplace(index, offset);
    }
    return step;
  }
  void Take() {
    if (saved_.size() < 32) saved_.emplace_back(ledger_.Take(0), StepBlocks());
  }
  void Restore(Bytes& bytes) {
    if (saved_.empty()) return;
    const auto& [node, wanted] = saved_[bytes.Next() % saved_.size()];
    std::vector<BlockId> dying;
    if (bytes.Next() % 2 == 0 && !wanted.empty()) {
      dying.push_back(ledger_.IdOf(wanted.begin()->first));
    }
    ledger_.Plan(node, {}, dying, &plan_);
    GRAPHTREE_CHECK(plan_.outcome == RestoreOutcome::kReady);
    GRAPHTREE_CHECK(ledger_.Apply(&plan_, 0) == RestoreOutcome::kReady);
    for (const auto& [index, offset] : StepBlocks()) live_.erase(index);
    for (const auto& [index, offset] : wanted) live_[index] = offset;
    for (BlockId id : dying) live_.erase(id.index);
  }
  void Drop(Bytes& bytes) {
    if (saved_.empty()) return;
    const size_t which = bytes.Next() % saved_.size();
    ledger_.Drop(saved_[which].first);
    saved_.erase(saved_.begin() + static_cast<long>(which));
  }

  void Check() const {
    ledger_.CheckConsistency();
    const uint32_t live = ledger_.placement(Region::kStep).live_count() +
                          ledger_.placement(Region::kLasting).live_count();
    GRAPHTREE_CHECK(live == live_.size()) << live << " live, " << live_.size() << " expected";
    for (const auto& [index, offset] : live_) {
      const BlockRecord& record = ledger_.record(index);
      GRAPHTREE_CHECK(record.is_live() && record.offset == offset) << "block " << index;
    }
  }

  Ledger ledger_{1u << 18, 1u << 18, 1u << 16};
  RestorePlan plan_;
  LiveSet live_;
  std::vector<std::pair<CheckpointTree::NodeId, LiveSet>> saved_;
};

}  // namespace
}  // namespace graphtree

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  graphtree::Machine().Run(graphtree::Bytes(data, size));
  return 0;
}
