// How a recording that is made now should take each input: pinned to its address, copied by the
// graph's first op, or patched into the arguments that point to it. Pure: no device, no lock.
//
//   the caller's, small              copied     one op copies all of them; a replay patches that op
//   the caller's, large              patched    a copy would cost more than patching its ops
//   the caller's, written to         patched    a copy would take the write; if not, refused
//   static or managed, first time    pinned     costs a replay nothing
//   static or managed, moved since   patched    one recording for all of its addresses, not one for
//                                    or copied  each of them
//   not as well aligned as declared  copied     into memory that is
//
// An input can be patched if all that the body does with it is known: every op that took its
// address, and no address elsewhere (pointer_slots.h). Where a library takes it, on the raw stream,
// its addresses are sought by recording twice (moved_words.h).
//
// What a patch is worth: copying n bytes costs about n / (1 byte per 1.4 ps) on a current GPU, and
// one changed op about 0.3 us on the host and 1 us at the launch. So an input is patched when it
// has `patch_bytes` for each op that takes its address.
#ifndef GRAPHTREE_GRAPHS_MATCH_INPUT_ROLES_H_
#define GRAPHTREE_GRAPHS_MATCH_INPUT_ROLES_H_

#include <cstdint>
#include <vector>

#include "graphs/match/match.h"
#include "graphs/moving.h"

namespace graphtree {

// What runs of a function have shown about one input.
struct InputUse {
  uint32_t ops = 0;     // that take its address
  bool opaque = false;  // work that the launcher did not launch takes it
  bool hidden = false;  // a recording had its address in a place that no launch declares
};

struct InputFacts {
  InputRole role = InputRole::kNone;  // kCopied for everything that the caller may move freely
  uint64_t bytes = 0;
  bool known = false;    // the function has run, so that `written` and `use` are complete
  bool written = false;
  bool moved = false;    // a recording at this place pinned it to another address
  bool aligned = true;   // as well as declared
  InputUse use = {};
};

struct RolePolicy {
  Moving moving = Moving::kPatch;
  uint64_t patch_bytes = kDefaultPatchBytes;
};

enum class RoleObstacle : uint8_t { kNone, kWritten, kMoves };

struct RoleChoice {
  InputRole role = InputRole::kNone;
  RoleObstacle obstacle = RoleObstacle::kNone;
  bool sought = false;  // a library takes it; it is patched there if its addresses are found
};

RoleChoice ChooseRole(const InputFacts& facts, const RolePolicy& policy);

// The roles of one call's inputs, by input.
struct CallRoles {
  std::vector<InputRole> own;      // to the tree, whatever becomes of the call (StepMemory::RoleOf)
  std::vector<RoleChoice> chosen;  // in a recording that is made now
};

// The alignment that later calls must bring for an input that was patched at `address`: the largest
// power of two that divides it, but no more than bodies look at (`declared`, or 16).
uint64_t PatchAlignment(uint64_t address, uint64_t declared);

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_MATCH_INPUT_ROLES_H_
