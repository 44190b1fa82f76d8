// StackCache: recognises a pickled list of frames by its bytes, without reading it.
//
// A training loop asks for memory from the same few hundred lines over and over. Each time the
// file holds a new list of thirty or three hundred frames, all of them memo references and so, as
// long as the memo says the same, byte for byte the list of the last time:
//
//   ( j 12 j 340 j 341 ... e        a compare of memory instead of a walk through the memo
//
// The first guess is the list that followed the last one when that was seen before, since loops
// repeat; then come the newest lists that began with the same bytes, which are many where all
// memory is asked for through the same innermost lines. Who uses the cache has it forget everything
// when a memo number that was in use gets another meaning. It holds a megabyte at most, then starts
// anew.
//
// Not safe for concurrent use. A few compares of memory.
#ifndef GRAPHTREE_TOOLS_SNAPSHOT_READ_STACK_CACHE_H_
#define GRAPHTREE_TOOLS_SNAPSHOT_READ_STACK_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "allocator/snapshot/id_table.h"

namespace graphtree::snapshot {

class StackCache {
 public:
  static constexpr size_t kHeadBytes = 20;  // of which the guess by the beginning is made

  struct Known {
    size_t first;  // of its text
    size_t size;
    uint32_t stack;
    uint32_t head;   // a hash of its beginning
    uint32_t next;   // the list that came after it, or kNoId
    uint32_t older;  // with the same slot, or kNoId
  };

  // The list that followed the last one before, if it begins at `text`, too; else null.
  const Known* FindNext(const char* text, const char* end) {
    if (last_ == kNoId || !Follow(known_[last_].next, text, end)) return nullptr;
    return &known_[last_];
  }
  // Any list that begins at `text`, which has at least kHeadBytes before `end`; null if unknown.
  const Known* Find(const char* text, const char* end) {
    if (known_.empty()) return nullptr;
    const uint32_t before = last_;
    const uint32_t head = Head(text);
    uint32_t guess = by_head_[Slot(head)];
    for (int guesses = 0; guesses < kMostGuesses && guess != kNoId; ++guesses) {
      if (known_[guess].head == head && Follow(guess, text, end)) {
        if (before != kNoId) known_[before].next = guess;
        return &known_[guess];
      }
      guess = known_[guess].older;
    }
    return nullptr;
  }

  // A list that Find did not know.
  void Add(absl::string_view text, uint32_t stack) {
    if (text.size() < kHeadBytes || text.size() > kMostBytes) return;
    if (texts_.size() + text.size() > kMostBytes) Clear();
    if (known_.size() >= by_head_.size()) Grow();
    const uint32_t added = static_cast<uint32_t>(known_.size());
    const uint32_t head = Head(text.data());
    uint32_t& newest = by_head_[Slot(head)];
    known_.push_back({texts_.size(), text.size(), stack, head, kNoId, newest});
    texts_.insert(texts_.end(), text.begin(), text.end());
    newest = added;
    if (last_ != kNoId) known_[last_].next = added;
    last_ = added;
  }

  // Costs nothing where nothing is known.
  void Forget() {
    if (!known_.empty()) Clear();
  }

 private:
  void Clear() {
    texts_.clear();
    known_.clear();
    by_head_.clear();
    last_ = kNoId;
  }

  static constexpr size_t kMostBytes = 1 << 20;
  static constexpr size_t kFirstSlots = 1 << 7;
  static constexpr int kMostGuesses = 16;

  static uint32_t Head(const char* text) {
    uint64_t words[3] = {};
    std::memcpy(words, text, kHeadBytes);
    return static_cast<uint32_t>(MixHash(words[0] ^ (words[2] << 17), words[1]) >> 32);
  }
  size_t Slot(uint32_t head) const { return head & (by_head_.size() - 1); }

  void Grow() {
    by_head_.assign(by_head_.empty() ? kFirstSlots : 4 * by_head_.size(), kNoId);
    for (uint32_t i = 0; i < known_.size(); ++i) {
      known_[i].older = std::exchange(by_head_[Slot(known_[i].head)], i);
    }
  }

  bool Follow(uint32_t guess, const char* text, const char* end) {
    if (guess == kNoId) return false;
    const Known& known = known_[guess];
    if (known.size > static_cast<size_t>(end - text) ||
        std::memcmp(texts_.data() + known.first, text, known.size) != 0) {
      return false;
    }
    last_ = guess;
    return true;
  }

  std::vector<char> texts_;
  std::vector<Known> known_;
  std::vector<uint32_t> by_head_;
  uint32_t last_ = kNoId;
};

}  // namespace graphtree::snapshot

#endif  // GRAPHTREE_TOOLS_SNAPSHOT_READ_STACK_CACHE_H_
