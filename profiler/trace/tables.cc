// Interning into chunks that never move.
#include "profiler/trace/tables.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace graphtree::trace {
namespace {

constexpr size_t kChunkBytes = 1 << 16;

}  // namespace

static_assert(std::is_trivially_copyable_v<Identity>);
static_assert(std::has_unique_object_representations_v<Identity>, "it is hashed as bytes");

TraceTables::TraceTables(TableLimits limits) : limits_(limits) {
  texts_.push_back("");
  text_ids_[""] = 0;
  too_many_ = Text(kTooMany);
  identities_.push_back({});
  identity_ids_[Copy(BytesOf(Identity{}))] = 0;
  too_many_identity_ = Intern({.name = too_many_});
}

absl::string_view TraceTables::Copy(absl::string_view text) {
  if (text.size() > free_bytes_) {
    free_bytes_ = std::max(kChunkBytes, text.size());
    chunks_.emplace_back(new char[free_bytes_]);
    free_ = chunks_.back().get();
    chunk_bytes_ += free_bytes_;
  }
  char* const copy = free_;
  if (!text.empty()) std::memcpy(copy, text.data(), text.size());
  free_ += text.size();
  free_bytes_ -= text.size();
  return {copy, text.size()};
}

TextId TraceTables::Text(absl::string_view text) {
  const auto found = text_ids_.find(text);
  if (found != text_ids_.end()) return found->second;
  const size_t left = limits_.text_bytes - std::min(limits_.text_bytes, chunk_bytes_);
  if (too_many_ != 0 && (texts_.size() >= limits_.texts ||
                         text.size() > std::max(left, free_bytes_))) {
    ++overflowed_;
    return too_many_;
  }
  const TextId id = static_cast<TextId>(texts_.size());
  texts_.push_back(Copy(text));
  text_ids_[texts_.back()] = id;
  return id;
}

IdentityId TraceTables::Intern(const Identity& identity) {
  const auto found = identity_ids_.find(BytesOf(identity));
  if (found != identity_ids_.end()) return found->second;
  if (too_many_identity_ != 0 && identities_.size() >= limits_.identities) {
    ++overflowed_;
    return too_many_identity_;
  }
  const IdentityId id = static_cast<IdentityId>(identities_.size());
  identities_.push_back(identity);
  identity_ids_[Copy(BytesOf(identity))] = id;
  return id;
}

size_t TraceTables::bytes() const {
  return chunk_bytes_ + texts_.capacity() * sizeof(texts_[0]) +
         identities_.capacity() * sizeof(Identity) +
         (text_ids_.capacity() + identity_ids_.capacity()) * 3 * sizeof(uint64_t);
}

}  // namespace graphtree::trace
