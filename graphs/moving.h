// What a tree does about inputs whose address changes from call to call.
#ifndef GRAPHTREE_GRAPHS_MOVING_H_
#define GRAPHTREE_GRAPHS_MOVING_H_

#include <cstdint>

namespace graphtree {

enum class Moving : uint8_t {
  kPatch,  // patch the ops that take the input where that pays or nothing else is right; else copy
  kCopy,   // always copy; a caller's input that is written to makes the function run eagerly
  kEager,  // like kPatch, but run eagerly if a static or managed input is at a second address
};

constexpr uint64_t kDefaultPatchBytes = uint64_t{1} << 20;

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_MOVING_H_
