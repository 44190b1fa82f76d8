// Which pads a body may have, and what a pad is, on plain bytes. The number of a pad op and the key
// say all about it, so that the body and the model agree without a recording.
//
//   grows      memory of the body's own, without room: copied until room is learned   | in place
//   has room   ... with room behind it, padded twice                                  | or copied
//   rows       ... with room behind its rows                                          |
//
//   held       the body holds another handle, which looks into the tail               | copied,
//   slot       a slot                                                                 | or
//   prepared   what `prepare` has made                                                | something
//   foreign    the front of a dependency                                              | is spoilt
#ifndef GRAPHTREE_TESTS_RUNTIME_SIMULATION_PAD_CASES_H_
#define GRAPHTREE_TESTS_RUNTIME_SIMULATION_PAD_CASES_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "graphs/layout.h"
#include "runtime/shapes/key.h"
#include "tests/runtime/simulation/script.h"

namespace graphtree::runtime_simulation {

enum class PadKind : uint8_t { kGrows, kHasRoom, kRows, kHeld, kSlot, kPrepared, kForeign };
constexpr uint32_t kPadKinds = static_cast<uint32_t>(PadKind::kForeign) + 1;

using Sizes = std::vector<int64_t>;

struct PadCase {
  PadKind kind = PadKind::kGrows;
  uint32_t at = 0;  // the slot, or the dependency
  DType type = DType::kI32;
  Sizes from;
  Sizes between = {};  // kHasRoom is padded to these first, with the next value
  Sizes to;
  uint32_t value = 0;
  uint32_t seed = 0;  // of the pattern that is padded
};

// A pad that names what the program does not have is one of another kind.
PadCase PadCaseOf(const ProgramSpec& spec, uint32_t at, const Key& key);

// The tensor, whose elements lie one after another, padded with an element's bytes.
std::vector<uint8_t> PadNaively(absl::Span<const uint8_t> tensor, const Sizes& from,
                                const Sizes& to, absl::Span<const uint8_t> element);
// A small number as an element.
std::vector<uint8_t> ElementOf(DType type, uint32_t number);

}  // namespace graphtree::runtime_simulation

#endif  // GRAPHTREE_TESTS_RUNTIME_SIMULATION_PAD_CASES_H_
