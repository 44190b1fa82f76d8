// Keeps the open pieces disjoint, so that every question is a walk along the map.
#include "tools/memory/html_pieces.h"

#include <algorithm>
#include <limits>

namespace graphtree::memory {
namespace {

uint64_t EndOf(uint64_t address, uint64_t size) {
  const uint64_t room = std::numeric_limits<uint64_t>::max() - address;
  return address + std::min(size, room);
}

}  // namespace

void HtmlPieces::Open(uint64_t from, uint64_t to, int64_t start, const HtmlPieceTags& tags) {
  if (from >= to) return;
  open_[from] = pieces_.size();
  pieces_.push_back({from, to - from, start, HtmlPiece::kNever, tags});
}

template <typename Visit>
void HtmlPieces::ForGaps(uint64_t from, uint64_t to, Visit visit) const {
  auto next = open_.upper_bound(from);
  uint64_t at = from;
  if (next != open_.begin()) {
    const HtmlPiece& before = pieces_[std::prev(next)->second];
    at = std::max(at, before.address + before.size);
  }
  for (; next != open_.end() && next->first < to; ++next) {
    if (next->first > at) visit(at, next->first);
    at = next->first + pieces_[next->second].size;
  }
  if (at < to) visit(at, to);
}

void HtmlPieces::Hold(uint64_t address, uint64_t size, int64_t event, const HtmlPieceTags& tags) {
  const uint64_t to = EndOf(address, size);
  std::vector<std::pair<uint64_t, uint64_t>> gaps;
  ForGaps(address, to, [&](uint64_t a, uint64_t b) { gaps.emplace_back(a, b); });
  for (const auto& [a, b] : gaps) Open(a, b, event, tags);
}

void HtmlPieces::Release(uint64_t address, uint64_t size, int64_t event,
                         const HtmlPieceTags& tags) {
  const uint64_t to = EndOf(address, size);
  ForGaps(address, to, [&](uint64_t a, uint64_t b) {
    pieces_.push_back({a, b - a, HtmlPiece::kBefore, event, tags});
  });
  auto next = open_.upper_bound(address);
  if (next != open_.begin()) --next;
  while (next != open_.end() && next->first < to) {
    HtmlPiece& piece = pieces_[next->second];
    const HtmlPiece old = piece;
    const uint64_t old_to = old.address + old.size;
    if (old_to <= address) {
      ++next;
      continue;
    }
    piece.end = event;
    next = open_.erase(next);
    Open(old.address, std::min(old_to, address), event, old.tags);
    Open(std::max(old.address, to), old_to, event, old.tags);
  }
}

void HtmlPieces::HeldAtEnd(uint64_t address, uint64_t size, const HtmlPieceTags& tags) {
  Hold(address, size, HtmlPiece::kBefore, tags);
}

std::vector<HtmlPiece> HtmlPieces::Take() {
  open_.clear();
  std::stable_sort(pieces_.begin(), pieces_.end(), [](const HtmlPiece& a, const HtmlPiece& b) {
    return a.start < b.start;
  });
  return std::move(pieces_);
}

}  // namespace graphtree::memory
