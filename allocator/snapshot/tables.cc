// Interning of frames, lists of ids, and extra keys.
#include "allocator/snapshot/tables.h"

#include <algorithm>

namespace graphtree::snapshot {
namespace {

uint64_t HashFrame(const Frame& frame) {
  const uint64_t names = (static_cast<uint64_t>(frame.name) << 32) | frame.filename;
  const uint64_t form = (static_cast<uint64_t>(frame.shape) << 32) | frame.extras;
  return MixHash(MixHash(MixHash(HashSeed(), names), static_cast<uint64_t>(frame.line)), form);
}

bool SameFrame(const Frame& a, const Frame& b) {
  return a.name == b.name && a.filename == b.filename && a.line == b.line && a.shape == b.shape &&
         a.extras == b.extras;
}

uint64_t HashItems(absl::Span<const DictItem> items) {
  uint64_t hash = MixHash(HashSeed(), items.size());
  for (const DictItem& item : items) {
    hash = MixHash(MixHash(hash, item.key.bits()), item.value.bits());
  }
  return hash;
}

bool SameItems(absl::Span<const DictItem> a, absl::Span<const DictItem> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.key == y.key && x.value == y.value;
  });
}

}  // namespace

FrameId FrameTable::Intern(const Frame& frame) {
  const uint64_t hash = HashFrame(frame);
  const uint32_t found =
      index_.Find(hash, [&](uint32_t id) { return SameFrame(frames_[id], frame); });
  if (found != kNoId) return found;
  const FrameId id = static_cast<FrameId>(frames_.size());
  frames_.Push(frame);
  index_.Insert(hash, id);
  return id;
}

ListTable::ListTable() {
  starts_.Push(0);
  Intern({});
}

uint32_t ListTable::Intern(absl::Span<const uint32_t> list) {
  const uint64_t hash = HashWords(list.data(), list.size());
  const uint32_t found = index_.Find(hash, [&](uint32_t id) { return (*this)[id] == list; });
  if (found != kNoId) return found;
  const uint32_t id = static_cast<uint32_t>(size());
  items_.Append(list.data(), list.size());
  starts_.Push(items_.size());
  index_.Insert(hash, id);
  return id;
}

ExtrasTable::ExtrasTable() {
  starts_.Push(0);
  Intern({});
}

ExtrasId ExtrasTable::Intern(absl::Span<const DictItem> items) {
  if (items.empty() && starts_.size() > 1) return 0;
  const uint64_t hash = HashItems(items);
  const uint32_t found =
      index_.Find(hash, [&](uint32_t id) { return SameItems((*this)[id], items); });
  if (found != kNoId) return found;
  const ExtrasId id = static_cast<ExtrasId>(starts_.size() - 1);
  items_.Append(items.data(), items.size());
  starts_.Push(items_.size());
  index_.Insert(hash, id);
  return id;
}

std::optional<Value> ExtrasTable::Get(ExtrasId id, StringId key) const {
  for (const DictItem& item : (*this)[id]) {
    if (item.key.is_string(key)) return item.value;
  }
  return std::nullopt;
}

}  // namespace graphtree::snapshot
