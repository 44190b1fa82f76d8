// Interning: look up by hash, else copy the characters into the current chunk.
#include "allocator/snapshot/string_table.h"

#include <cstring>

#include "absl/hash/hash.h"

namespace graphtree::snapshot {
namespace {

constexpr size_t kChunkBytes = 64 << 10;

uint64_t HashText(absl::string_view text) { return MixHash(HashSeed(), absl::HashOf(text)); }

}  // namespace

StringTable::StringTable() {
  for (absl::string_view word : words::kTexts) Intern(word);
}

StringId StringTable::Find(absl::string_view text) const {
  return index_.Find(HashText(text), [&](uint32_t id) { return (*this)[id] == text; });
}

StringId StringTable::Intern(absl::string_view text) {
  const uint64_t hash = HashText(text);
  const StringId found = index_.Find(hash, [&](uint32_t id) { return (*this)[id] == text; });
  if (found != kNoId) return found;
  const StringId id = static_cast<StringId>(strings_.size());
  strings_.Push({Copy(text), text.size()});
  index_.Insert(hash, id, [&](uint32_t other) { return HashText((*this)[other]); });
  return id;
}

const char* StringTable::Copy(absl::string_view text) {
  if (text.size() > free_bytes_) {
    if (text.size() > kChunkBytes / 4) {
      chunks_.emplace_back(new char[text.size()]);
      chunk_bytes_ += text.size();
      std::memcpy(chunks_.back().get(), text.data(), text.size());
      return chunks_.back().get();
    }
    chunks_.emplace_back(new char[kChunkBytes]);
    chunk_bytes_ += kChunkBytes;
    free_ = chunks_.back().get();
    free_bytes_ = kChunkBytes;
  }
  char* const copy = free_;
  if (!text.empty()) std::memcpy(copy, text.data(), text.size());
  free_ += text.size();
  free_bytes_ -= text.size();
  return copy;
}

}  // namespace graphtree::snapshot
