// Two ordered maps: reservations, and runs of equal rights.
#include "device/host/checks/access_table.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_format.h"

namespace graphtree::host {

void AccessTable::Split(Address at) {
  auto next = entries_.upper_bound(at);
  if (next == entries_.begin()) return;
  Entry& before = std::prev(next)->second;
  if (std::prev(next)->first == at || before.end <= at) return;
  const Entry rest = before;
  before.end = at;
  entries_.emplace(at, rest);
}

void AccessTable::JoinWithNeighbours(Entries::iterator entry) {
  const auto next = std::next(entry);
  if (next != entries_.end() && next->first == entry->second.end &&
      next->second.rights == entry->second.rights) {
    entry->second.end = next->second.end;
    entries_.erase(next);
  }
  if (entry == entries_.begin()) return;
  const auto before = std::prev(entry);
  if (before->second.end == entry->first && before->second.rights == entry->second.rights) {
    before->second.end = entry->second.end;
    entries_.erase(entry);
  }
}

void AccessTable::SetRights(AddressRange range, MemoryAccess rights) {
  if (range.empty()) return;
  Split(range.base);
  Split(range.end());
  entries_.erase(entries_.lower_bound(range.base), entries_.lower_bound(range.end()));
  if (rights == MemoryAccess::kNone) return;
  JoinWithNeighbours(entries_.emplace(range.base, Entry{range.end(), rights}).first);
}

bool AccessTable::TouchesReservation(AddressRange range) const {
  const auto behind = reserved_.lower_bound(range.end());
  return behind != reserved_.begin() && std::prev(behind)->second.Overlaps(range);
}

bool AccessTable::IsReserved(Address address) const {
  const auto behind = reserved_.upper_bound(address);
  return behind != reserved_.begin() && std::prev(behind)->second.Contains(address);
}

std::string AccessTable::Check(AddressRange range, bool write) const {
  if (range.end() < range.base) {
    return absl::StrFormat("[%#x, +%d) goes past the last address", range.base, range.bytes);
  }
  Address at = range.base;
  auto entry = entries_.upper_bound(at);
  if (entry != entries_.begin() && std::prev(entry)->second.end > at) --entry;
  for (; at < range.end(); ++entry) {
    if (entry == entries_.end() || entry->first > at) {
      if (at == range.base && !TouchesReservation(range)) return "";
      return absl::StrFormat(
          "[%#x, +%d) is not accessible from %#x on: nothing is mapped there, or "
          "its access was never set",
          range.base, range.bytes, at);
    }
    if (write && entry->second.rights == MemoryAccess::kRead) {
      return absl::StrFormat("[%#x, +%d) may only be read from %#x on", range.base, range.bytes,
                             at);
    }
    at = entry->second.end;
  }
  return "";
}

std::vector<AddressRange> AccessTable::Writable(AddressRange range) const {
  std::vector<AddressRange> parts;
  auto entry = entries_.upper_bound(range.base);
  if (entry != entries_.begin()) --entry;
  for (; entry != entries_.end() && entry->first < range.end(); ++entry) {
    const Address base = std::max(range.base, entry->first);
    const Address end = std::min(range.end(), entry->second.end);
    if (base < end && entry->second.rights == MemoryAccess::kReadWrite) {
      parts.push_back({base, end - base});
    }
  }
  return parts;
}

}  // namespace graphtree::host
