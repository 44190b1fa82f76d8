// May a recording serve this call? Pure: no device, no lock, no clock.
//
// A recording keeps one row for each input of the call that it was made from:
//
//   row      | layout | word             | mask          |
//   static   | f32[8] | 0x7f00...        | all ones      |  the address must be the recorded one
//   managed  | f32[8] | 0x6000...        | all ones      |  an output of this path, so likewise
//   integer  | int    | 17               | all ones      |  the value must be the recorded one
//   opaque   | opaque | version          | all ones, or 0 without a version
//   copied   | f32[8] | -                | 0             |  any address: the graph copies it first
//   patched  | f32[8] | 0x...0           | alignment - 1 |  any address as well aligned
//
// so that one loop over pairs of words, without a branch on the kind, decides. The hash over the
// same words finds a recording among many in one look-up.
#ifndef GRAPHTREE_GRAPHS_MATCH_MATCH_H_
#define GRAPHTREE_GRAPHS_MATCH_MATCH_H_

#include <cstdint>
#include <cstring>
#include <vector>

#include "absl/types/span.h"
#include "graphs/tensor.h"

namespace graphtree {

enum class InputRole : uint8_t { kStatic, kManaged, kInteger, kNone, kCopied, kPatched, kOpaque };

// Whether a recording that takes a tensor so serves no other address of it.
inline bool IsPinned(InputRole role) {
  return role == InputRole::kStatic || role == InputRole::kManaged;
}

struct RecordedInput {
  const Layout* layout = nullptr;
  uint64_t word = 0;
  uint64_t mask = ~uint64_t{0};
};

// The row for one input. For a patched input `alignment` is the power of two that the recorded
// address was a multiple of and the new one must be.
RecordedInput RowFor(InputRole role, const Value& input, uint64_t alignment = 1);

struct Comparison {
  bool match = false;
  bool any_storage = false;  // some input is a tensor that a tree made
};

// REQUIRES: as many inputs as rows.
inline bool InputsMatch(absl::Span<const RecordedInput> rows, absl::Span<const Value> inputs) {
  uint64_t differs = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    differs |= (inputs[i].word() ^ rows[i].word) & rows[i].mask;
    differs |= reinterpret_cast<uintptr_t>(inputs[i].layout()) ^
               reinterpret_cast<uintptr_t>(rows[i].layout);
  }
  return differs == 0;
}

// The rows of a recording, laid out for comparing. Static inputs that the caller owns, integers and
// nothings come as the same 24 bytes every time, often hundreds in a row: such runs are compared as
// memory, several times as fast as row by row.
//
//   inputs   | w0 | w1 | w2 | ... | w255 | x | y |
//              \______ one run _______/    \___ loose rows
class InputPattern {
 public:
  InputPattern() = default;
  // `alignments` are those of the patched inputs, by input, up to the last of these.
  InputPattern(absl::Span<const InputRole> roles, absl::Span<const Value> inputs,
               absl::Span<const uint64_t> alignments = {});

  absl::Span<const RecordedInput> rows() const { return rows_; }
  // Whether the word of input i is part of a call's hash.
  bool pins(size_t i) const { return pins_[i]; }
  // The inputs that are taken at any address, or at any that is as well aligned.
  const std::vector<uint32_t>& anywhere() const { return anywhere_; }

  // REQUIRES: as many inputs as rows.
  Comparison Compare(absl::Span<const Value> inputs) const {
    const unsigned char* image = image_.data();
    for (const Run& run : runs_) {
      const size_t bytes = run.count * sizeof(Value);
      if (std::memcmp(static_cast<const void*>(&inputs[run.begin]), image, bytes) != 0) return {};
      image += bytes;
    }
    uint64_t differs = 0;
    uintptr_t storages = 0;
    for (uint32_t i : loose_) {
      differs |= (inputs[i].word() ^ rows_[i].word) & rows_[i].mask;
      differs |= reinterpret_cast<uintptr_t>(inputs[i].layout()) ^
                 reinterpret_cast<uintptr_t>(rows_[i].layout);
      storages |= reinterpret_cast<uintptr_t>(inputs[i].storage());
    }
    return {differs == 0, storages != 0};
  }

 private:
  struct Run {
    uint32_t begin = 0;
    uint32_t count = 0;
  };

  std::vector<RecordedInput> rows_;
  std::vector<bool> pins_;
  std::vector<Run> runs_;
  std::vector<unsigned char> image_;  // of the runs' values, one after the other
  std::vector<uint32_t> loose_;       // the rows outside of runs
  std::vector<uint32_t> anywhere_;
};

// The first input that does not match, for messages and reasons; rows.size() if all do.
size_t FirstMismatch(absl::Span<const RecordedInput> rows, absl::Span<const Value> inputs);

// A hash over what a recording pins: layouts, and the words of all inputs but copied and patched
// ones. Two calls that a recording cannot tell apart have the same hash.
class PinHash {
 public:
  static bool Pins(InputRole role) {
    return role != InputRole::kCopied && role != InputRole::kPatched;
  }
  void Add(InputRole role, const Value& input) {
    Add(input.layout(), input.word(), Pins(role));
  }
  void Add(const Layout* layout, uint64_t word, bool pinned) {
    Mix(reinterpret_cast<uintptr_t>(layout));
    Mix(pinned ? word : ~uint64_t{0});
  }
  uint64_t value() const { return hash_; }

 private:
  void Mix(uint64_t word) {
    hash_ = (hash_ ^ word) * 0x9e3779b97f4a7c15u;
    hash_ ^= hash_ >> 29;
  }
  uint64_t hash_ = 0;
};

uint64_t HashInputs(absl::Span<const InputRole> roles, absl::Span<const Value> inputs);

// Names an output on a path: its node's level, counted from the root, and its number there.
struct OutputRef {
  uint32_t level = 0;
  uint32_t output = 0;
  friend bool operator==(OutputRef a, OutputRef b) {
    return a.level == b.level && a.output == b.output;
  }
  friend bool operator<(OutputRef a, OutputRef b) {
    return a.level != b.level ? a.level < b.level : a.output < b.output;
  }
};

// A hash over the outputs that are alive; their order does not matter.
class LiveHash {
 public:
  void Add(OutputRef output) {
    uint64_t word = (uint64_t{output.level} << 32 | output.output) + 1;
    word *= 0x9e3779b97f4a7c15u;
    word = (word ^ word >> 32) * 0xd6e8feb86659fd93u;
    sum_ += word ^ word >> 32;
  }
  uint64_t value() const { return sum_; }

 private:
  uint64_t sum_ = 0;
};

// The outputs of a path that may be alive when a recording begins: its memory was laid out around
// them. Anything else alive would be overwritten; anything less leaves a hole that nobody uses.
class LiveSet {
 public:
  LiveSet() = default;
  explicit LiveSet(std::vector<OutputRef> live);

  bool Contains(OutputRef output) const {
    if (output.level >= first_bit_.size()) return false;
    const uint32_t begin = first_bit_[output.level];
    const uint32_t bits = bits_of_[output.level];
    if (output.output >= bits) return false;
    const uint32_t bit = begin + output.output;
    return (words_[bit / 64] >> (bit % 64) & 1) != 0;
  }
  const std::vector<OutputRef>& outputs() const { return outputs_; }
  uint64_t hash() const {
    LiveHash hash;
    for (const OutputRef output : outputs_) hash.Add(output);
    return hash.value();
  }

 private:
  std::vector<OutputRef> outputs_;   // sorted
  std::vector<uint32_t> first_bit_;  // by level
  std::vector<uint32_t> bits_of_;    // by level
  std::vector<uint64_t> words_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_MATCH_MATCH_H_
