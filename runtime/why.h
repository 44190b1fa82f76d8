// Why a step was replayed, or why it was not: every step of a runtime carries one of these, as a
// code for counters and as a sentence for people. Below, "it" is the call, and for what has a
// recording, the call's shape.
#ifndef GRAPHTREE_RUNTIME_WHY_H_
#define GRAPHTREE_RUNTIME_WHY_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace graphtree {

enum class Why : uint8_t {
  // A graph serves it.
  kHit,    // a shape of exactly its key
  kCover,  // a larger shape, with padding
  // No shape of the program serves it.
  kAboveCeiling,  // a field is larger than in every shape that is left
  kUncovered,     // no shape could ever serve it: a field that must be equal differs
  kPadding,       // a larger shape would serve it, with more padding than is allowed
  kMode,          // a shape serves it, but was made for a mode that the caller does not allow now
  // A shape serves it, and its graph may not be replayed now.
  kNotRecorded,      // nobody has recorded it yet
  kNotCommitted,     // recorded, and the caller has not committed its epoch yet
  kStaleDependency,  // recorded with something that has been touched since
  kVotedDown,        // the ranks did not agree on a graph
  kNoMemory,         // there was no memory, or no budget, to record it
  kExcluded,         // the caller excluded it
  kFailed,           // it failed, or its recording did
  kWarmingUp,        // it is being warmed up
  kEvicted,          // its recording had to make room
  // Graphs serve no step now (serving.h).
  kOff,     // the runtime is switched off
  kShadow,  // the runtime only watches; the last one: kWhyCount counts up to it
};

constexpr size_t kWhyCount = static_cast<size_t>(Why::kShadow) + 1;

// Whether a graph serves the call.
constexpr bool IsReplay(Why why) { return why == Why::kHit || why == Why::kCover; }

// "above_ceiling": for counters and scripts.
const char* WhyName(Why why);
// What it means and what to do about it, for people.
const char* WhySentence(Why why);

using WhyCounts = std::array<uint64_t, kWhyCount>;

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_WHY_H_
