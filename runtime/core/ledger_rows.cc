// Walks over lanes, programs and shapes.
#include "runtime/core/ledger_rows.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "allocator/ids.h"
#include "allocator/pool.h"
#include "allocator/snapshot_nodes.h"
#include "graphs/host_bytes.h"
#include "graphs/outline.h"
#include "runtime/core/lane.h"
#include "runtime/core/program_state.h"
#include "runtime/program.h"
#include "runtime/slots/staging_ring.h"

namespace graphtree {
namespace {

// Whose a lane's recordings are, by their ids in its tree: program and shape.
using Owners = absl::flat_hash_map<uint64_t, std::pair<uint32_t, uint32_t>>;

void AddRecordings(const Lane& lane, uint32_t place, const Owners& owners, LedgerInput* input) {
  absl::flat_hash_map<uint64_t, uint64_t> ops;
  for (const OutlineNode& node : lane.tree->outline()) ops[node.id] = node.ops;
  for (SnapshotNode& node : lane.tree->memory_of_nodes()) {
    const auto found = owners.find(node.id);
    const auto [program, shape] =
        found == owners.end() ? std::pair(LedgerInput::kNoProgram, 0u) : found->second;
    input->recordings.push_back(
        {.lane = place,
         .program = program,
         .shape = shape,
         .function = std::move(node.function),
         .id = node.id,
         .ranges = std::move(node.ranges),
         .executable_bytes = node.executable_bytes,
         .host_bytes = RecordingHostBytes(ops[node.id])});
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

LedgerInput CollectLedger(const Lanes& lanes, const Programs& programs,
                          const Dependencies& dependencies) {
  LedgerInput input;
  std::map<const Lane*, uint32_t> places;
  lanes.ForEach([&](const Lane& lane) {
    places[&lane] = static_cast<uint32_t>(input.lanes.size());
    const PoolBytes pool = PoolBytesOf(*lane.tree);
    input.lanes.push_back({.device = lane.device_number,
                           .number = lane.number,
                           .mapped_bytes = pool.mapped,
                           .lasting_bytes = pool.lasting});
  });
  std::vector<Owners> owners(input.lanes.size());
  programs.ForEach([&](ProgramId, ProgramState& program) {
    const uint32_t place = places.at(&program.lane());
    const auto number = static_cast<uint32_t>(input.programs.size());
    for (uint32_t i = 0; i < program.table().size(); ++i) {
      for (const uint64_t id : program.lane().tree->RecordingsOf(program.shape(i).function)) {
        owners[place][id] = {number, i};
      }
    }
    input.programs.push_back({.name = program.name(),
                              .lane = place,
                              .slot_bytes = program.mapped_slot_bytes(),
                              .staging_bytes = program.ring().memory().bytes,
                              .code_bytes = program.code_bytes(),
                              .workspace_bytes = dependencies.WorkspaceBytes(program)});
  });
  for (const auto& [lane, place] : places) AddRecordings(*lane, place, owners[place], &input);
  input.workspace_bytes = dependencies.workspace_bytes();
  return input;
}

}  // namespace graphtree
