// An ordered map of notes; a new one covers what it overlaps.
#include "device/host/checks/liveness.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_format.h"

namespace graphtree::host {

void Liveness::Split(Address at) {
  auto next = notes_.lower_bound(at);
  if (next == notes_.begin() || (next != notes_.end() && next->first == at)) return;
  Note& before = std::prev(next)->second;
  if (before.end <= at) return;
  Note rest = before;
  before.end = at;
  notes_.emplace_hint(next, at, std::move(rest));
}

void Liveness::Forget(AddressRange range) {
  if (range.empty()) return;
  Split(range.base);
  Split(range.end());
  notes_.erase(notes_.lower_bound(range.base), notes_.lower_bound(range.end()));
}

void Liveness::Set(AddressRange range, bool live, absl::string_view text) {
  if (range.empty()) return;
  const auto same = notes_.find(range.base);
  if (same != notes_.end() && same->second.end == range.end()) {
    same->second.whole = range;
    same->second.live = live;
    same->second.text.assign(text.data(), text.size());
    return;
  }
  Forget(range);
  notes_.emplace(range.base, Note{range, range.end(), live, std::string(text)});
}

std::string Liveness::Check(AddressRange range) const {
  if (range.empty()) return "";
  auto note = notes_.upper_bound(range.base);
  if (note != notes_.begin() && std::prev(note)->second.end > range.base) --note;
  for (; note != notes_.end() && note->first < range.end(); ++note) {
    const Note& found = note->second;
    if (!found.live) {
      return absl::StrFormat("[%#x, +%d) touches dead bytes at %#x (%s)", range.base, range.bytes,
                             std::max(note->first, range.base), found.text);
    }
    if (range.base < found.whole.base) {
      return absl::StrFormat("[%#x, +%d) begins %d bytes before the live block [%#x, +%d) (%s)",
                             range.base, range.bytes, found.whole.base - range.base,
                             found.whole.base, found.whole.bytes, found.text);
    }
    if (range.end() > found.whole.end()) {
      return absl::StrFormat("[%#x, +%d) goes %d bytes beyond the live block [%#x, +%d) (%s)",
                             range.base, range.bytes, range.end() - found.whole.end(),
                             found.whole.base, found.whole.bytes, found.text);
    }
  }
  return "";
}

std::vector<AddressRange> Liveness::UsableParts(AddressRange range) const {
  std::vector<AddressRange> parts;
  Address at = range.base;
  auto note = notes_.upper_bound(range.base);
  if (note != notes_.begin() && std::prev(note)->second.end > range.base) --note;
  for (; note != notes_.end() && note->first < range.end(); ++note) {
    if (note->first > at) parts.push_back({at, note->first - at});
    const Address begin = std::max(note->first, at);
    at = std::min(note->second.end, range.end());
    if (note->second.live) parts.push_back({begin, at - begin});
  }
  if (at < range.end()) parts.push_back({at, range.end() - at});
  return parts;
}

}  // namespace graphtree::host
