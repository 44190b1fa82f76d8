// Keys, rules, modes and choices of the C interface, and the runtime's own. Pure.
#ifndef GRAPHTREE_RUNTIME_C_KEYS_H_
#define GRAPHTREE_RUNTIME_C_KEYS_H_

#include "absl/status/status.h"
#include "runtime/c/graphtree.h"
#include "runtime/c/read_options.h"
#include "runtime/shapes/key.h"
#include "runtime/shapes/mode.h"
#include "runtime/shapes/shape_table.h"

namespace graphtree::c {

Key KeyOf(const gt_key& key);
// An error if its reserved field is not 0.
inline absl::Status CheckKey(const gt_key& key) { return CheckReserved("gt_key", key.reserved); }
gt_key KeyOf(const Key& key);

// REQUIRES: CheckModes.
inline Modes ModesOf(gt_modes modes) { return Modes::FromBits(static_cast<uint8_t>(modes)); }
absl::Status CheckModes(gt_modes modes);

// Where a rule says nothing the runtime's own holds.
absl::Status RulesOf(const gt_key_rules& rules, KeyRules* into);

gt_choice ChoiceOf(const Choice& choice);

}  // namespace graphtree::c

#endif  // GRAPHTREE_RUNTIME_C_KEYS_H_
