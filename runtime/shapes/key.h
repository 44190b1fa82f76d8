// What a step is asked to be: a few numbers that say which graph may serve it.
//
// A *call* has a key, and so has a *shape*, for which a graph is recorded. The rules say, field by
// field, when a larger shape *covers* a smaller call:
//
//   field         | rule        | call |  shapes that cover it, of 0 1 2 4 8 16 24 32 and any
//   tokens        | at most     |   9  |  16 24 32 any        the call is padded
//   tokens, <= 2x | at most     |   9  |  16 any              24 is more than 2 * 9
//   adaptors      | power of 2  |   3  |  4 any               3 rounded up, and nothing else
//   kind          | equal       |   2  |  2 any
//
// A shape covers a call if it does in every field. A field that neither sets is 0, and 0 covers 0
// under every rule. A shape's field may be any: then its graph takes every value of that field.
//
// Pure values: no device, no clock, no lock.
#ifndef GRAPHTREE_RUNTIME_SHAPES_KEY_H_
#define GRAPHTREE_RUNTIME_SHAPES_KEY_H_

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>

#include "absl/status/status.h"

namespace graphtree {

// A shape's field that takes every value. A call's fields are never negative.
inline constexpr int32_t kAny = -1;

// Numbers are 0 or more.
struct Key {
  int32_t kind = 0;  // the caller's: prefill, decode, draft, ...
  int32_t tokens = 0;
  int32_t requests = 0;
  int32_t query_length = 0;  // tokens of one request, where all have as many
  int32_t context = 0;       // tokens of the longest request, with those of earlier steps
  int32_t adaptors = 0;
  int32_t microbatches = 0;
  int32_t speculation = 0;  // tokens that are guessed ahead
  uint64_t extra = 0;       // the caller's, always compared for equality
  bool any_extra = false;   // of a shape: takes every value of `extra`

  friend bool operator==(const Key&, const Key&) = default;
};

// In the order in which shapes are compared: what makes a step expensive comes first.
enum class KeyField : uint8_t {
  kTokens,
  kRequests,
  kQueryLength,
  kContext,
  kAdaptors,
  kMicrobatches,
  kSpeculation,
  kKind,
  kExtra,  // the last one, and the only one that is no number
};

inline constexpr size_t kKeyFieldCount = static_cast<size_t>(KeyField::kExtra) + 1;
inline constexpr size_t kKeyNumberCount = kKeyFieldCount - 1;

// A key but for any_extra, as words: to compare and to mix whole keys at once.
struct KeyWords {
  static constexpr size_t kCount = 5;
  uint64_t words[kCount];

  static KeyWords Of(const Key& key) {
    static_assert(offsetof(Key, extra) + sizeof(Key::extra) == sizeof(words));
    KeyWords made;
    std::memcpy(made.words, &key, sizeof(words));
    return made;
  }
  void CopyTo(Key* key) const { std::memcpy(static_cast<void*>(key), words, sizeof(words)); }

  // Calls `use` with 0, 1, ... Written out, as compilers make a loop of so few words.
  template <typename Use>
  static void ForEach(const Use& use) {
    static_assert(kCount == 5);
    use(0), use(1), use(2), use(3), use(4);
  }
};

// By KeyField.
inline constexpr int32_t Key::*kKeyNumbers[] = {
    &Key::tokens,   &Key::requests,     &Key::query_length, &Key::context,
    &Key::adaptors, &Key::microbatches, &Key::speculation,  &Key::kind};
static_assert(sizeof(kKeyNumbers) / sizeof(kKeyNumbers[0]) == kKeyNumberCount);

// REQUIRES: not kExtra.
inline int32_t NumberOf(const Key& key, KeyField field) {
  return key.*kKeyNumbers[static_cast<size_t>(field)];
}
inline int32_t& NumberOf(Key& key, KeyField field) {
  return key.*kKeyNumbers[static_cast<size_t>(field)];
}

inline bool IsAny(const Key& key, KeyField field) {
  return field == KeyField::kExtra ? key.any_extra : NumberOf(key, field) == kAny;
}

// "query_length": the member's name.
const char* KeyFieldName(KeyField field);

// "tokens=8 requests=8 context=any", for people. Fields that are 0 are left out, and a key without
// any other is "empty".
std::string ToString(const Key& key);

// When a number of a shape covers the call's.
enum class Covers : uint8_t {
  kEqual,
  kAtMost,      // the call's is at most the shape's
  kPowerOfTwo,  // the call's, rounded up to a power of two (0 stays 0), is the shape's
};

// "at most".
const char* CoversName(Covers covers);

// Both limits hold, against the call's own number; a field without limits is padded as far as
// shapes go. A ratio allows a call of 0 no padding.
struct FieldRule {
  static constexpr double kNoRatio = std::numeric_limits<double>::infinity();
  static constexpr int32_t kNoExtra = std::numeric_limits<int32_t>::max();

  Covers covers = Covers::kEqual;
  double most_ratio = kNoRatio;   // the shape's number is at most so many times the call's
  int32_t most_extra = kNoExtra;  // the shape's number is at most so much more than the call's

  bool is_limited() const { return most_ratio != kNoRatio || most_extra != kNoExtra; }
};

// One rule for each number. `extra` is always compared for equality.
struct KeyRules {
  FieldRule kind = {};
  FieldRule tokens = {Covers::kAtMost};
  FieldRule requests = {Covers::kAtMost};
  FieldRule query_length = {};
  FieldRule context = {Covers::kAtMost};
  FieldRule adaptors = {};
  FieldRule microbatches = {};
  FieldRule speculation = {};
};

// REQUIRES: not kExtra.
const FieldRule& RuleOf(const KeyRules& rules, KeyField field);

// The least number of a shape that covers the call's, before padding is looked at. Two to the 31st,
// which no shape has, where a power of two is wanted above the last one.
inline int64_t LeastCovering(const FieldRule& rule, int32_t call) {
  if (rule.covers != Covers::kPowerOfTwo || call == 0) return call;
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint32_t>(call)));
}

// The largest number of a shape to which the call's may be padded.
inline int64_t MostCovering(const FieldRule& rule, int32_t call) {
  int64_t most = int64_t{call} + rule.most_extra;
  if (rule.most_ratio != FieldRule::kNoRatio) {
    const double product = std::min(call * rule.most_ratio, 4e18);
    most = std::min(most, static_cast<int64_t>(product));
  }
  return most;
}

// InvalidArgument, with the field and the value, where
//   - a call has a negative number, or any;
//   - a shape has a negative number that is not kAny, or no power of two where the rule wants one;
//   - a rule has a ratio below 1 or that is no number, a negative extra, or limits although it
//     never pads.
absl::Status CheckCall(const Key& call);
absl::Status CheckShapeKey(const Key& shape, const KeyRules& rules);
absl::Status CheckRules(const KeyRules& rules);

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_SHAPES_KEY_H_
