// Which Graphtree this is, for people, scripts and files that we write. runtime/c/graphtree.h has
// the same numbers, which the compiler holds to these.
#ifndef GRAPHTREE_DEVICE_BASE_VERSION_H_
#define GRAPHTREE_DEVICE_BASE_VERSION_H_

namespace graphtree {

inline constexpr char kVersion[] = "1.0.0";

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_BASE_VERSION_H_
