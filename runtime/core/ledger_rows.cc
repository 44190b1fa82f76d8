// Looks into each lane once, so that its figures are of one moment.
#include "runtime/core/ledger_rows.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "allocator/pool.h"
#include "allocator/snapshot_nodes.h"
#include "device/address.h"
#include "graphs/host_bytes.h"
#include "graphs/reports/outline.h"
#include "runtime/plan/guess.h"
#include "runtime/watch/lane_looks.h"
#include "runtime/watch/shape_watch.h"

namespace graphtree {
namespace {

// Whose a lane's recordings are, by their ids in its tree: program, by its number, and shape.
using Owners = absl::flat_hash_map<uint64_t, std::pair<uint32_t, uint32_t>>;

struct LaneProgram {
  uint32_t number = 0;
  ProgramWatch::Shapes shapes;
};

Owners OwnersOf(const Tree& tree, const std::vector<LaneProgram>& programs) {
  Owners owners;
  for (const LaneProgram& program : programs) {
    for (const std::shared_ptr<ShapeWatch>& shape : program.shapes) {
      for (const uint64_t id : tree.RecordingsOf(shape->function)) {
        owners[id] = {program.number, shape->id};
      }
    }
  }
  return owners;
}

std::vector<LedgerInput::Recording> RecordingsOf(Tree& tree, const Owners& owners) {
  std::vector<LedgerInput::Recording> recordings;
  absl::flat_hash_map<uint64_t, uint64_t> ops;
  for (const OutlineNode& node : tree.outline()) ops[node.id] = node.ops;
  for (SnapshotNode& node : tree.memory_of_nodes()) {
    const auto found = owners.find(node.id);
    const auto [program, shape] =
        found == owners.end() ? std::pair(LedgerInput::kNoProgram, 0u) : found->second;
    recordings.push_back({.program = program,
                          .shape = shape,
                          .function = std::move(node.function),
                          .id = node.id,
                          .ranges = std::move(node.ranges),
                          .executable_bytes = node.executable_bytes,
                          .host_bytes = RecordingHostBytes(ops[node.id])});
  }
  return recordings;
}

// Of the ranges, what has memory now.
std::vector<AddressRange> MappedOf(const Pool& pool, const std::vector<AddressRange>& ranges) {
  std::vector<AddressRange> mapped;
  for (const Region region : {Region::kStep, Region::kLasting}) {
    const PieceRow& row = pool.row(region);
    for (uint32_t i = 0; i < row.count(); ++i) {
      if (!row.piece(i).is_mapped()) continue;
      const AddressRange piece = row.RangeOf(i);
      for (const AddressRange& range : ranges) {
        if (!range.Overlaps(piece)) continue;
        const Address begin = std::max(range.base, piece.base);
        mapped.push_back({begin, std::min(range.end(), piece.end()) - begin});
      }
    }
  }
  return mapped;
}

LaneMemory MemoryOf(Tree& tree, const std::vector<LaneProgram>& programs) {
  LaneMemory memory;
  tree.Inspect([&] {
    const PoolBytes pool = PoolBytesOf(tree);
    memory.mapped_bytes = pool.mapped;
    memory.lasting_bytes = pool.lasting;
    memory.recordings = RecordingsOf(tree, OwnersOf(tree, programs));
    const Pool& parked = tree.pool();
    if (!parked.parking().has_parked()) return;
    memory.parked_bytes = parked.Stats().parked_bytes;
    for (LedgerInput::Recording& recording : memory.recordings) {
      recording.ranges = MappedOf(parked, recording.ranges);
    }
  });
  return memory;
}

// `places`: by their numbers, of the programs that are there.
void AddLane(const WatchedLane& lane, const std::vector<LaneProgram>& programs,
             const std::map<uint32_t, uint32_t>& places, LedgerInput* input) {
  LaneMemory memory = lane.looks->memory.Get(
      lane.may_wait, [&] { return MemoryOf(*lane.tree, programs); });
  const auto place = static_cast<uint32_t>(input->lanes.size());
  input->lanes.push_back({.device = lane.device,
                          .number = lane.lane,
                          .mapped_bytes = memory.mapped_bytes,
                          .parked_bytes = memory.parked_bytes,
                          .lasting_bytes = memory.lasting_bytes,
                          .is_from_before = !lane.may_wait});
  for (LedgerInput::Recording& recording : memory.recordings) {
    const auto program = places.find(recording.program);
    recording.lane = place;
    recording.program = program == places.end() ? LedgerInput::kNoProgram : program->second;
    input->recordings.push_back(std::move(recording));
  }
}

}  // namespace

PoolBytes PoolBytesOf(Tree& tree) {
  PoolBytes bytes;
  tree.Inspect([&] {
    bytes.mapped = tree.pool().Stats().mapped_bytes;
    bytes.lasting = tree.pool().row(Region::kLasting).mapped_bytes();
  });
  return bytes;
}

LedgerInput CollectLedger(const Watch& watch, uint64_t workspace_bytes) {
  LedgerInput input = {.workspace_bytes = workspace_bytes};
  for (const auto& tag : watch.tags()) {
    input.tagged_bytes += tag->memory_bytes.get();
    input.saved_bytes += tag->saved_bytes.get();
  }
  // A program's lane is there before the program is, so lanes are asked for last.
  const std::vector<WatchedProgram> programs = watch.programs();
  std::map<std::pair<uint32_t, uint32_t>, WatchedLane> lanes;
  for (WatchedLane& lane : watch.lanes()) lanes[{lane.device, lane.lane}] = std::move(lane);
  std::map<std::pair<uint32_t, uint32_t>, std::vector<LaneProgram>> programs_of;
  std::map<uint32_t, uint32_t> places;
  for (const WatchedProgram& one : programs) {
    if (one.watch == nullptr) continue;
    const ProgramWatch& program = *one.watch;
    const auto lane = lanes.find({program.device, program.lane});
    places[one.number] = static_cast<uint32_t>(input.programs.size());
    programs_of[lane->first].push_back({one.number, program.shapes()});
    input.programs.push_back(
        {.name = program.name,
         .lane = static_cast<uint32_t>(std::distance(lanes.begin(), lane)),
         .slot_bytes = program.mapped_slot_bytes.get(),
         .staging_bytes = program.staging_bytes.get(),
         .code_bytes = program.code_bytes.get(),
         .workspace_bytes = program.workspace_bytes.get()});
  }
  for (const auto& [place, lane] : lanes) AddLane(lane, programs_of[place], places, &input);
  return input;
}

MemoryLedger LedgerOfWatch(const Watch& watch, uint64_t workspace_bytes) {
  LedgerInput input = CollectLedger(watch, workspace_bytes);
  const std::map<uint32_t, DriverModel> drivers = watch.drivers();
  for (LedgerInput::Recording& one : input.recordings) {
    const auto model = drivers.find(input.lanes[one.lane].device);
    if (model == drivers.end()) continue;
    const Guess said = Guess::Exactly(static_cast<double>(one.executable_bytes));
    one.executable_bytes =
        static_cast<uint64_t>(std::llround(model->second.Executables(said).bytes));
  }
  return LedgerOf(input);
}

}  // namespace graphtree
