// Sums over a layout's holes, and who lies beside them.
#include "tools/snapshot/analysis/fragmentation.h"

#include <algorithm>
#include <set>

#include "tools/snapshot/analysis/torch_rules.h"

namespace graphtree::snapshot {
namespace {

SegmentClass ClassOf(const PlacedSegment& segment) {
  return {segment.device, segment.pool, segment.stream, segment.small};
}

uint64_t PowerOfTwoAbove(uint64_t size) {
  uint64_t power = torch_rules::kMinBlock;
  while (power < size) power *= 2;
  return power;
}

void AddSegment(const PlacedSegment& segment, Fragments& fragments) {
  ClassFragments& sum = fragments.classes[ClassOf(segment)];
  ++sum.segments;
  sum.reserved += segment.size;
  for (const Piece& piece : segment.pieces) {
    if (piece.state == Piece::kFree) {
      ++sum.holes;
      sum.largest_hole = std::max(sum.largest_hole, piece.size);
      auto& [count, bytes] = fragments.holes[PowerOfTwoAbove(piece.size)];
      ++count;
      bytes += piece.size;
    } else {
      sum.held += piece.size;
      if (piece.state == Piece::kPending) sum.pending += piece.size;
    }
  }
  (segment.held() == 0 ? sum.releasable : sum.stranded) += segment.free();
}

void AddPins(size_t index, const PlacedSegment& segment, Fragments& fragments,
             std::map<StackId, Pinner>& pinners) {
  if (segment.held() == 0 || segment.free() == 0) return;
  PinnedSegment pinned;
  pinned.segment = index;
  pinned.stranded = segment.free();
  pinned.held = segment.held();
  pinned.largest_hole = segment.largest_hole();
  std::set<StackId> stacks;
  for (const Piece& piece : segment.pieces) {
    if (piece.state == Piece::kFree) continue;
    pinned.pins.push_back(piece);
    stacks.insert(piece.stack);
    Pinner& pinner = pinners[piece.stack];
    ++pinner.blocks;
    pinner.bytes += piece.size;
  }
  for (StackId stack : stacks) {
    Pinner& pinner = pinners[stack];
    ++pinner.segments;
    (stacks.size() == 1 ? pinner.alone : pinner.shared) += pinned.stranded;
  }
  std::stable_sort(pinned.pins.begin(), pinned.pins.end(),
                   [](const Piece& a, const Piece& b) { return a.size > b.size; });
  fragments.pinned.push_back(std::move(pinned));
}

}  // namespace

Fragments FragmentsOf(const std::vector<PlacedSegment>& layout) {
  Fragments fragments;
  std::map<StackId, Pinner> pinners;
  for (size_t i = 0; i < layout.size(); ++i) {
    AddSegment(layout[i], fragments);
    AddPins(i, layout[i], fragments, pinners);
  }
  for (auto& [stack, pinner] : pinners) {
    pinner.stack = stack;
    fragments.pinners.push_back(pinner);
  }
  std::stable_sort(fragments.pinned.begin(), fragments.pinned.end(),
                   [](const PinnedSegment& a, const PinnedSegment& b) {
                     return a.stranded > b.stranded;
                   });
  std::stable_sort(fragments.pinners.begin(), fragments.pinners.end(),
                   [](const Pinner& a, const Pinner& b) {
                     return std::pair(a.alone, a.shared) > std::pair(b.alone, b.shared);
                   });
  return fragments;
}

RequestAnswer AnswerRequest(const std::vector<PlacedSegment>& layout, SegmentClass asked,
                            uint64_t size) {
  RequestAnswer answer;
  answer.block = torch_rules::BlockSize(size);
  answer.new_segment = torch_rules::SegmentSize(answer.block);
  asked.small = torch_rules::IsSmall(answer.block);
  answer.asked = asked;
  for (const PlacedSegment& segment : layout) {
    if (segment.device != asked.device) continue;
    for (const Piece& piece : segment.pieces) {
      if (piece.state != Piece::kFree) continue;
      answer.all_free += piece.size;
      const bool large_enough = piece.size >= answer.block;
      if (segment.pool != asked.pool) {
        answer.other_pool_holes += large_enough;
      } else if (segment.stream != asked.stream) {
        answer.other_stream_holes += large_enough;
      } else if (segment.small != asked.small) {
        answer.other_kind_holes += large_enough;
      } else {
        answer.class_free += piece.size;
        answer.largest_hole = std::max(answer.largest_hole, piece.size);
        const bool better = !answer.fits || piece.size < answer.hole_size;
        if (large_enough && better) {
          answer.fits = true;
          answer.hole_address = piece.address;
          answer.hole_size = piece.size;
        }
      }
    }
  }
  return answer;
}

}  // namespace graphtree::snapshot
