// Blocks joined with their lives, and lives cut at a moment.
#include "tools/snapshot/analysis/holdings.h"

#include "absl/container/flat_hash_map.h"

namespace graphtree::snapshot {
namespace {

using NotesByAllocation = absl::flat_hash_map<uint32_t, std::vector<StringId>>;

// The life that began with an alloc, of one that a restore brought back: notes outlast restores.
uint32_t FirstLife(const DeviceHistory& history, uint32_t index) {
  const uint32_t alloc = history.allocations[index].alloc;
  return alloc == kNever ? index : history.allocation[alloc];
}

NotesByAllocation NotesOf(const Snapshot& snapshot, const DeviceHistory& history,
                          uint32_t last_event) {
  NotesByAllocation notes;
  for (const Note& note : history.notes) {
    if (note.allocation == kNever || note.event > last_event) continue;
    const StringId text = history.Entry(snapshot, note.event).user_metadata;
    notes[FirstLife(history, note.allocation)].push_back(text);
  }
  return notes;
}

void AddLife(const DeviceHistory& history, uint32_t index, const NotesByAllocation& notes,
             Holding& holding) {
  const Allocation& life = history.allocations[index];
  holding.allocation = index;
  holding.user_metadata = life.user_metadata;
  holding.compile_context = life.compile_context;
  const auto found = notes.find(FirstLife(history, index));
  if (found != notes.end()) holding.notes = found->second;
}

}  // namespace

std::vector<Holding> HoldingsAtEnd(const Snapshot& snapshot, const Side& side,
                                   const std::vector<DeviceHistory>& histories) {
  std::vector<Holding> holdings;
  absl::flat_hash_map<uint32_t, size_t> by_block;
  for (const Segment& segment : side.segments) {
    for (size_t row = segment.first_block; row < segment.first_block + segment.block_count;
         ++row) {
      const Block& block = snapshot.blocks[row];
      if (!block.allocated()) continue;
      by_block[static_cast<uint32_t>(row)] = holdings.size();
      Holding holding;
      holding.device = segment.device;
      holding.address = block.address;
      holding.bytes = block.size;
      holding.requested = block.requested_size;
      holding.stack = block.stack;
      holding.pool = segment.pool;
      holding.block = static_cast<uint32_t>(row);
      holdings.push_back(std::move(holding));
    }
  }
  for (const DeviceHistory& history : histories) {
    const NotesByAllocation notes = NotesOf(snapshot, history, kNever);
    for (uint32_t i = 0; i < history.allocations.size(); ++i) {
      const auto found = by_block.find(history.allocations[i].block);
      if (found == by_block.end()) continue;
      Holding& holding = holdings[found->second];
      AddLife(history, i, notes, holding);
      if (holding.stack == 0) holding.stack = history.allocations[i].stack;
    }
  }
  return holdings;
}

std::vector<Holding> HoldingsAfter(const Snapshot& snapshot, const DeviceHistory& history,
                                   uint32_t event) {
  const NotesByAllocation notes = NotesOf(snapshot, history, event);
  std::vector<Holding> holdings;
  for (uint32_t i = 0; i < history.allocations.size(); ++i) {
    const Allocation& life = history.allocations[i];
    if (life.placeholder || !life.AliveAfter(event)) continue;
    Holding holding;
    holding.device = history.device;
    holding.address = life.address;
    holding.bytes = holding.requested = life.size;
    holding.stack = life.stack;
    holding.pool = life.pool;
    holding.block = life.block;
    AddLife(history, i, notes, holding);
    holdings.push_back(std::move(holding));
  }
  return holdings;
}

}  // namespace graphtree::snapshot
