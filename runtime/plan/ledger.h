// Who holds a runtime's memory: bytes by recording, by shape and by program, which add up to what
// the device says.
//
//   pool of a lane    |======== mapped ==============================|
//   recording 0       |aaaaaaaaaaaaaaaaaaaaaa|                       shapes of a lane run one
//   recording 1       |bbbbbbbbbb|                                   after another, in the same
//   recording 2       |cccccccccc|      |cc|                         memory
//                     |-- shared |alone |sh|-|------ idle -----------|
//
// *Alone*: only this one uses the byte. *Shared*: others use it, too, so the shared bytes of rows
// do not add up; the lane has them once. A program's bytes are alone if only recordings of its own
// use them, however many these are. *Idle*: mapped, and no recording's: what eager runs use, and
// room to grow.
//
//   device = for each lane (alone + shared + idle) + slots + executables + code + tagged memory
//
// What is parked (parking.h) is no bytes of the device's: recordings have what of theirs is mapped.
// Contents that were saved are the host's.
//
// Workspaces are the caller's, and host bytes the host's: neither is part of that sum.
//
// Pure: from plain values that somebody has collected. Cost: sorts the recordings' ranges.
#ifndef GRAPHTREE_RUNTIME_PLAN_LEDGER_H_
#define GRAPHTREE_RUNTIME_PLAN_LEDGER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "device/address.h"

namespace graphtree {

// What was collected.
struct LedgerInput {
  static constexpr uint32_t kNoProgram = ~uint32_t{0};
  struct Recording {
    uint32_t lane = 0;                 // its place in `lanes`
    uint32_t program = kNoProgram;     // its place in `programs`; none: a function beside programs
    uint32_t shape = 0;                // its place among the program's shapes
    std::string function = {};         // "decode[tokens=8]"
    uint64_t id = 0;                   // in its tree
    std::vector<AddressRange> ranges = {};  // of the pool, in any order
    uint64_t executable_bytes = 0;
    uint64_t host_bytes = 0;
  };
  struct Lane {
    uint32_t device = 0;
    uint32_t number = 0;
    uint64_t mapped_bytes = 0;
    uint64_t parked_bytes = 0;   // beside these, to be woken
    uint64_t lasting_bytes = 0;  // of these: of eager runs and kept outputs, where no recording is
    bool is_from_before = false;  // as LaneMetrics has it
  };
  struct Program {
    std::string name = {};
    uint32_t lane = 0;           // its place in `lanes`
    uint64_t slot_bytes = 0;     // device memory
    uint64_t staging_bytes = 0;  // page-locked memory of the host
    uint64_t code_bytes = 0;     // that the driver took when its shapes ran first
    uint64_t workspace_bytes = 0;
  };
  std::vector<Recording> recordings = {};
  std::vector<Lane> lanes = {};
  std::vector<Program> programs = {};
  uint64_t workspace_bytes = 0;  // each workspace once, whatever programs depend on it
  uint64_t tagged_bytes = 0;     // that the caller had made under tags
  uint64_t saved_bytes = 0;      // contents of what is parked
};

struct LedgerBytes {
  uint64_t alone = 0;
  uint64_t shared = 0;
  uint64_t executables = 0;
  uint64_t code = 0;
  uint64_t workspace = 0;
  uint64_t host = 0;

  // What it takes of the device, with all that it shares.
  uint64_t device() const { return alone + shared + executables + code; }
};

struct LedgerRow {
  std::string program = {};   // empty: none
  std::string function = {};  // empty in a program's row
  uint64_t recording = 0;     // in a recording's row
  uint32_t lane = 0;          // its place in MemoryLedger::lanes
  LedgerBytes bytes = {};
};

struct LaneLedger {
  uint32_t device = 0;
  uint32_t number = 0;
  uint64_t alone = 0;   // summed over its recordings
  uint64_t shared = 0;  // each byte once
  uint64_t idle = 0;
  uint64_t parked = 0;  // beside what is mapped, to be woken
  bool is_from_before = false;  // as LaneMetrics has it
  uint64_t mapped() const { return alone + shared + idle; }
};

struct MemoryLedger {
  std::vector<LedgerRow> recordings = {};  // as they were given
  std::vector<LedgerRow> functions = {};   // shapes, and functions beside programs; by name
  std::vector<LedgerRow> programs = {};    // as they were given
  std::vector<LaneLedger> lanes = {};
  uint64_t slots = 0;
  uint64_t executables = 0;
  uint64_t code = 0;
  uint64_t workspaces = 0;
  uint64_t tagged = 0;  // memory that the caller had made under tags (Runtime::AddMemory)
  uint64_t host = 0;

  // All that the device gave.
  uint64_t device() const;
};

// REQUIRES: lanes and programs are named by places that exist.
MemoryLedger LedgerOf(const LedgerInput& input);

// A table for people: a line for each program, and below each its shapes.
std::string LedgerText(const MemoryLedger& ledger);

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_PLAN_LEDGER_H_
