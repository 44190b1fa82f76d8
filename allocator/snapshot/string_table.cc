// Interning: look up by hash, else copy the characters into the current chunk.
#include "allocator/snapshot/string_table.h"

#include <algorithm>
#include <cstring>

namespace graphtree::snapshot {
namespace {

constexpr size_t kFirstChunkBytes = 4 << 10;
constexpr size_t kMostChunkBytes = 64 << 10;

template <typename T>
uint64_t Load(const char* p) {
  T value;
  std::memcpy(&value, p, sizeof(value));
  return value;
}

// Both factors hold a secret, so that no text can be chosen that makes one of them zero.
uint64_t Fold(uint64_t a, uint64_t b) {
  const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

}  // namespace

// Sixteen bytes a step, long texts in two chains that do not wait for each other; the last step
// takes the last sixteen, or all where there are fewer.
uint64_t StringTable::Hash(absl::string_view text) const {
  const char* p = text.data();
  size_t left = text.size();
  uint64_t hash = seed_ ^ (left * 0x9e3779b97f4a7c15u);
  if (left > 48) {
    uint64_t second = hash;
    for (; left > 32; left -= 32, p += 32) {
      hash = Fold(Load<uint64_t>(p) ^ other_seed_, Load<uint64_t>(p + 8) ^ hash);
      second = Fold(Load<uint64_t>(p + 16) ^ seed_, Load<uint64_t>(p + 24) ^ second);
    }
    hash ^= Fold(second, other_seed_);
  }
  for (; left > 16; left -= 16, p += 16) {
    hash = Fold(Load<uint64_t>(p) ^ other_seed_, Load<uint64_t>(p + 8) ^ hash);
  }
  uint64_t first = 0;
  uint64_t last = 0;
  if (left >= 8) {
    first = Load<uint64_t>(p);
    last = Load<uint64_t>(p + left - 8);
  } else if (left >= 4) {
    first = Load<uint32_t>(p);
    last = Load<uint32_t>(p + left - 4);
  } else if (left != 0) {
    first = Load<uint8_t>(p) | (Load<uint8_t>(p + left / 2) << 8);
    last = Load<uint8_t>(p + left - 1);
  }
  return Fold(Fold(first ^ other_seed_, last ^ hash) ^ seed_, other_seed_);
}

// The words are hashed once in a process; a table begins as a copy.
StringTable::StringTable() {
  const StringTable& words = Words();
  strings_.Append(words.strings_.data(), words.strings_.size());
  index_ = words.index_;
}

StringTable::StringTable(OnlyWords) {
  for (absl::string_view word : words::kTexts) Intern(word);
}

const StringTable& StringTable::Words() {
  static const StringTable& words = *new StringTable(OnlyWords());  // never destroyed
  return words;
}

StringId StringTable::Find(absl::string_view text) const {
  return index_.Find(Hash(text), [&](uint32_t id) { return (*this)[id] == text; });
}

StringId StringTable::Intern(absl::string_view text) {
  const uint64_t hash = Hash(text);
  const StringId found = index_.Find(hash, [&](uint32_t id) { return (*this)[id] == text; });
  if (found != kNoId) return found;
  const StringId id = static_cast<StringId>(strings_.size());
  strings_.Push({Copy(text), text.size()});
  index_.Insert(hash, id);
  return id;
}

const char* StringTable::Copy(absl::string_view text) {
  if (text.size() > free_bytes_) {
    if (text.size() > kMostChunkBytes / 4) {
      chunks_.emplace_back(new char[text.size()]);
      chunk_bytes_ += text.size();
      std::memcpy(chunks_.back().get(), text.data(), text.size());
      return chunks_.back().get();
    }
    // As much again as there is already, so that a small file does not pay for a large one's room.
    free_bytes_ = std::clamp(chunk_bytes_, kFirstChunkBytes, kMostChunkBytes);
    free_bytes_ = std::max(free_bytes_, text.size());
    chunks_.emplace_back(new char[free_bytes_]);
    chunk_bytes_ += free_bytes_;
    free_ = chunks_.back().get();
  }
  char* const copy = free_;
  if (!text.empty()) std::memcpy(copy, text.data(), text.size());
  free_ += text.size();
  free_bytes_ -= text.size();
  return copy;
}

}  // namespace graphtree::snapshot
