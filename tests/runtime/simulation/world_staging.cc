// What a step is staged with, and what is staged by mistake.
#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "runtime/slots/element.h"
#include "tests/kernels/kernels.h"
#include "tests/runtime/simulation/world.h"

namespace graphtree::runtime_simulation {
namespace {

bool IsWhole(DType type) { return unpack::IsWhole(static_cast<uint8_t>(type)); }

}  // namespace

Bytes DataFor(DType type, DType slot, uint32_t seed, uint64_t bytes) {
  Bytes data(bytes);
  const uint32_t size = BytesOf(type);
  for (uint64_t i = 0; i < bytes; ++i) {
    const uint32_t random = PatternWord(seed, i);
    if (type == DType::kBool) {
      data[i] = random % 2;
    } else if (type != slot && IsWhole(type)) {
      data[i] = i % size == 0 ? random % 128 : 0;
    } else {
      data[i] = random;
    }
  }
  return data;
}

absl::Status World::StageAll(Open& open) {
  if (!open.step.has_value()) return absl::OkStatus();
  const ProgramSpec& spec = open.program->model->spec();
  GRAPHTREE_RETURN_IF_ERROR(ErrInStep(open));
  for (SlotId slot = 0; slot < spec.slots.size(); ++slot) {
    const bool is_forgotten = open.spec->mistake == Mistake::kForgets && !open.forgets &&
                              !spec.slots[slot].may_be_left_out;
    if (is_forgotten) {
      open.forgets = true;
      continue;
    }
    GRAPHTREE_RETURN_IF_ERROR(Err(open, slot));
    GRAPHTREE_RETURN_IF_ERROR(Stage(open, slot));
    if (open.spec->mistake == Mistake::kTwice &&
        open.staged[slot].kind != NaiveStaged::kNothing) {
      GRAPHTREE_RETURN_IF_ERROR(ShouldFail("staging twice", open.step->Stage(slot, 0.0)));
    }
  }
  return absl::OkStatus();
}

absl::Status World::Stage(Open& open, SlotId slot) {
  const SlotSpec& spec = open.program->model->spec().slots[slot];
  const Staging& staging = open.spec->staging[slot];
  NaiveStaged& staged = open.staged[slot];
  if (staging.kind == SourceKind::kNothing && spec.may_be_left_out) return absl::OkStatus();
  if (staging.kind == SourceKind::kValue) {
    staged.kind = NaiveStaged::kValue;
    staged.value = staging.seed % (spec.type == DType::kBool ? 2 : 100);
    return open.step->Stage(slot, staged.value);
  }
  absl::Status status;
  if (StagePlanned(open, slot, &status)) return status;
  if (staging.kind == SourceKind::kOutput && StageOutput(open, slot, &status)) return status;
  return StageRows(open, slot);
}

absl::Status World::StageRows(Open& open, SlotId slot) {
  const SlotSpec& spec = open.program->model->spec().slots[slot];
  const Staging& staging = open.spec->staging[slot];
  const int64_t room = RowsOf(spec, open.padded);
  const int64_t brought = RowsOf(spec, open.spec->call) - int64_t{staging.fewer};
  const int64_t row = RowElementsOf(spec);
  NaiveStaged& staged = open.staged[slot];
  staged.kind = NaiveStaged::kRows;
  staged.type = staging.type;
  staged.rows = std::clamp<int64_t>(brought, 0, room);
  staged.row_stride = row + staging.gap;
  staged.piece_stride = staged.row_stride * staged.rows + staging.gap;
  const uint64_t bytes = staged.piece_stride * PiecesOf(spec) * BytesOf(staging.type);
  // Without gaps the defaults say the same.
  const int64_t row_stride = staging.gap == 0 ? 0 : staged.row_stride;
  const int64_t piece_stride = staging.gap == 0 ? 0 : staged.piece_stride;
  Bytes& data = open.data[slot];
  const uint64_t offset = staging.seed % 8 * BytesOf(staging.type);
  if (staging.kind == SourceKind::kHost || bytes + offset > kSourceBytes) {
    Count("staged from the host");
    data = DataFor(staging.type, spec.type, staging.seed, bytes);
    staged.data = data.data();
    // The server's own copy goes at once.
    Bytes given = data;
    const absl::Status status = open.step->Stage(
        slot, HostRows{given.data(), staging.type, staged.rows, row_stride, piece_stride});
    std::fill(given.begin(), given.end(), 0xa5);
    return status;
  }
  Count("staged from the device");
  const uint32_t source = staging.seed / 8 % kSources;
  const uint8_t* const from = sources_[source].data() + offset;
  data.assign(from, from + bytes);
  readers_[source][open.spec->program] = false;
  staged.data = data.data();
  return open.step->Stage(slot, DeviceRows{memory_.source(source) + offset, staging.type,
                                           staged.rows, row_stride, piece_stride});
}

// An output of the lane's that is good where the step runs.
bool World::StageOutput(Open& open, SlotId slot, absl::Status* status) {
  const ProgramSpec& program = open.program->model->spec();
  const SlotSpec& spec = program.slots[slot];
  if (!IsWhole(spec.type) || spec.type == DType::kBool || PiecesOf(spec) != 1) return false;
  for (size_t i = held_.size(); i-- > 0;) {
    Held& held = held_[i];
    const bool goes_on = open.spec->continues && held.path == lanes_[held.lane].path;
    if (held.lane != program.lane || (!held.is_kept && !goes_on)) continue;
    NaiveStaged& staged = open.staged[slot];
    const int64_t fits = held.bytes.size() / 4 / RowElementsOf(spec);
    staged.rows = std::min(fits, RowsOf(spec, open.padded));
    if (staged.rows == 0) continue;
    open.sources.push_back(held.value);
    staged.kind = NaiveStaged::kRows;
    staged.type = DType::kI32;
    staged.row_stride = RowElementsOf(spec);
    open.data[slot] = held.bytes;
    staged.data = open.data[slot].data();
    Count(goes_on ? "staged from the step before" : "staged from a kept output");
    *status = open.step->Stage(slot, DeviceRows{held.value.word(), DType::kI32, staged.rows});
    return true;
  }
  return false;
}

absl::Status World::Err(Open& open, SlotId slot) {
  const SlotSpec& spec = open.program->model->spec().slots[slot];
  Step& step = *open.step;
  const int64_t room = RowsOf(spec, open.padded);
  const Bytes data((room + 1) * RowElementsOf(spec) * PiecesOf(spec) * BytesOf(spec.type));
  const Address source = memory_.source(0);
  const bool is_whole = IsWhole(spec.type);
  switch (open.spec->mistake) {
    case Mistake::kTooManyRows:
      GRAPHTREE_RETURN_IF_ERROR(ShouldFail(
          "too many rows", step.Stage(slot, HostRows{data.data(), spec.type, room + 1})));
      return ShouldFail("too many rows",
                        step.Stage(slot, DeviceRows{source, spec.type, room + 1}));
    case Mistake::kNegativeRows:
      return ShouldFail("rows below none", step.Stage(slot, HostRows{data.data(), spec.type, -1}));
    case Mistake::kOtherType: {
      const DType other = spec.type == DType::kBool ? DType::kU8
                          : is_whole                ? DType::kF32
                                                    : DType::kI64;
      return ShouldFail("another type", step.Stage(slot, HostRows{data.data(), other, 0}));
    }
    case Mistake::kNoAddress:
      if (room == 0) return absl::OkStatus();
      GRAPHTREE_RETURN_IF_ERROR(
          ShouldFail("no address", step.Stage(slot, HostRows{nullptr, spec.type, 1})));
      return ShouldFail("no address", step.Stage(slot, DeviceRows{0, spec.type, 1}));
    case Mistake::kNoSlot:
      GRAPHTREE_RETURN_IF_ERROR(ShouldFail("no slot", step.Stage(77, HostRows{})));
      return ShouldFail("no slot", step.Stage(open.spec->staging.size(), 1.0));
    case Mistake::kCannotHold: {
      const std::vector<int64_t> large(room * RowElementsOf(spec) * PiecesOf(spec),
                                       int64_t{1} << 40);
      if (spec.type == DType::kBool) return ShouldFail("no truth", step.Stage(slot, 2.0));
      if (!is_whole || spec.type == DType::kI64 || room == 0) return absl::OkStatus();
      return ShouldFail("a large number",
                        step.Stage(slot, HostRows{large.data(), DType::kI64, room}));
    }
    case Mistake::kMisaligned:
      if (BytesOf(spec.type) == 1) return absl::OkStatus();
      return ShouldFail("a bad address", step.Stage(slot, DeviceRows{source + 1, spec.type, 0}));
    case Mistake::kBadStride:
      return ShouldFail("a bad stride",
                        step.Stage(slot, HostRows{data.data(), spec.type, 0, -1}));
    default: return absl::OkStatus();
  }
}

absl::Status World::ErrInStep(Open& open) {
  const ProgramId id = open.program->id;
  if (open.spec->mistake == Mistake::kStepInStep) {
    return ShouldFail("a step in a step",
                      runtime_->Begin(id, open.call, *streams_[0]).status());
  }
  if (open.spec->mistake != Mistake::kChangesInStep) return absl::OkStatus();
  ProgramOptions options;
  options.name = "new";
  options.body = [](Launcher&, const ProgramInputs&) -> Values { return {}; };
  GRAPHTREE_RETURN_IF_ERROR(
      ShouldFail("shapes in a step", runtime_->AddShapes(id, {{.tokens = 3}})));
  GRAPHTREE_RETURN_IF_ERROR(
      ShouldFail("recording in a step", runtime_->Record(id, *streams_[0])));
  GRAPHTREE_RETURN_IF_ERROR(ShouldFail("removing in a step", runtime_->RemoveProgram(id)));
  return ShouldFail("adding in a step", runtime_->AddProgram(options).status());
}

}  // namespace graphtree::runtime_simulation
