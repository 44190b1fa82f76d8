// Compares two lists of ops, word by word.
#include "graphs/inputs/moved_words.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace graphtree {
namespace {

uint64_t WordAt(const std::vector<uint8_t>& bytes, size_t at) {
  uint64_t word;
  std::memcpy(&word, bytes.data() + at, sizeof(word));
  return word;
}

bool IsIn(const AddressRange& range, uint64_t word) {
  return word >= range.base && word - range.base < range.bytes;
}

bool SameShape(const LaunchShape& a, const LaunchShape& b) {
  return a.grid == b.grid && a.block == b.block && a.shared_bytes == b.shared_bytes;
}

bool SameParameters(const std::vector<ParamSlot>& a, const std::vector<ParamSlot>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](ParamSlot x, ParamSlot y) {
                      return x.offset == y.offset && x.bytes == y.bytes;
                    });
}

// Whether two ops are the same but for addresses.
bool SameOp(const Op& a, const Op& b) {
  return a.kind == b.kind && a.name == b.name && SameShape(a.shape, b.shape) &&
         a.argument_bytes.size() == b.argument_bytes.size() &&
         SameParameters(a.parameters, b.parameters) && a.copy.bytes == b.copy.bytes &&
         a.fill.value == b.fill.value && a.fill.width == b.fill.width &&
         a.fill.count == b.fill.count && a.dependencies == b.dependencies;
}

class Comparison {
 public:
  Comparison(absl::Span<const PointerOp> known, absl::Span<const MovedInput> moved)
      : known_(known), moved_(moved), found_(moved.size(), false), hidden_(moved.size(), false) {}

  void Compare(const Op& here, const Op& there) {
    ours_ = known_.Find(here.id);
    slots_.clear();
    if (!SameOp(here, there)) return HideAll();
    switch (here.kind) {
      case OpKind::kKernel:
        CompareBytes(here, there);
        break;
      case OpKind::kCopy:
        CompareWord(here.copy.target, there.copy.target, kTargetArgument);
        CompareWord(here.copy.source, there.copy.source, kSourceArgument);
        break;
      case OpKind::kFill:
        CompareWord(here.fill.target, there.fill.target, kTargetArgument);
        break;
      case OpKind::kHost:
      case OpKind::kEmpty:
      case OpKind::kEventRecord:
      case OpKind::kEventWait:
      case OpKind::kChildGraph:
      case OpKind::kAllocate:
      case OpKind::kFree:
      case OpKind::kConditional:
      case OpKind::kOther:
        break;
    }
    if (!slots_.empty()) Add(here);
  }
  void HideAll() { hidden_.assign(moved_.size(), true); }

  MovedWords Take() {
    MovedWords result;
    for (size_t i = 0; i < moved_.size(); ++i) {
      if (hidden_[i] || !found_[i]) result.hidden.push_back(moved_[i].input);
    }
    result.ops = std::move(ops_);
    return result;
  }

 private:
  // Whether the word is an address of an input, which differs as the input's own addresses do.
  bool IsAddress(uint64_t here, uint64_t there, size_t* input) const {
    for (size_t i = 0; i < moved_.size(); ++i) {
      const bool along = there - moved_[i].there == here - moved_[i].here.base;
      if (!IsIn(moved_[i].here, here) || !along) continue;
      *input = i;
      return true;
    }
    return false;
  }

  // Whether a slot of an op that the launcher launched has this argument.
  bool IsOurs(uint32_t argument) {
    if (ours_ == nullptr) return false;
    for (const PointerSlot& slot : ours_->slots()) {
      if (slot.argument != argument) continue;
      for (size_t i = 0; i < moved_.size(); ++i) {
        if (moved_[i].input == slot.input) found_[i] = true;
      }
      return true;
    }
    return false;
  }

  void CompareWord(uint64_t here, uint64_t there, uint32_t argument) {
    if (IsOurs(argument)) return;
    size_t input = 0;
    if (here != there) {
      if (!IsAddress(here, there, &input)) return HideAll();
      return Found(input, argument, here);
    }
    HideUnmoved(here);
  }

  void Found(size_t input, uint32_t argument, uint64_t word) {
    // An op that the launcher launched is patched by its arguments, so an address that it does not
    // declare cannot be patched.
    if (ours_ != nullptr) hidden_[input] = true;
    found_[input] = true;
    slots_.push_back({moved_[input].input, argument, word - moved_[input].here.base});
  }

  void HideUnmoved(uint64_t word) {
    for (size_t i = 0; i < moved_.size(); ++i) {
      if (IsIn(moved_[i].here, word)) hidden_[i] = true;
    }
  }

  void CompareBytes(const Op& here, const Op& there) {
    for (uint32_t p = 0; p < here.parameters.size(); ++p) {
      if (!IsOurs(p)) CompareParameter(here, there, here.parameters[p]);
    }
  }

  // Addresses lie at multiples of 4 bytes at least, and do not overlap.
  void CompareParameter(const Op& here, const Op& there, const ParamSlot& slot) {
    constexpr uint32_t kStep = 4;
    constexpr uint32_t kWord = sizeof(uint64_t);
    const uint32_t end = slot.offset + slot.bytes;
    for (uint32_t at = slot.offset; at < end;) {
      size_t input = 0;
      const bool fits = at + kWord <= end;
      const uint64_t word = fits ? WordAt(here.argument_bytes, at) : 0;
      const uint64_t other = fits ? WordAt(there.argument_bytes, at) : 0;
      if (fits && word != other && IsAddress(word, other, &input)) {
        Found(input, at, word);
        at += kWord;
        continue;
      }
      if (fits && word == other) HideUnmoved(word);
      const uint32_t step = std::min(kStep, end - at);
      const auto* bytes = here.argument_bytes.data() + at;
      if (std::memcmp(bytes, there.argument_bytes.data() + at, step) != 0) return HideAll();
      at += step;
    }
  }

  void Add(const Op& op) {
    if (ours_ != nullptr) return;
    switch (op.kind) {
      case OpKind::kCopy: ops_.emplace_back(op.copy); break;
      case OpKind::kFill: ops_.emplace_back(op.fill); break;
      case OpKind::kKernel: ops_.emplace_back(op.argument_bytes); break;
      case OpKind::kHost:
      case OpKind::kEmpty:
      case OpKind::kEventRecord:
      case OpKind::kEventWait:
      case OpKind::kChildGraph:
      case OpKind::kAllocate:
      case OpKind::kFree:
      case OpKind::kConditional:
      case OpKind::kOther: return;  // no word of theirs is compared
    }
    ops_.back().set_id(op.id);
    ops_.back().slots() = slots_;
  }

  const KnownOps known_;
  const absl::Span<const MovedInput> moved_;
  std::vector<bool> found_;
  std::vector<bool> hidden_;
  std::vector<PointerOp> ops_;
  const PointerOp* ours_ = nullptr;  // the op that is compared, if the launcher launched it
  std::vector<PointerSlot> slots_;   // of that op
};

}  // namespace

MovedWords FindMovedWords(const std::vector<Op>& here, const std::vector<Op>& there,
                          absl::Span<const PointerOp> known, absl::Span<const OpId> skipped,
                          absl::Span<const MovedInput> moved) {
  Comparison comparison(known, moved);
  if (here.size() != there.size()) {
    comparison.HideAll();
    return comparison.Take();
  }
  for (size_t i = 0; i < here.size(); ++i) {
    if (std::find(skipped.begin(), skipped.end(), here[i].id) != skipped.end()) continue;
    comparison.Compare(here[i], there[i]);
  }
  return comparison.Take();
}

}  // namespace graphtree
