// RowPatterns: how the rows of one kind lie in a pickle, learned from the first of them.
//
// A writer takes every block and every trace entry through the same lines of code, so their
// dictionaries have the same keys in the same order, each key the same two or five bytes:
//
//   ( h 7 <action>  h 9 <addr>  h 11 <size>  ...  u        "h 7": memo number 7, the text "action"
//
// In the first row the keys are written out; their memo numbers are what the pattern holds. With a
// pattern a key is one compare of a word, and its value goes straight into its column; no
// pair is collected, no shape looked up. A row that is not like the pattern is read as if there
// were none, and teaches a new one.
//
// Patterns are found by the first key. Of two that share it the last one that fitted is tried
// first. Who uses them has them forgotten when a memo number gets another meaning.
//
// Not safe for concurrent use. Finding one takes constant time.
#ifndef GRAPHTREE_TOOLS_SNAPSHOT_READ_ROW_PATTERNS_H_
#define GRAPHTREE_TOOLS_SNAPSHOT_READ_ROW_PATTERNS_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "allocator/snapshot/pickle_opcodes.h"
#include "allocator/snapshot/tables.h"
#include "allocator/snapshot/value.h"
#include "allocator/snapshot/words.h"

namespace graphtree::snapshot {

struct RowPattern {
  static constexpr size_t kMostKeys = 16;
  static constexpr uint8_t kNone = 0xff;
  static constexpr StringId kNoWord = ~StringId{0};

  // A key as it is pickled, which is at most five bytes, and what it says.
  struct Key {
    uint64_t bytes;
    uint64_t mask;
    uint32_t size;
    StringId word;

    bool Matches(const char* p) const {
      uint64_t there;
      std::memcpy(&there, p, sizeof(there));
      return ((there ^ bytes) & mask) == 0;
    }
  };

  Key keys[kMostKeys + 1];  // behind the last one kNoWord
  size_t key_count = 0;
  Object::Kind kind = Object::kNewDict;
  ShapeId shape = 0;
  uint8_t other = kNone;  // one with the same first key

  // `p` has eight readable bytes.
  void AddKey(const char* p, size_t size, StringId word) {
    if (key_count < kMostKeys) {
      Key& key = keys[key_count];
      key.mask = (uint64_t{1} << (8 * size)) - 1;
      std::memcpy(&key.bytes, p, sizeof(key.bytes));
      key.bytes &= key.mask;
      key.size = static_cast<uint32_t>(size);
      key.word = word;
    }
    ++key_count;
  }
  // A key that was written out, and from now on is memo number `index`.
  void AddNewKey(uint32_t index, StringId word) {
    char bytes[sizeof(uint64_t)] = {};
    const bool is_short = index <= 0xff;
    bytes[0] = is_short ? pickle::kBinGet : pickle::kLongBinGet;
    std::memcpy(bytes + 1, &index, sizeof(index));
    AddKey(bytes, is_short ? 2 : 5, word);
  }
  // A key that is written out in each row; such rows have no pattern.
  void AddUnnumberedKey() { key_count = kMostKeys + 1; }
  bool SameKeys(const RowPattern& pattern) const {
    if (key_count != pattern.key_count) return false;
    for (size_t i = 0; i < key_count; ++i) {
      if (keys[i].bytes != pattern.keys[i].bytes) return false;
    }
    return true;
  }
};

class RowPatterns {
 public:
  // The pattern of a row whose first key is at `p`; null where there is none.
  const RowPattern* Find(const char* p) const {
    const uint8_t first = first_[Slot(p)];
    return first == RowPattern::kNone ? nullptr : &patterns_[first];
  }
  // Another one, where that did not fit.
  const RowPattern* Other(const RowPattern& pattern) const {
    return pattern.other == RowPattern::kNone ? nullptr : &patterns_[pattern.other];
  }
  // It fitted: it is the one to try first from now on.
  void Prefer(const RowPattern& pattern) {
    RowPattern& fitted = patterns_[static_cast<size_t>(&pattern - patterns_.data())];
    uint8_t& first = first_[SlotOf(fitted)];
    if (&patterns_[first] == &fitted) return;
    fitted.other = first;
    first = static_cast<uint8_t>(&fitted - patterns_.data());
  }
  // A row has been read that no pattern fitted.
  void Learn(const RowPattern& pattern) {
    for (const RowPattern& known : patterns_) {
      if (known.SameKeys(pattern)) return Prefer(known);
    }
    if (patterns_.size() == kMostPatterns) Forget();
    if (patterns_.empty()) patterns_.reserve(kUsualPatterns);
    patterns_.push_back(pattern);
    uint8_t& first = first_[SlotOf(pattern)];
    patterns_.back().other = first;
    first = static_cast<uint8_t>(patterns_.size() - 1);
  }
  // Costs nothing where nothing is known.
  void Forget() {
    if (patterns_.empty()) return;
    patterns_.clear();
    std::memset(first_, RowPattern::kNone, sizeof(first_));
  }

  RowPatterns() { std::memset(first_, RowPattern::kNone, sizeof(first_)); }

 private:
  static constexpr size_t kMostPatterns = 32;
  static constexpr size_t kUsualPatterns = 6;
  static constexpr size_t kSlots = 64;

  // The byte after the opcode tells the keys of a file apart well enough.
  static size_t Slot(const char* p) { return static_cast<uint8_t>(p[1]) % kSlots; }
  static size_t SlotOf(const RowPattern& pattern) {
    return static_cast<uint8_t>(pattern.keys[0].bytes >> 8) % kSlots;
  }

  std::vector<RowPattern> patterns_;
  uint8_t first_[kSlots];
};

}  // namespace graphtree::snapshot

#endif  // GRAPHTREE_TOOLS_SNAPSHOT_READ_ROW_PATTERNS_H_
