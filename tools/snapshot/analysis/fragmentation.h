// Fragments: why free bytes cannot be used, and what a request would meet.
//
// Works on a layout, so it answers for any moment. In PyTorch's allocator a free block serves only
// requests of its own stream, pool and kind (small or large), and only in one piece: those are the
// reasons that are counted here.
#ifndef GRAPHTREE_TOOLS_SNAPSHOT_ANALYSIS_FRAGMENTATION_H_
#define GRAPHTREE_TOOLS_SNAPSHOT_ANALYSIS_FRAGMENTATION_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "allocator/snapshot/snapshot.h"
#include "tools/snapshot/analysis/layout.h"

namespace graphtree::snapshot {

// Segments that may serve the same requests.
struct SegmentClass {
  int64_t device = 0;
  std::pair<uint64_t, uint64_t> pool = {0, 0};
  std::string stream;
  bool small = false;
  auto operator<=>(const SegmentClass&) const = default;
};

struct ClassFragments {
  uint64_t segments = 0;
  uint64_t reserved = 0;
  uint64_t held = 0;
  uint64_t pending = 0;
  uint64_t holes = 0;
  uint64_t largest_hole = 0;
  uint64_t stranded = 0;    // free, in segments that hold something
  uint64_t releasable = 0;  // free, in segments that hold nothing
  uint64_t free() const { return stranded + releasable; }
};

// A segment that cannot be given back because of what lies in it.
struct PinnedSegment {
  size_t segment = 0;  // in the layout
  uint64_t stranded = 0;
  uint64_t held = 0;
  uint64_t largest_hole = 0;
  std::vector<Piece> pins;  // what holds it, largest first
};

// A stack that holds segments with free bytes in them.
struct Pinner {
  StackId stack = 0;
  uint64_t segments = 0;
  uint64_t blocks = 0;
  uint64_t bytes = 0;   // its own
  uint64_t alone = 0;   // stranded in segments that only it holds
  uint64_t shared = 0;  // stranded in segments that others hold, too
};

struct Fragments {
  std::map<SegmentClass, ClassFragments> classes;
  std::map<uint64_t, std::pair<uint64_t, uint64_t>> holes;  // power of two: count, bytes
  std::vector<PinnedSegment> pinned;  // most stranded bytes first
  std::vector<Pinner> pinners;        // most stranded bytes first
};
Fragments FragmentsOf(const std::vector<PlacedSegment>& layout);

// What a request of `size` bytes would meet in one class's pool and stream.
struct RequestAnswer {
  SegmentClass asked;        // with the kind that the size leads to
  uint64_t block = 0;        // after rounding
  uint64_t new_segment = 0;  // taken from the driver where no hole fits
  bool fits = false;
  uint64_t hole_address = 0;
  uint64_t hole_size = 0;
  uint64_t largest_hole = 0;  // in its class
  uint64_t class_free = 0;
  uint64_t all_free = 0;      // on the device
  // Holes that would be large enough, but belong to others.
  uint64_t other_stream_holes = 0;
  uint64_t other_pool_holes = 0;
  uint64_t other_kind_holes = 0;
};
RequestAnswer AnswerRequest(const std::vector<PlacedSegment>& layout, SegmentClass asked,
                            uint64_t size);

}  // namespace graphtree::snapshot

#endif  // GRAPHTREE_TOOLS_SNAPSHOT_ANALYSIS_FRAGMENTATION_H_
