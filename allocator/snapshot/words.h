// The words that snapshots are made of, as constants.
//
// Every string of a snapshot is stored once and named by a StringId (string_table.h). The words
// below are put into every table first and in this order, so their ids are compile-time constants:
// telling which key a dictionary has, or which action an entry is, is one integer compare.
#ifndef GRAPHTREE_ALLOCATOR_SNAPSHOT_WORDS_H_
#define GRAPHTREE_ALLOCATOR_SNAPSHOT_WORDS_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace graphtree::snapshot {

using StringId = uint32_t;

// X(constant, text)
#define GRAPHTREE_SNAPSHOT_WORDS(X)             \
  X(kEmpty, "")                                 \
  X(kSegments, "segments")                      \
  X(kDeviceTraces, "device_traces")             \
  X(kAllocatorSettings, "allocator_settings")   \
  X(kExternalAnnotations, "external_annotations") \
  X(kHostSegments, "host_segments")             \
  X(kHostTraces, "host_traces")                 \
  X(kGraphtree, "graphtree")                    \
  X(kDevice, "device")                          \
  X(kAddress, "address")                        \
  X(kTotalSize, "total_size")                   \
  X(kAllocatedSize, "allocated_size")           \
  X(kActiveSize, "active_size")                 \
  X(kRequestedSize, "requested_size")           \
  X(kStream, "stream")                          \
  X(kSegmentType, "segment_type")               \
  X(kSegmentPoolId, "segment_pool_id")          \
  X(kIsExpandable, "is_expandable")             \
  X(kFrames, "frames")                          \
  X(kBlocks, "blocks")                          \
  X(kSize, "size")                              \
  X(kState, "state")                            \
  X(kHistory, "history")                        \
  X(kRealSize, "real_size")                     \
  X(kAction, "action")                          \
  X(kAddr, "addr")                              \
  X(kDeviceFree, "device_free")                 \
  X(kTimeUs, "time_us")                         \
  X(kCompileContext, "compile_context")         \
  X(kUserMetadata, "user_metadata")             \
  X(kInternalMetadata, "internal_metadata")     \
  X(kPoolId, "pool_id")                         \
  X(kForwardFrames, "forward_frames")           \
  X(kName, "name")                              \
  X(kFilename, "filename")                      \
  X(kLine, "line")                              \
  X(kStage, "stage")                            \
  X(kNode, "node")                              \
  X(kActiveAllocated, "active_allocated")       \
  X(kActivePendingFree, "active_pending_free")  \
  X(kActiveAwaitingFree, "active_awaiting_free") \
  X(kInactive, "inactive")                      \
  X(kAlloc, "alloc")                            \
  X(kFreeRequested, "free_requested")           \
  X(kFreeCompleted, "free_completed")           \
  X(kFree, "free")                              \
  X(kSegmentAlloc, "segment_alloc")             \
  X(kSegmentFree, "segment_free")               \
  X(kSegmentMap, "segment_map")                 \
  X(kSegmentUnmap, "segment_unmap")             \
  X(kSnapshot, "snapshot")                      \
  X(kOom, "oom")                                \
  X(kAnnotate, "annotate")                      \
  X(kUserDefined, "user_defined")               \
  X(kSmall, "small")                            \
  X(kLarge, "large")                            \
  X(kMallocWithAddress, "mallocWithAddress")    \
  X(kNotAvailable, "N/A")

namespace words {

enum : StringId {
#define GRAPHTREE_SNAPSHOT_WORD_ID(constant, text) constant,
  GRAPHTREE_SNAPSHOT_WORDS(GRAPHTREE_SNAPSHOT_WORD_ID)
#undef GRAPHTREE_SNAPSHOT_WORD_ID
      kCount
};

inline constexpr absl::string_view kTexts[] = {
#define GRAPHTREE_SNAPSHOT_WORD_TEXT(constant, text) text,
    GRAPHTREE_SNAPSHOT_WORDS(GRAPHTREE_SNAPSHOT_WORD_TEXT)
#undef GRAPHTREE_SNAPSHOT_WORD_TEXT
};

}  // namespace words

}  // namespace graphtree::snapshot

#endif  // GRAPHTREE_ALLOCATOR_SNAPSHOT_WORDS_H_
