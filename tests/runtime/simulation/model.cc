// Computes.
#include "tests/runtime/simulation/model.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "runtime/shapes/naive_shapes.h"
#include "tests/kernels/kernels.h"
#include "tests/runtime/simulation/pad_cases.h"

namespace graphtree::runtime_simulation {
namespace {

constexpr uint64_t kMostWorlds = 512;

Bytes AsBytes(const Words& words) {
  Bytes bytes(words.size() * sizeof(uint32_t));
  std::memcpy(bytes.data(), words.data(), bytes.size());
  return bytes;
}

Words PatternOf(uint32_t seed, uint32_t count) {
  Words words(count);
  for (uint32_t i = 0; i < count; ++i) words[i] = PatternWord(seed, i);
  return words;
}

Words Twice(Words words) {
  for (uint32_t& word : words) word *= 2;
  return words;
}

bool IsSame(const Choice& a, const Choice& b) {
  return a.why == b.why && a.field == b.field && a.index == b.index && a.better == b.better &&
         a.key == b.key;
}

}  // namespace

uint64_t HashOf(const Key& key) {
  uint64_t hash = 1469598103934665603u;
  for (const char c : ToString(key)) hash = (hash ^ static_cast<uint8_t>(c)) * 1099511628211u;
  return hash;
}

uint32_t PatternWordsOf(const Key& key) { return 1 + HashOf(key) % 24; }

uint64_t FrontBytes(const SlotSpec& slot, const Key& key) {
  const uint64_t row = RowElementsOf(slot) * BytesOf(slot.type);
  return std::min<uint64_t>(4 * kPartWords, RowsOf(slot, key) * row);
}

uint32_t NeedOf(const Key& key) { return 1 + HashOf(key) / 24 % 32; }

uint32_t RoomFor(uint32_t words) {
  uint32_t room = kLeastRoom;
  while (room < words) room *= 2;
  return room;
}

size_t OpsThatReadSlots(const ProgramSpec& spec) {
  size_t count = spec.ops.size();
  const auto is_return = [](const Op& op) { return op.kind == OpKind::kReturn; };
  if (std::any_of(spec.ops.begin(), spec.ops.end(), is_return)) return count + 1;
  for (; count > 0; --count) {
    const Op op = Resolved(spec, spec.ops[count - 1]);
    if (op.kind == OpKind::kShow || op.kind == OpKind::kSum || op.kind == OpKind::kPart) break;
    if (op.kind == OpKind::kPad && PadCaseOf(spec, op.at, Key()).kind == PadKind::kSlot) break;
  }
  return count;
}

Op Resolved(const ProgramSpec& spec, Op op) {
  const bool has_none = op.kind == OpKind::kDep ? spec.deps.empty() : spec.slots.empty();
  if (op.kind == OpKind::kDep) {
    if (has_none) return {OpKind::kPattern, op.at};
    return {OpKind::kDep, spec.deps[op.at % spec.deps.size()]};
  }
  if (op.kind == OpKind::kScratch) {
    std::vector<uint32_t> workspaces;
    for (const uint32_t dep : spec.deps) {
      if (IsWorkspace(dep)) workspaces.push_back(WorkspaceOf(dep));
    }
    if (workspaces.empty()) return {OpKind::kPattern, op.at};
    return {OpKind::kScratch, workspaces[op.at % workspaces.size()]};
  }
  const bool has_slot = op.kind == OpKind::kShow || op.kind == OpKind::kSum ||
                        op.kind == OpKind::kPart || op.kind == OpKind::kReturn;
  if (!has_slot) return op;
  if (has_none) return {op.kind == OpKind::kSum ? OpKind::kLog : OpKind::kPattern, op.at};
  return {op.kind, static_cast<uint32_t>(op.at % spec.slots.size())};
}

void ShapeModel::MayBe(std::initializer_list<Why> whys) {
  for (const Why why : whys) {
    if (std::count(usable.begin(), usable.end(), why) == 0) usable.push_back(why);
  }
}

ProgramModel::ProgramModel(const ProgramSpec& spec, bool records_while_serving)
    : spec_(spec), records_while_serving_(records_while_serving) {
  ResetSlots();
}

void ProgramModel::ResetSlots() {
  slots_.clear();
  for (const SlotSpec& slot : spec_.slots) {
    slots_.emplace_back(GreatestBytes(slot));
    if (slot.pad != PadRule::kFillOnce) continue;
    // Filled once: as by a step that stages the pad value.
    UnpackNaively(slot, GreatestRows(slot),
                  {.kind = NaiveStaged::kValue, .value = slot.pad_value}, slots_.back().data());
  }
}

uint64_t ProgramModel::slot_bytes() const {
  uint64_t bytes = 0;
  for (const SlotSpec& slot : spec_.slots) {
    bytes += (GreatestBytes(slot) + kSlotAlignment - 1) / kSlotAlignment * kSlotAlignment;
  }
  if (!spec_.slots.empty()) bytes += kSlotAlignment;  // the cursor
  return bytes;
}

bool ProgramModel::Fits(const Key& key) const {
  for (const SlotSpec& slot : spec_.slots) {
    if (!slot.rows.has_value()) continue;
    if (IsAny(key, *slot.rows)) return false;
    if (int64_t{NumberOf(key, *slot.rows)} + slot.extra_rows > slot.sizes[slot.axis]) return false;
  }
  return true;
}

bool ProgramModel::MayAdd(absl::Span<const Key> keys, Mode mode) const {
  for (size_t i = 0; i < keys.size(); ++i) {
    if (!CheckShapeKey(keys[i], spec_.rules).ok() || !Fits(keys[i])) return false;
    if (std::count(keys.begin(), keys.end(), keys[i]) > 1) return false;
    for (const ShapeModel& shape : shapes_) {
      if (shape.key == keys[i] && shape.mode == mode) return false;
    }
  }
  return true;
}

void ProgramModel::Add(absl::Span<const Key> keys, Mode mode) {
  for (const Key& key : keys) {
    shapes_.push_back({.key = key, .mode = mode});
    shapes_.back().usable = {records_while_serving_ ? Why::kHit : Why::kNotRecorded};
  }
}

bool ProgramModel::Exclude(const Key& key, bool excluded) {
  bool is_there = false;
  for (ShapeModel& shape : shapes_) {
    if (!(shape.key == key)) continue;
    is_there = true;
    shape.is_excluded = excluded;
    if (excluded) {
      shape.usable = {Why::kExcluded};
    } else if (shape.is_waiting) {
      shape.usable = {Why::kNotCommitted};
      if (shape.is_unsure) shape.MayBe({Why::kHit});
    } else if (shape.is_unsure) {
      // Recording it may have failed, or made what waits for a commit.
      shape.usable = {Why::kHit};
      if (!records_while_serving_) shape.MayBe({Why::kNotRecorded});
      if (spec_.needs_commit) shape.MayBe({Why::kNotCommitted});
    } else {
      shape.usable = {shape.is_recorded || records_while_serving_ ? Why::kHit : Why::kNotRecorded};
    }
  }
  return is_there;
}

void ProgramModel::NoteRecorded(ShapeModel* shape, bool is_sure) {
  shape->is_waiting = spec_.needs_commit;
  if (shape->is_excluded) return;
  shape->usable = {spec_.needs_commit ? Why::kNotCommitted : Why::kHit};
  if (is_sure || !spec_.needs_commit) return;
  shape->MayBe({Why::kHit, Why::kFailed, Why::kNoMemory});
}

void ProgramModel::Commit() {
  for (ShapeModel& shape : shapes_) {
    shape.is_waiting = false;
    const auto waits = std::find(shape.usable.begin(), shape.usable.end(), Why::kNotCommitted);
    if (waits == shape.usable.end()) continue;
    shape.usable.erase(waits);
    shape.MayBe({Why::kHit});
  }
}

// Each combination of reasons is a world. Only of shapes that cover the call do they matter.
Verdict ProgramModel::MayChoose(const Key& call, Modes allowed, const Choice& choice) const {
  std::vector<NaiveShape> shapes;
  std::vector<size_t> covering;
  for (size_t i = 0; i < shapes_.size(); ++i) {
    shapes.push_back({{i, shapes_[i].key, shapes_[i].mode}, shapes_[i].usable[0]});
    const NaiveShape usable = {shapes.back().shape, Why::kHit};
    if (IsReplay(NaiveShapes(spec_.rules, {usable}).Choose(call, Modes::All()).why)) {
      covering.push_back(i);
    }
  }
  std::vector<size_t> at(covering.size());
  for (uint64_t world = 0; world < kMostWorlds; ++world) {
    if (IsSame(NaiveShapes(spec_.rules, shapes).Choose(call, allowed), choice)) {
      return Verdict::kPossible;
    }
    size_t next = 0;
    for (; next < at.size(); ++next) {
      const std::vector<Why>& whys = shapes_[covering[next]].usable;
      at[next] = (at[next] + 1) % whys.size();
      shapes[covering[next]].usable = whys[at[next]];
      if (at[next] != 0) break;
    }
    if (next == at.size()) return Verdict::kImpossible;
  }
  return Verdict::kNotLooked;
}

ShapeModel& ProgramModel::ShapeAt(uint32_t index) {
  std::vector<NaiveShape> shapes;
  for (size_t i = 0; i < shapes_.size(); ++i) {
    shapes.push_back({{i, shapes_[i].key, shapes_[i].mode}});
  }
  return shapes_[NaiveShapes(spec_.rules, shapes).shapes()[index].shape.id];
}

void ProgramModel::Unpack(const Key& padded, absl::Span<const NaiveStaged> staged) {
  for (size_t i = 0; i < slots_.size(); ++i) {
    UnpackNaively(spec_.slots[i], RowsOf(spec_.slots[i], padded), staged[i], slots_[i].data());
  }
}

void ProgramModel::UnpackPadding(const Key& shape) {
  for (size_t i = 0; i < slots_.size(); ++i) {
    const SlotSpec& slot = spec_.slots[i];
    const bool keeps = slot.pad == PadRule::kKeep || slot.pad == PadRule::kFillOnce;
    if (keeps || slot.may_be_left_out) continue;
    // No rows; zeros where the last row would be the padding.
    const bool is_zero = slot.pad == PadRule::kLastRow;
    UnpackNaively(slot, RowsOf(slot, shape),
                  {.kind = is_zero ? NaiveStaged::kValue : NaiveStaged::kRows}, slots_[i].data());
  }
}

Bytes ProgramModel::Shown(uint32_t slot, const Key& key) const {
  const SlotSpec& spec = spec_.slots[slot];
  const uint64_t row = RowElementsOf(spec) * BytesOf(spec.type);
  const uint64_t piece = GreatestRows(spec) * row;
  Bytes shown;
  for (int64_t i = 0; i < PiecesOf(spec); ++i) {
    const uint8_t* const from = slots_[slot].data() + i * piece;
    shown.insert(shown.end(), from, from + RowsOf(spec, key) * row);
  }
  return shown;
}

Bytes ProgramModel::FrontOf(uint32_t slot, const Key& key) const {
  const Bytes& whole = slots_[slot];
  return Bytes(whole.begin(), whole.begin() + FrontBytes(spec_.slots[slot], key));
}

Effects ProgramModel::Compute(const Key& key, absl::Span<const Words> deps, uint64_t log,
                              const Words& sum) const {
  Effects made;
  made.log = log;
  made.sum = sum;
  const uint64_t hash = HashOf(key);
  const auto seed = static_cast<uint32_t>(hash);
  if (spec_.prepares) made.outputs.push_back(AsBytes(Twice(PatternOf(seed ^ 1, kPartWords))));
  for (const Op& given : spec_.ops) {
    const Op op = Resolved(spec_, given);
    switch (op.kind) {
      case OpKind::kShow: made.outputs.push_back(Shown(op.at, key)); break;
      case OpKind::kPattern:
        made.outputs.push_back(AsBytes(PatternOf(seed, PatternWordsOf(key))));
        break;
      case OpKind::kDep: made.outputs.push_back(AsBytes(Twice(deps[op.at]))); break;
      case OpKind::kLog: made.log = Appended(made.log, hash); break;
      case OpKind::kSum: {
        const SlotSpec& slot = spec_.slots[op.at];
        const uint64_t row = RowElementsOf(slot) * BytesOf(slot.type);
        const uint64_t words = std::min<uint64_t>(kSumWords, RowsOf(slot, key) * row / 4);
        for (uint64_t i = 0; i < words; ++i) {
          uint32_t word = 0;
          std::memcpy(&word, slots_[op.at].data() + i * 4, 4);
          made.sum[i] += word;
        }
        break;
      }
      case OpKind::kBreak:
        made.outputs.push_back(AsBytes(Twice(PatternOf(seed ^ 2, kPartWords))));
        if (op.at % 2 == 1) made.log = Appended(made.log, hash ^ 1);
        break;
      case OpKind::kScratch:
        made.outputs.push_back(AsBytes(Twice(PatternOf(seed ^ 3, NeedOf(key)))));
        break;
      case OpKind::kReturn:
      case OpKind::kPart: made.outputs.push_back(FrontOf(op.at, key)); break;
      case OpKind::kPad: made.outputs.push_back(PaddedBy(op.at, key, deps)); break;
      case OpKind::kHog: break;
    }
  }
  return made;
}

Bytes ProgramModel::PaddedBy(uint32_t at, const Key& key, absl::Span<const Words> deps) const {
  const PadCase pad = PadCaseOf(spec_, at, key);
  const Bytes value = ElementOf(pad.type, pad.value);
  const auto pattern = [&pad](int64_t words) {
    return AsBytes(PatternOf(pad.seed, static_cast<uint32_t>(words)));
  };
  switch (pad.kind) {
    case PadKind::kGrows: return PadNaively(pattern(pad.from[0]), pad.from, pad.to, value);
    case PadKind::kHasRoom: {
      const Bytes first = PadNaively(pattern(pad.from[0]), pad.from, pad.between,
                                     ElementOf(pad.type, pad.value + 1));
      return PadNaively(first, pad.between, pad.to, value);
    }
    case PadKind::kRows: {
      Words rows;
      for (int64_t i = 0; i < pad.from[0] * pad.from[1]; ++i) {
        rows.push_back(PatternWord(pad.seed + static_cast<uint32_t>(i / pad.from[1]),
                                   static_cast<uint32_t>(i % pad.from[1])));
      }
      return PadNaively(AsBytes(rows), pad.from, pad.to, value);
    }
    case PadKind::kHeld: {
      // What is padded, and what the other handle sees.
      Words sum = PatternOf(pad.seed, static_cast<uint32_t>(pad.to[0]));
      for (int64_t i = 0; i < pad.to[0]; ++i) sum[i] += i < pad.from[0] ? sum[i] : pad.value;
      return AsBytes(sum);
    }
    case PadKind::kSlot: return PadNaively(Shown(pad.at, key), pad.from, pad.to, value);
    case PadKind::kPrepared: {
      const auto seed = static_cast<uint32_t>(HashOf(key));
      return PadNaively(AsBytes(PatternOf(seed ^ 1, kPartWords)), pad.from, pad.to, value);
    }
    case PadKind::kForeign: return PadNaively(AsBytes(deps[pad.at]), pad.from, pad.to, value);
  }
  return {};
}

}  // namespace graphtree::runtime_simulation
