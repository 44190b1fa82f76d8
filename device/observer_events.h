// What observers are told: plain values, valid during the call that brings them.
//
//   graphs   capture begin --> capture end --> instantiate --> replay begin, end ... --> destroy
//                                  `-- failed: nothing more comes for this capture
//   ops      begin, end of each launch of a body or part that is no replay
//   phases   begin, end: a warm-up, a recording, a restore ... (Phase)
//
// An end comes for every begin, also where what is between fails. A tree can be created again at
// the same address, and a recording's number is one of its tree alone; tree and launch are numbers
// of the process.
#ifndef GRAPHTREE_DEVICE_OBSERVER_EVENTS_H_
#define GRAPHTREE_DEVICE_OBSERVER_EVENTS_H_

#include <cstdint>
#include <memory>

#include "absl/strings/string_view.h"

namespace graphtree {

class Executable;
class Graph;
class Stream;
struct GraphIdentity;
struct OpIdentity;

// In which kind of run something is launched.
enum class RunKind : uint8_t {
  kWarmUp,   // the body runs now, before it is recorded
  kCapture,  // its ops are captured; or what was captured is launched for the first time
  kReplay,
  kEager,    // the body runs now, as no recording serves
  kPart,     // a part of a body that no graph can hold
};

// "warm-up", "capture", ...
inline const char* RunKindName(RunKind run) {
  switch (run) {
    case RunKind::kWarmUp: return "warm-up";
    case RunKind::kCapture: return "capture";
    case RunKind::kReplay: return "replay";
    case RunKind::kEager: return "eager";
    case RunKind::kPart: return "part";
  }
  return "?";
}

enum class GraphMoment : uint8_t {
  kCaptureBegin,
  kCaptureEnd,
  kInstantiate,
  kReplayBegin,
  kReplayEnd,   // the graph was launched, or refused: its work is still under way
  kDestroy,     // the executable was evicted, or its tree is closed: no replay comes any more
};

// "capture begin", ...
inline const char* GraphMomentName(GraphMoment moment) {
  switch (moment) {
    case GraphMoment::kCaptureBegin: return "capture begin";
    case GraphMoment::kCaptureEnd: return "capture end";
    case GraphMoment::kInstantiate: return "instantiate";
    case GraphMoment::kReplayBegin: return "replay begin";
    case GraphMoment::kReplayEnd: return "replay end";
    case GraphMoment::kDestroy: return "destroy";
  }
  return "?";
}

struct GraphEvent {
  GraphMoment moment = GraphMoment::kCaptureBegin;
  // Which function, and which recording of the tree. A recording has one number from kCaptureBegin
  // to kDestroy, which is used again only if that recording failed. After kDestroy an evicted graph
  // may be instantiated again.
  absl::string_view function;
  uint64_t recording = 0;
  // A recording that is cut has a graph for each section; all moments come for each of them.
  uint64_t section = 0;
  bool ok = true;                          // false: what ends here, or was to be made, failed
  Stream* stream = nullptr;                // null for kDestroy
  const Graph* graph = nullptr;            // from kInstantiate on, where there is one
  const Executable* executable = nullptr;  // likewise
  // The graph's ops, from a kCaptureEnd that went well on; else null. Copy the pointer to hold it.
  const std::shared_ptr<const GraphIdentity>* identity = nullptr;
  uint64_t tree = 0;    // which tree: a number of the process
  uint64_t launch = 0;  // which launch: a number of the process, one for begin and end of a replay
  RunKind run = RunKind::kCapture;  // kCapture also for the launch that a recording begins with
};

// A launch of one op that is no replay.
struct OpEvent {
  bool begins = true;
  bool ok = true;  // of an end: the op is on its stream
  RunKind run = RunKind::kEager;
  absl::string_view function;
  absl::string_view op;                  // its name
  Stream* stream = nullptr;
  const OpIdentity* identity = nullptr;  // never null; valid during the call only
  uint64_t tree = 0;
  uint64_t launch = 0;  // as of a GraphEvent
};

enum class Phase : uint8_t {
  kMatch,    // what no recording serves at once is looked at: a miss
  kWarmUp,
  kEager,
  kRecord,
  kPart,
  kPatch,    // arguments of a graph change before its launch
  kRestore,  // the pool's books go back to a recording
  kPark,
  kStage,
  kStep,
  kPlan,
  kEvict,    // what was evicted is destroyed
  kRequest,  // the caller's label is on its thread (request_labels.h); the function is the label
};

// "match", "warm-up", ...
inline const char* PhaseName(Phase phase) {
  switch (phase) {
    case Phase::kMatch: return "match";
    case Phase::kWarmUp: return "warm-up";
    case Phase::kEager: return "eager";
    case Phase::kRecord: return "record";
    case Phase::kPart: return "part";
    case Phase::kPatch: return "patch";
    case Phase::kRestore: return "restore";
    case Phase::kPark: return "park";
    case Phase::kStage: return "stage";
    case Phase::kStep: return "step";
    case Phase::kPlan: return "plan";
    case Phase::kEvict: return "evict";
    case Phase::kRequest: return "request";
  }
  return "?";
}

inline constexpr uint64_t kNoRecording = ~uint64_t{0};

struct PhaseEvent {
  Phase phase = Phase::kMatch;
  bool begins = true;
  bool ok = true;  // of an end
  absl::string_view function;  // or of a program; empty if it is about none
  uint64_t recording = kNoRecording;
  uint64_t tree = 0;
};

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_OBSERVER_EVENTS_H_
