// Over the pool's own parking, inside of looks into the tree.
#include "runtime/core/parked_pool.h"

#include <chrono>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "allocator/ids.h"
#include "allocator/pool.h"
#include "device/address.h"
#include "device/base/status_macros.h"
#include "device/observer.h"
#include "graphs/tree.h"

namespace graphtree {
namespace {

constexpr Region kRegions[] = {Region::kStep, Region::kLasting};

// Others may write meanwhile to what they have registered.
bool IsPinned(const PieceRow& row, AddressRange range) {
  const uint64_t begin = range.base - row.addresses().base;
  for (uint32_t i = row.PieceAt(begin); i <= row.PieceAt(begin + range.bytes - 1); ++i) {
    if (row.piece(i).pins > 0) return true;
  }
  return false;
}

// Cut where a checking device would stop an op.
void AddLive(const Pool& pool, Region region, std::vector<AddressRange>* ranges) {
  const auto& ledger = pool.ledger();
  for (uint32_t index = 0; index < ledger.record_count(); ++index) {
    const auto& record = ledger.record(index);
    if (!record.in_use || !record.is_live() || record.region != region) continue;
    const AddressRange block = pool.arena().UserRange(record);
    if (block.empty() || IsPinned(pool.row(region), block)) continue;
    const std::vector<AddressRange> parts = pool.arena().memory().UsableParts(block);
    ranges->insert(ranges->end(), parts.begin(), parts.end());
  }
}

// The bytes that are to come back, or to stay.
std::vector<AddressRange> ToCheck(const Pool& pool, Contents contents) {
  std::vector<AddressRange> ranges;
  if (contents != Contents::kDrop) AddLive(pool, Region::kStep, &ranges);
  AddLive(pool, Region::kLasting, &ranges);
  return ranges;
}

}  // namespace

absl::Status ParkedPool::Park(Contents contents) {
  Tree& tree = *lane_.tree;
  ToldPhase told(tree.observers(), Phase::kPark, "");
  canaries_ = Canaries();
  stays_ = contents == Contents::kPinned;
  calls_before_ = tree.stats().calls;
  if (contents == Contents::kDrop) tree.BeginStep();
  absl::Status status;
  tree.Inspect([&] { status = ParkInside(contents); });
  if (status.ok() && contents != Contents::kPinned) status = AwaitParked();
  return told.Ended(status);
}

absl::Status ParkedPool::ParkInside(Contents contents) {
  Pool& pool = lane_.tree->pool();
  GRAPHTREE_RETURN_IF_ERROR(pool.FreeQueued());
  GRAPHTREE_RETURN_IF_ERROR(pool.streams().Wait());
  GRAPHTREE_ASSIGN_OR_RETURN(canaries_, Canaries::Take(lane_.device, ToCheck(pool, contents)));
  if (contents == Contents::kPinned) return absl::OkStatus();
  if (contents == Contents::kKeep) return pool.parking().Park(ParkContents::kToHost);
  if (pool.Stats().lasting_bytes > 0) {
    const AddressRange lasting = pool.arena().range_of(Region::kLasting);
    GRAPHTREE_RETURN_IF_ERROR(pool.parking().Park(ParkContents::kToHost, {&lasting, 1}));
  }
  return pool.parking().Park(ParkContents::kDrop);
}

// The pool queues a park while a capture is open on the device, or while a call of another tree
// uses its memory: one that another thread has begun a moment ago. Nobody waits inside of the tree,
// as that call may look into it.
absl::Status ParkedPool::AwaitParked() {
  Tree& tree = *lane_.tree;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (!tree.pool().parking().is_parked()) {
    if (std::chrono::steady_clock::now() > end) {
      return absl::UnavailableError(absl::StrCat(
          "a capture, or a call of another lane that uses its memory, goes on; park lane ",
          lane_.number, " once that has ended"));
    }
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    tree.Inspect([&] { tree.pool().parking().ParkIfDue(); });
  }
  return absl::OkStatus();
}

absl::Status ParkedPool::Wake() {
  Tree& tree = *lane_.tree;
  ToldPhase told(tree.observers(), Phase::kPark, "");
  absl::Status status;
  tree.Inspect([&] {
    Pool& pool = tree.pool();
    if (pool.parking().has_parked_or_will()) pool.parking().ParkIfDue();
    if (!pool.parking().has_parked_or_will()) return;
    status = pool.parking().Wake();
    if (status.ok() && pool.parking().has_parked_or_will()) {
      status = absl::UnavailableError("a capture is open; wake it once that has ended");
    }
  });
  return told.Ended(status);
}

absl::Status ParkedPool::Check() {
  absl::Status status;
  lane_.tree->Inspect([&] {
    Pool& pool = lane_.tree->pool();
    status = pool.FreeQueued();
    if (status.ok()) status = pool.streams().Wait();
    if (!status.ok()) return;
    canaries_.KeepOnly(ToCheck(pool, Contents::kKeep));
    status = canaries_.Check(lane_.device, absl::StrCat("the pool of lane ", lane_.number));
  });
  if (!absl::IsDataLoss(status)) return status;
  const bool was_called = stays_ && lane_.tree->stats().calls != calls_before_;
  return was_called ? absl::OkStatus() : status;
}

uint64_t ParkedPool::bytes_to_wake() const {
  uint64_t bytes = 0;
  lane_.tree->Inspect([&] { bytes = lane_.tree->pool().Stats().parked_bytes; });
  return bytes;
}

uint64_t ParkedPool::saved_bytes() const {
  uint64_t bytes = 0;
  lane_.tree->Inspect([&] {
    const Pool& pool = lane_.tree->pool();
    for (const Region region : kRegions) {
      const PieceRow& row = pool.row(region);
      for (uint32_t i = 0; i < row.count(); ++i) {
        if (row.piece(i).saved != nullptr) bytes += row.piece(i).saved->bytes();
      }
    }
  });
  return bytes;
}

}  // namespace graphtree
