// Makes the rows of a tree's outline from its nodes.
#ifndef GRAPHTREE_GRAPHS_RECORDING_OUTLINE_OF_H_
#define GRAPHTREE_GRAPHS_RECORDING_OUTLINE_OF_H_

#include "graphs/recording/node.h"
#include "graphs/reports/outline.h"

namespace graphtree {

// `root` is the tree's root, which is no recording and has no row.
Outline OutlineOf(const Node& root);

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RECORDING_OUTLINE_OF_H_
