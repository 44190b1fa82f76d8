// Holds record_layout.h to CUPTI's own headers. Nothing of this file runs.
#include <cupti.h>

#include <cstddef>

#include "profiler/cupti/cupti_api.h"
#include "profiler/cupti/record_layout.h"

namespace graphtree::cupti {
namespace {

#define GRAPHTREE_SAME(ours, our_field, theirs, their_field)                      \
  static_assert(offsetof(ours, our_field) == offsetof(theirs, their_field) &&     \
                    sizeof(ours::our_field) == sizeof(theirs::their_field),       \
                #ours "." #our_field)

// The oldest and the newest version that this was compared with.
#define GRAPHTREE_SAME_KERNEL(theirs)                                             \
  GRAPHTREE_SAME(KernelRecord, kind, theirs, kind);                               \
  GRAPHTREE_SAME(KernelRecord, registers, theirs, registersPerThread);            \
  GRAPHTREE_SAME(KernelRecord, start, theirs, start);                             \
  GRAPHTREE_SAME(KernelRecord, end, theirs, end);                                 \
  GRAPHTREE_SAME(KernelRecord, device, theirs, deviceId);                         \
  GRAPHTREE_SAME(KernelRecord, context, theirs, contextId);                       \
  GRAPHTREE_SAME(KernelRecord, stream, theirs, streamId);                         \
  static_assert(offsetof(KernelRecord, grid) == offsetof(theirs, gridX));         \
  static_assert(offsetof(KernelRecord, block) == offsetof(theirs, blockX));       \
  static_assert(offsetof(KernelRecord, block) + 8 == offsetof(theirs, blockZ));   \
  GRAPHTREE_SAME(KernelRecord, static_shared, theirs, staticSharedMemory);        \
  GRAPHTREE_SAME(KernelRecord, dynamic_shared, theirs, dynamicSharedMemory);      \
  GRAPHTREE_SAME(KernelRecord, correlation, theirs, correlationId);               \
  GRAPHTREE_SAME(KernelRecord, name, theirs, name);                               \
  GRAPHTREE_SAME(KernelRecord, graph_node, theirs, graphNodeId);                  \
  GRAPHTREE_SAME(KernelRecord, graph, theirs, graphId)

#define GRAPHTREE_SAME_OTHER(ours, theirs)                                        \
  GRAPHTREE_SAME(ours, kind, theirs, kind);                                       \
  GRAPHTREE_SAME(ours, bytes, theirs, bytes);                                     \
  GRAPHTREE_SAME(ours, start, theirs, start);                                     \
  GRAPHTREE_SAME(ours, end, theirs, end);                                         \
  GRAPHTREE_SAME(ours, device, theirs, deviceId);                                 \
  GRAPHTREE_SAME(ours, context, theirs, contextId);                               \
  GRAPHTREE_SAME(ours, stream, theirs, streamId);                                 \
  GRAPHTREE_SAME(ours, correlation, theirs, correlationId);                       \
  GRAPHTREE_SAME(ours, graph_node, theirs, graphNodeId);                          \
  GRAPHTREE_SAME(ours, graph, theirs, graphId)

GRAPHTREE_SAME_KERNEL(CUpti_ActivityKernel5);
GRAPHTREE_SAME_KERNEL(CUpti_ActivityKernel9);
GRAPHTREE_SAME_OTHER(CopyRecord, CUpti_ActivityMemcpy5);
GRAPHTREE_SAME(CopyRecord, copy_kind, CUpti_ActivityMemcpy5, copyKind);
GRAPHTREE_SAME_OTHER(FillRecord, CUpti_ActivityMemset4);
#if CUPTI_API_VERSION >= 130000
GRAPHTREE_SAME_KERNEL(CUpti_ActivityKernel10);
GRAPHTREE_SAME_OTHER(CopyRecord, CUpti_ActivityMemcpy6);
static_assert(sizeof(CUpti_ActivityKernel10) == kKernelBytes);
static_assert(sizeof(CUpti_ActivityMemcpy6) == kCopyBytes);
static_assert(sizeof(CUpti_ActivityMemset4) == kFillBytes);
#endif

static_assert(static_cast<int>(RecordKind::kKernel) == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
static_assert(static_cast<int>(RecordKind::kCopy) == CUPTI_ACTIVITY_KIND_MEMCPY);
static_assert(static_cast<int>(RecordKind::kFill) == CUPTI_ACTIVITY_KIND_MEMSET);

}  // namespace
}  // namespace graphtree::cupti
