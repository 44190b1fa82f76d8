// The tree's options and a function's, from those of the C interface, where 0 is a default.
#ifndef GRAPHTREE_RUNTIME_C_TREE_OPTIONS_OF_H_
#define GRAPHTREE_RUNTIME_C_TREE_OPTIONS_OF_H_

#include "graphs/function_options.h"
#include "graphs/tree_options.h"
#include "runtime/c/entry.h"
#include "runtime/c/graphtree.h"

namespace graphtree::c {

// What is wrong with them becomes the entry's failure.
TreeOptions TreeOptionsOf(const gt_tree_options* options, Entry* entry);
FunctionOptions FunctionOptionsOf(const gt_function_options* options, Entry* entry);

}  // namespace graphtree::c

#endif  // GRAPHTREE_RUNTIME_C_TREE_OPTIONS_OF_H_
