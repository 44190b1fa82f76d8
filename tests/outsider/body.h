// Runs a body's lines on a machine: the model's, which computes at once, or the real one, which
// launches. Which slot a line means is decided here, once for both; what a line does is each
// machine's own.
//
//   slots   | input 0 | input 1 | made | made | ...      a line's number, modulo those that fit
//
// A slot may be read, written, or both: an input that its function does not say it writes to is
// read only, and a part has the rights that its break declared.
#ifndef GRAPHTREE_TESTS_OUTSIDER_BODY_H_
#define GRAPHTREE_TESTS_OUTSIDER_BODY_H_

#include <algorithm>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "device/kernel.h"
#include "tests/outsider/model.h"
#include "tests/outsider/program.h"

namespace graphtree::outsider {

constexpr int64_t kNoInteger = INT64_MIN;

template <typename V>
struct Slot {
  V* input = nullptr;  // where the caller of the body has it
  V own = {};
  bool reads = true;
  bool writes = true;
  bool made = false;  // by this body, of the tree's memory

  V& value() { return input != nullptr ? *input : own; }
};

template <typename Machine>
class BodyRun {
 public:
  using V = typename Machine::V;

  // `integers` has one for each input of the function: its integer, an opaque one's version, or
  // kNoInteger.
  BodyRun(Machine& machine, const FunctionPlan& function, std::vector<int64_t> integers)
      : machine_(machine), function_(function), integers_(std::move(integers)) {}

  void AddInputs(std::vector<V>& inputs) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      slots_.push_back({&inputs[i], {}, true, (function_[Trait::kWritable] >> i & 1) != 0});
    }
  }
  void AddSlot(V value, Access access) {
    slots_.push_back(
        {nullptr, std::move(value), access != Access::kWrite, access != Access::kRead});
    in_part_ = true;
  }
  void SetInPart() { in_part_ = true; }

  void Run(const std::vector<Statement>& body) {
    for (const Statement& line : body) {
      machine_.Note(line.what);
      if (Makes(line) || Writes(line) || Puts(line) || Borrows(line)) continue;
      Asks(line);
    }
  }

  std::vector<V> Returned() {
    std::vector<V> values;
    for (const int slot : function_.returns) {
      if (slot == -2) {
        values.push_back(machine_.Integer(7));
      } else if (slot < 0 || slots_.empty()) {
        values.emplace_back();
      } else {
        values.push_back(slots_[static_cast<size_t>(slot) % slots_.size()].value());
      }
    }
    return values;
  }

 private:
  static int Positive(int n) { return n < 0 ? -n : n; }
  // Null if no tensor has the right. What has gaps is for those who go by elements.
  Slot<V>* Pick(int n, bool reads, bool writes, bool gaps = false) {
    size_t fits = 0;
    for (Slot<V>& slot : slots_) fits += Fits(slot, reads, writes, gaps) ? 1 : 0;
    if (fits == 0) return nullptr;
    size_t left = static_cast<size_t>(Positive(n)) % fits;
    for (Slot<V>& slot : slots_) {
      if (Fits(slot, reads, writes, gaps) && left-- == 0) return &slot;
    }
    return nullptr;
  }
  bool Fits(Slot<V>& slot, bool reads, bool writes, bool gaps) {
    return machine_.IsTensor(slot.value()) && (!reads || slot.reads) &&
           (!writes || slot.writes) && (gaps || HasNoGaps(machine_.LayoutOf(slot.value())));
  }
  Slot<V>* Source(int n) { return Pick(n, true, false); }
  Slot<V>* Target(int n) { return Pick(n, false, true); }
  int64_t IntegerOf(int input) const {
    if (integers_.empty()) return kNoInteger;
    return integers_[static_cast<size_t>(Positive(input)) % integers_.size()];
  }

  bool Makes(const Statement& line) {
    const auto& n = line.n;
    switch (line.what) {
      case Do::kNew: Make(LayoutOf(n[0]), n[1], n[2]); return true;
      case Do::kRows: {
        const int64_t rows = IntegerOf(n[0]);
        if (rows == kNoInteger) return true;
        Make(Layout::Of(DType::kU8, {rows & 7, 48}), n[1], n[2]);
        return true;
      }
      case Do::kUnused:
        unused_.push_back(machine_.Unused(uint64_t{1} << (6 + Positive(n[0]) % 17)));
        return true;
      case Do::kView: {
        Slot<V>* of = Pick(n[0], false, false);
        if (of == nullptr) return true;
        const Layout* layout = LayoutOf(n[2]);
        const uint64_t extent = machine_.LayoutOf(of->value())->extent_bytes();
        if (layout->extent_bytes() > extent) return true;
        const uint64_t offset =
            static_cast<uint64_t>(Positive(n[1])) % (extent - layout->extent_bytes() + 1);
        const V view = machine_.View(of->value(), layout, offset);
        slots_.push_back({nullptr, view, of->reads, of->writes, of->made});
        return true;
      }
      case Do::kClosure:
        slots_.push_back(
            {nullptr, machine_.Closure(n[0], n[1], LayoutOf(n[2])), true, (n[3] & 1) != 0});
        return true;
      case Do::kDrop:
        if (!slots_.empty()) {
          slots_[static_cast<size_t>(Positive(n[0])) % slots_.size()].value() = V();
        }
        return true;
      default: return false;
    }
  }

  void Make(const Layout* layout, int source, int by) {
    Slot<V>* from = Source(source);
    V made = machine_.Empty(layout);
    if (from != nullptr) {
      machine_.Mix(made, from->value(), by);
    } else {
      machine_.Fill(made, by);
    }
    slots_.push_back({nullptr, std::move(made), true, true, true});
  }

  bool Writes(const Statement& line) {
    const auto& n = line.n;
    Slot<V>* target = Target(n[0]);
    Slot<V>* source = Source(n[1]);
    const bool both = target != nullptr && source != nullptr;
    switch (line.what) {
      case Do::kMix:
        if (both) machine_.Mix(target->value(), source->value(), n[2]);
        return true;
      case Do::kBump:
        if (Slot<V>* slot = Pick(n[0], true, true)) machine_.Bump(slot->value(), n[1]);
        return true;
      case Do::kJoin:
        if (both) {
          machine_.Join(target->value(), source->value(), Source(n[2])->value(), n[3]);
        }
        return true;
      case Do::kElements: {
        Slot<V>* to = Pick(n[0], true, true, true);
        Slot<V>* from = Pick(n[1], true, false, true);
        if (to == nullptr || from == nullptr) return true;
        machine_.Elements(to->value(), from->value(), n[2]);
        return true;
      }
      case Do::kFill:
        if (target != nullptr) machine_.Fill(target->value(), n[1]);
        return true;
      case Do::kCopy:
        if (both) Copy(target->value(), source->value(), false);
        return true;
      case Do::kByInteger:
        if (target != nullptr && source != nullptr && IntegerOf(n[1]) != kNoInteger) {
          machine_.Mix(target->value(), source->value(), static_cast<int>(IntegerOf(n[1]) & 255));
        }
        return true;
      default: return false;
    }
  }

  // Byte by byte, as much as both have.
  void Copy(V& target, V& source, bool raw) {
    const uint64_t bytes = std::min(machine_.LayoutOf(target)->extent_bytes(),
                                    machine_.LayoutOf(source)->extent_bytes());
    const Layout* layout = Layout::Of(DType::kU8, {static_cast<int64_t>(bytes)});
    const V to = machine_.View(target, layout, 0);
    const V from = machine_.View(source, layout, 0);
    if (machine_.Overlap(to, from)) return;
    if (raw) {
      machine_.RawCopy(to, from);
    } else {
      machine_.Copy(to, from);
    }
  }

  // The raw stream and the random numbers.
  bool Puts(const Statement& line) {
    const auto& n = line.n;
    Slot<V>* target = Target(n[0]);
    Slot<V>* source = Source(n[1]);
    const bool both = target != nullptr && source != nullptr;
    switch (line.what) {
      case Do::kRawFill:
        if (target != nullptr) machine_.RawFill(target->value(), n[1]);
        return true;
      case Do::kRawMix:
        if (both) machine_.RawMix(target->value(), source->value(), n[2]);
        return true;
      case Do::kRawCopy:
        if (both) Copy(target->value(), source->value(), true);
        return true;
      case Do::kFork:
        if (both) machine_.Fork(target->value(), source->value(), n[2], Positive(n[3]) % 3);
        return true;
      case Do::kUnjoined: machine_.Unjoined(n[1]); return true;
      case Do::kRandom:
        if (Slot<V>* to = Target(n[1])) machine_.Random(n[0], to->value(), Positive(n[2]));
        return true;
      case Do::kSync: machine_.Sync(); return true;
      case Do::kHostSees:
        if (both && in_part_) machine_.HostSees(target->value(), source->value());
        return true;
      default: return false;
    }
  }

  // Memory that is not Empty's.
  bool Borrows(const Statement& line) {
    const auto& n = line.n;
    switch (line.what) {
      case Do::kScratchFill: machine_.ScratchFill(1 + Positive(n[0])); return true;
      case Do::kScratch:
      case Do::kScratchPart:
      case Do::kForeignTemp: {
        Slot<V>* target = Target(n[0]);
        Slot<V>* source = Source(n[1]);
        if (target == nullptr || source == nullptr) return true;
        const int bytes = 1 + Positive(n[2]);
        if (line.what == Do::kScratchPart) {
          machine_.ScratchPart(target->value(), source->value(), bytes, n[3]);
        } else if (line.what == Do::kScratch) {
          machine_.Scratch(target->value(), source->value(), bytes, n[3]);
        } else {
          machine_.ForeignTemp(target->value(), source->value(), bytes, n[3]);
        }
        return true;
      }
      case Do::kForeignHeld:
      case Do::kWorkspace: {
        Slot<V>* target = Target(n[1]);
        Slot<V>* source = Source(n[2]);
        if (target == nullptr || source == nullptr) return true;
        machine_.Lasting(line.what, Positive(n[0]), target->value(), source->value(), n[3]);
        return true;
      }
      default: return false;
    }
  }

  void Asks(const Statement& line) {
    const auto& n = line.n;
    switch (line.what) {
      case Do::kBreak: Break(line); return;
      case Do::kKeepAlive:
        if (Slot<V>* target = Target(n[0])) machine_.KeepAlive(target->value());
        return;
      case Do::kWarmUpAgain: machine_.WarmUpAgain(&line, Positive(n[0]) % 4); return;
      case Do::kNested: {
        Slot<V>* target = Target(n[1]);
        Slot<V>* source = Source(n[2]);
        const bool may = function_[Trait::kTree] == 0 &&
                         (in_part_ || function_[Trait::kExclude] != 0);
        if (may && target != nullptr && source != nullptr) {
          machine_.Nested(Positive(n[0]), target->value(), source->value());
        }
        return;
      }
      case Do::kStash:
        if (Slot<V>* slot = Source(n[1]); slot != nullptr && slot->made && MayStash()) {
          machine_.Stash(Positive(n[0]), slot->value());
        }
        return;
      case Do::kAligned: {
        Slot<V>* target = Target(n[1]);
        const size_t input = static_cast<size_t>(function_[Trait::kAlignedInput]);
        if (in_part_ || target == nullptr || function_[Trait::kAlignment] == 0) return;
        if (input >= integers_.size() || !machine_.IsTensor(slots_[input].value())) return;
        // What has no bytes is nowhere.
        if (machine_.LayoutOf(slots_[input].value())->extent_bytes() == 0) return;
        machine_.Aligned(target->value(), slots_[input].value(), function_[Trait::kAlignment]);
        return;
      }
      case Do::kFailIf:
        if (IntegerOf(n[0]) == n[1]) machine_.Fail();
        return;
      case Do::kThrowIf:
        if (IntegerOf(n[0]) == n[1]) machine_.Throw(n[2]);
        return;
      case Do::kReenter: machine_.Reenter(Positive(n[0])); return;
      default: return;
    }
  }

  // A part's tensors are an address and no more, and a nested call may be a replay.
  bool MayStash() const { return !in_part_ && function_[Trait::kTree] == 0; }

  void Break(const Statement& line) {
    std::vector<std::pair<V*, Access>> given;
    int accesses = Positive(line.n[3]);
    for (int i = 0; i < Positive(line.n[4]) % 4; ++i, accesses /= 3) {
      static constexpr Access kAccesses[] = {Access::kRead, Access::kWrite, Access::kReadWrite};
      const Access access = kAccesses[accesses % 3];
      Slot<V>* slot = Pick(line.n[i], access != Access::kWrite, access != Access::kRead);
      if (slot != nullptr) given.emplace_back(&slot->value(), access);
    }
    machine_.Break(function_, line, given, integers_);
  }

  Machine& machine_;
  const FunctionPlan& function_;
  const std::vector<int64_t> integers_;
  std::deque<Slot<V>> slots_;
  std::vector<V> unused_;
  bool in_part_ = false;
};

}  // namespace graphtree::outsider

#endif  // GRAPHTREE_TESTS_OUTSIDER_BODY_H_
