// What a table of shapes should answer, found by looking at every shape: the model that tests hold
// ShapeTable against. It shares nothing with the table but the values.
#ifndef GRAPHTREE_RUNTIME_SHAPES_NAIVE_SHAPES_H_
#define GRAPHTREE_RUNTIME_SHAPES_NAIVE_SHAPES_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/shapes/key.h"
#include "runtime/shapes/mode.h"
#include "runtime/shapes/shape_table.h"
#include "runtime/why.h"

namespace graphtree {

struct NaiveShape {
  Shape shape;
  Why usable = Why::kNotRecorded;
};

class NaiveShapes {
 public:
  NaiveShapes(const KeyRules& rules, std::vector<NaiveShape> shapes)
      : rules_(rules), shapes_(std::move(shapes)) {
    std::sort(shapes_.begin(), shapes_.end(), [](const NaiveShape& a, const NaiveShape& b) {
      return CostOf(a.shape) < CostOf(b.shape);
    });
  }

  const std::vector<NaiveShape>& shapes() const { return shapes_; }

  Choice Choose(const Key& call, Modes allowed) const {
    Choice choice = {.key = call};
    uint32_t covering = 0;
    for (uint32_t i = 0; i < shapes_.size(); ++i) {
      if (!CoversAll(shapes_[i].shape.key, call, true)) continue;
      ++covering;
      if (!allowed.Has(shapes_[i].shape.mode)) continue;
      if (shapes_[i].usable != Why::kHit) {
        if (choice.better == kNoShape) choice.better = i;
        continue;
      }
      choice.index = i;
      choice.key = Padded(shapes_[i].shape.key, call);
      choice.why = choice.key == call ? Why::kHit : Why::kCover;
      return choice;
    }
    if (choice.better != kNoShape) {
      choice.why = shapes_[choice.better].usable;
    } else if (covering > 0) {
      choice.why = Why::kMode;
    } else if (!shapes_.empty()) {
      std::tie(choice.why, choice.field) = WhyNothingCovers(call);
    }
    return choice;
  }

  static bool CoversNumber(const FieldRule& rule, int32_t shape, int32_t call, bool with_limits) {
    if (shape == kAny) return true;
    if (rule.covers == Covers::kEqual) return shape == call;
    if (rule.covers == Covers::kAtMost && shape < call) return false;
    if (rule.covers == Covers::kPowerOfTwo && shape != RoundUp(call)) return false;
    if (!with_limits) return true;
    const bool too_much =
        rule.most_extra != FieldRule::kNoExtra && int64_t{shape} - int64_t{call} > rule.most_extra;
    const bool too_often = rule.most_ratio != FieldRule::kNoRatio && shape > rule.most_ratio * call;
    return !too_much && !too_often;
  }

 private:
  static int64_t RoundUp(int32_t call) {
    if (call == 0) return 0;
    int64_t power = 1;
    while (power < call) power *= 2;
    return power;
  }

  static std::array<uint64_t, 11> CostOf(const Shape& shape) {
    const Key& key = shape.key;
    const auto cost = [](int32_t number) {
      return number == kAny ? std::numeric_limits<uint64_t>::max() : uint64_t(number);
    };
    return {cost(key.tokens),
            cost(key.requests),
            cost(key.query_length),
            cost(key.context),
            cost(key.adaptors),
            cost(key.microbatches),
            cost(key.speculation),
            cost(key.kind),
            key.any_extra ? 1u : 0u,
            key.extra,
            shape.mode == Mode::kFull ? 0u : 1u};
  }

  bool CoversField(const Key& shape, const Key& call, KeyField field, bool with_limits) const {
    if (field == KeyField::kExtra) return shape.any_extra || shape.extra == call.extra;
    return CoversNumber(RuleOf(rules_, field), NumberOf(shape, field), NumberOf(call, field),
                        with_limits);
  }
  bool CoversAll(const Key& shape, const Key& call, bool with_limits) const {
    for (size_t i = 0; i < kKeyFieldCount; ++i) {
      if (!CoversField(shape, call, static_cast<KeyField>(i), with_limits)) return false;
    }
    return true;
  }

  static Key Padded(const Key& shape, const Key& call) {
    const auto pick = [](int32_t of_shape, int32_t of_call) {
      return of_shape == kAny ? of_call : of_shape;
    };
    return {.kind = pick(shape.kind, call.kind),
            .tokens = pick(shape.tokens, call.tokens),
            .requests = pick(shape.requests, call.requests),
            .query_length = pick(shape.query_length, call.query_length),
            .context = pick(shape.context, call.context),
            .adaptors = pick(shape.adaptors, call.adaptors),
            .microbatches = pick(shape.microbatches, call.microbatches),
            .speculation = pick(shape.speculation, call.speculation),
            .extra = shape.any_extra ? call.extra : shape.extra};
  }

  std::pair<Why, std::optional<KeyField>> WhyNothingCovers(const Key& call) const {
    for (const NaiveShape& one : shapes_) {
      if (!CoversAll(one.shape.key, call, false)) continue;
      for (size_t i = 0; i < kKeyFieldCount; ++i) {
        const auto field = static_cast<KeyField>(i);
        if (!CoversField(one.shape.key, call, field, true)) return {Why::kPadding, field};
      }
    }
    std::vector<KeyField> order;
    for (const bool at_most : {false, true}) {
      for (size_t i = 0; i < kKeyFieldCount; ++i) {
        const auto field = static_cast<KeyField>(i);
        const bool is_at_most =
            field != KeyField::kExtra && RuleOf(rules_, field).covers == Covers::kAtMost;
        if (is_at_most == at_most) order.push_back(field);
      }
    }
    std::vector<Key> left;
    for (const NaiveShape& one : shapes_) left.push_back(one.shape.key);
    for (const KeyField field : order) {
      left.erase(
          std::remove_if(left.begin(), left.end(),
                         [&](const Key& shape) { return !CoversField(shape, call, field, false); }),
          left.end());
      if (left.empty()) return {IsAbove(call, field) ? Why::kAboveCeiling : Why::kUncovered, field};
    }
    return {Why::kHit, std::nullopt};  // something covers it
  }

  bool IsAbove(const Key& call, KeyField field) const {
    if (field == KeyField::kExtra) return false;
    const Covers covers = RuleOf(rules_, field).covers;
    if (covers != Covers::kPowerOfTwo) return covers == Covers::kAtMost;
    return std::all_of(shapes_.begin(), shapes_.end(), [&](const NaiveShape& one) {
      return NumberOf(one.shape.key, field) < RoundUp(NumberOf(call, field));
    });
  }

  KeyRules rules_;
  std::vector<NaiveShape> shapes_;
};

// Random rules, shapes and calls, of values that meet often.
class RandomShapes {
 public:
  explicit RandomShapes(uint64_t seed) : random_(seed) {}

  uint64_t Below(uint64_t end) { return random_() % end; }
  bool OneIn(uint64_t count) { return Below(count) == 0; }

  FieldRule Rule() {
    FieldRule rule;
    rule.covers = static_cast<Covers>(Below(3));
    if (rule.covers == Covers::kEqual) return rule;
    if (OneIn(3)) rule.most_ratio = 1.0 + static_cast<double>(Below(9)) / 4;
    if (OneIn(4)) rule.most_extra = static_cast<int32_t>(Below(20));
    return rule;
  }
  KeyRules Rules() { return {Rule(), Rule(), Rule(), Rule(), Rule(), Rule(), Rule(), Rule()}; }

  // Where a field is wide its values differ often, and where it is narrow they rarely do.
  void PickFields() {
    for (int& width : widths_) {
      const int kWidths[] = {1, 1, 2, 5, 40};
      width = kWidths[Below(5)];
    }
    any_ = Below(3) == 0 ? 0 : 4 + Below(20);
  }
  int32_t Number(size_t field) {
    const int32_t number = static_cast<int32_t>(Below(widths_[field]));
    return OneIn(500) ? std::numeric_limits<int32_t>::max() - number : number;
  }
  Key ShapeKey(const KeyRules& rules) {
    Key key;
    for (size_t i = 0; i < kKeyNumberCount; ++i) {
      const auto field = static_cast<KeyField>(i);
      int32_t number = Number(i);
      if (RuleOf(rules, field).covers == Covers::kPowerOfTwo && number != 0) {
        number = 1 << std::min<int32_t>(number % 7, 30);
      }
      NumberOf(key, field) = any_ != 0 && OneIn(any_) ? kAny : number;
    }
    key.any_extra = any_ != 0 && OneIn(any_);
    key.extra = key.any_extra ? 0 : Below(widths_[kKeyNumberCount]);
    return key;
  }
  Key Call() {
    Key key;
    for (size_t i = 0; i < kKeyNumberCount; ++i) {
      NumberOf(key, static_cast<KeyField>(i)) = Number(i);
    }
    key.extra = Below(widths_[kKeyNumberCount]);
    return key;
  }
  // A call that this shape covers, or nearly.
  Key CallNear(const Key& shape) {
    Key key = Call();
    for (size_t i = 0; i < kKeyNumberCount; ++i) {
      const auto field = static_cast<KeyField>(i);
      const int32_t number = NumberOf(shape, field);
      if (number == kAny) continue;
      NumberOf(key, field) = number - (number > 0 && OneIn(4) ? 1 : 0);
    }
    if (!shape.any_extra) key.extra = shape.extra;
    return key;
  }
  Why Usable() {
    constexpr Why kWhys[] = {Why::kHit,      Why::kHit,    Why::kHit,      Why::kNotRecorded,
                             Why::kExcluded, Why::kFailed, Why::kWarmingUp};
    return kWhys[Below(7)];
  }
  // Without doubles: as the table wants them.
  std::vector<NaiveShape> Shapes(const KeyRules& rules, size_t most) {
    std::vector<NaiveShape> shapes;
    const size_t count = Below(most + 1);
    for (size_t i = 0; i < count; ++i) {
      const Shape shape = {
          .id = i, .key = ShapeKey(rules), .mode = OneIn(3) ? Mode::kSegmented : Mode::kFull};
      const bool is_double = std::any_of(shapes.begin(), shapes.end(), [&](const NaiveShape& one) {
        return one.shape.key == shape.key && one.shape.mode == shape.mode;
      });
      if (!is_double) shapes.push_back({shape, Usable()});
    }
    return shapes;
  }

 private:
  std::mt19937_64 random_;
  int widths_[kKeyFieldCount] = {};
  uint64_t any_ = 0;
};

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_SHAPES_NAIVE_SHAPES_H_
