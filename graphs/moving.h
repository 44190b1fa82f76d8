// What a tree does about inputs whose address changes from call to call.
#ifndef GRAPHTREE_GRAPHS_MOVING_H_
#define GRAPHTREE_GRAPHS_MOVING_H_

#include <cstdint>

namespace graphtree {

enum class Moving : uint8_t {
  kPatch,  // the ops that take it are patched where that pays or nothing else is right; else copied
  kCopy,   // always copied; a caller's input that is written to makes the function run eagerly
  kEager,  // like kPatch, but a static or managed input at a second address runs eagerly
};

constexpr uint64_t kDefaultPatchBytes = uint64_t{1} << 20;

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_MOVING_H_
