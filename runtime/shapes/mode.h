// How a step runs, and sets of the ways with a graph. The order is from the lowest to the highest:
// a run at once, a graph that is cut where parts run eagerly, one graph for all.
#ifndef GRAPHTREE_RUNTIME_SHAPES_MODE_H_
#define GRAPHTREE_RUNTIME_SHAPES_MODE_H_

#include <cstdint>

namespace graphtree {

enum class Mode : uint8_t { kEager, kSegmented, kFull };

constexpr const char* ModeName(Mode mode) {
  switch (mode) {
    case Mode::kEager:
      return "eager";
    case Mode::kSegmented:
      return "segmented";
    case Mode::kFull:
      return "full";
  }
  return "?";
}

// A set of modes with a graph. Running eagerly is always allowed, and so is in no set.
class Modes {
 public:
  static constexpr Modes None() { return Modes(0); }
  static constexpr Modes All() { return Modes(3); }
  static constexpr Modes Only(Mode mode) {
    return Modes(mode == Mode::kFull ? 2 : mode == Mode::kSegmented ? 1 : 0);
  }
  // That mode and the lower ones.
  static constexpr Modes UpTo(Mode mode) {
    return Modes(mode == Mode::kFull ? 3 : mode == Mode::kSegmented ? 1 : 0);
  }
  // REQUIRES: bits <= 3. The inverse of bits(), for what travels.
  static constexpr Modes FromBits(uint8_t bits) { return Modes(bits); }

  constexpr bool Has(Mode mode) const { return (bits_ & Only(mode).bits_) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr uint8_t bits() const { return bits_; }  // 1: segmented, 2: full

  friend constexpr Modes operator&(Modes a, Modes b) { return Modes(a.bits_ & b.bits_); }
  friend constexpr bool operator==(Modes a, Modes b) { return a.bits_ == b.bits_; }

 private:
  explicit constexpr Modes(uint8_t bits) : bits_(bits) {}
  uint8_t bits_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_SHAPES_MODE_H_
