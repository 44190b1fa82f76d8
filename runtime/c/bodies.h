// Callbacks of C programs as bodies of the tree's: each holds its context, and calls it through
// RunCallback.
#ifndef GRAPHTREE_RUNTIME_C_BODIES_H_
#define GRAPHTREE_RUNTIME_C_BODIES_H_

#include <memory>

#include "graphs/eager_part.h"
#include "graphs/function_options.h"
#include "runtime/c/device_objects.h"
#include "runtime/c/graphtree.h"

namespace graphtree::c {

using SharedContext = std::shared_ptr<const CallerContext>;

// Whoever runs a body holds the device; the body itself does not, as a tree may be left with it.
Body BodyOf(gt_body body, SharedContext context, std::weak_ptr<OpenedDevice> opened);
EagerPart PartOf(gt_part part, SharedContext context, std::weak_ptr<OpenedDevice> opened);

}  // namespace graphtree::c

#endif  // GRAPHTREE_RUNTIME_C_BODIES_H_
