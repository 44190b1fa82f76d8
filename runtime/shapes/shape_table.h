// The shapes of a program: which of them serves a call, and if none does, why.
//
// Shapes stand in the order of their cost: the least tokens first, then the least requests, query
// length, context, adaptors, microbatches, speculation, kind, extra; any stands after every value;
// with one key for two modes, full stands before segmented. The place in this order is a shape's
// *index*. The first shape that covers the call, is allowed and is usable serves it.
//
//   index                     0    1    2    3    4    5    6    7
//   covers the call           .    .    .    1    1    .    .    1    cover_index.h: 64 in a word
//   & mode is allowed         .    .    .    1    1    .    .    1
//   & usable                  .    .    .    .    1    .    1    1    3 is not recorded yet
//                                            |    `- serves the call
//                                            `- would be better, and could be recorded
//
// Where nothing serves it, the call runs eagerly, and the first of these that holds says why:
//
//   a shape covers it and is allowed       what that shape was set to; the first such shape
//   a shape covers it                      mode
//   a shape would, with more padding       padding, and the field that is padded too much
//   a field is above all shapes            above_ceiling, and the field
//   a field is equal in none               uncovered, and the field
//
// The table is constant but for what is usable. Pure: no device, no clock, no lock; choosing takes
// nothing from the heap. Threads: any number may choose while nobody calls SetUsable.
#ifndef GRAPHTREE_RUNTIME_SHAPES_SHAPE_TABLE_H_
#define GRAPHTREE_RUNTIME_SHAPES_SHAPE_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/shapes/cover_index.h"
#include "runtime/shapes/key.h"
#include "runtime/shapes/mode.h"
#include "runtime/why.h"

namespace graphtree {

struct Shape {
  uint64_t id = 0;  // the caller's
  Key key = {};
  Mode mode = Mode::kFull;
};

inline constexpr uint32_t kNoShape = std::numeric_limits<uint32_t>::max();

struct Choice {
  Why why = Why::kUncovered;  // kHit or kCover: shape `index` serves the call; else it runs eagerly
  // Of kAboveCeiling, kUncovered and kPadding: the field that stands against every shape.
  std::optional<KeyField> field = std::nullopt;
  uint32_t index = kNoShape;
  // A shape that covers the call, is allowed, costs less than `index`, and is not usable now: the
  // call would be cheaper if it were. kNoShape if there is none.
  uint32_t better = kNoShape;
  // What the call is padded to. Where the shape takes any value this is the call's, and in an eager
  // run all of it is.
  Key key = {};
};

class ShapeTable {
 public:
  static constexpr size_t kMostShapes = CoverIndex::kMostKeys;

  // No shape is usable yet: all are set to kNotRecorded. InvalidArgument for rules or a shape that
  // make no sense (key.h), a shape for running eagerly, an id that stands twice, a key that stands
  // twice for one mode, too many shapes. None at all is fine: then every call is uncovered.
  static absl::StatusOr<ShapeTable> Make(const KeyRules& rules, absl::Span<const Shape> shapes);

  // A call with a negative number, or with any, is uncovered, with that field.
  Choice Choose(const Key& call, Modes allowed) const;

  // Whether the shape may serve calls from now on: kHit if it may, else why not: one of
  // kNotRecorded and what follows it in Why up to kEvicted, but kVotedDown.
  void SetUsable(uint32_t index, Why why);
  Why usable(uint32_t index) const { return whys_[index]; }

  // By index.
  size_t size() const { return shapes_.size(); }
  const Shape& shape(uint32_t index) const { return shapes_[index]; }
  // kNoShape if none has this id.
  uint32_t IndexOf(uint64_t id) const;
  // What the call becomes in the shape: the shape's fields, and the call's where that has any.
  Key Padded(uint32_t index, const Key& call) const;

  const KeyRules& rules() const { return rules_; }
  // The numbers that occur in a field, ascending, without any. REQUIRES: not kExtra.
  absl::Span<const int32_t> NumbersOf(KeyField field) const { return index_.NumbersOf(field); }
  // Whether a call's value of the field ever makes a difference: not if all shapes have any.
  bool Matters(KeyField field) const { return index_.Matters(field); }

  // The same for tables with the same rules, keys and modes, on every machine. Ids do not count.
  uint64_t digest() const { return digest_; }
  // The same for equal tables in which the same shapes are usable.
  uint64_t usable_digest() const { return usable_digest_; }

  // "above_ceiling, tokens=600 where the largest is 512: it is larger than ...", for people.
  // REQUIRES: the choice is this table's for this call.
  std::string Describe(const Key& call, const Choice& choice) const;

 private:
  struct Found {
    bool covers = false;         // some shape covers the call, whatever its mode
    uint32_t first = kNoShape;   // the first that covers it and is allowed
    uint32_t chosen = kNoShape;  // the first that is usable, too
  };

  ShapeTable() = default;

  void Build();
  Choice Served(const Key& call, const Found& found) const;
  // Looks at the shapes [begin, end). True if one was chosen.
  bool Scan(const CoverIndex::Narrowed& narrowed, const CoverIndex::Limits& limits, uint32_t begin,
            uint32_t end, Modes allowed, Found* found) const;
  // Where the first shape that would cover the call is padded too much or may not serve it.
  Choice ChooseFrom(uint32_t first, const Key& call, Modes allowed,
                    const CoverIndex::Narrowed& narrowed, std::optional<KeyField> too_much) const;
  Choice NothingWould(const Key& call, const CoverIndex::Narrowed& narrowed) const;

  KeyRules rules_;
  std::vector<Shape> shapes_;
  absl::flat_hash_map<uint64_t, uint32_t> by_id_;
  CoverIndex index_;
  std::vector<KeyWords> keys_;         // of the shapes
  std::vector<KeyWords> open_;         // all ones where they have any
  std::vector<uint64_t> of_modes_[4];  // bits by index, for each Modes::bits()
  std::vector<uint64_t> usable_;
  std::vector<Why> whys_;
  uint64_t digest_ = 0;
  uint64_t usable_digest_ = 0;
};

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_SHAPES_SHAPE_TABLE_H_
