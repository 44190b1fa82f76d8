// Launches.
#include "tests/runtime/simulation/body.h"

#include <algorithm>

#include "runtime/slots/slot.h"
#include "tests/kernels/kernels.h"
#include "tests/kernels/launches.h"
#include "tests/runtime/simulation/model.h"

namespace graphtree::runtime_simulation {
namespace {

constexpr int64_t kHogBytes = 600 << 10;

class Body {
 public:
  Body(const ProgramSpec& spec, BodyWorld& world, Launcher& on, const ProgramInputs& in)
      : spec_(spec), world_(world), on_(on), in_(in), hash_(HashOf(in.key())) {}

  Values Run() {
    if (spec_.prepares) outputs_.push_back(Twice(Tensor::From(in_.prepared()[0])));
    const size_t reading = OpsThatReadSlots(spec_);
    for (size_t i = 0; i <= spec_.ops.size(); ++i) {
      if (!on_.ok()) return {};
      if (i == reading && spec_.says_when_free) in_.SlotsAreFree(on_);
      if (i == spec_.ops.size()) break;
      const Op op = Resolved(spec_, spec_.ops[i]);
      switch (op.kind) {
        case OpKind::kShow: Show(op.at); break;
        case OpKind::kPattern:
          outputs_.push_back(Pattern(static_cast<uint32_t>(hash_), PatternWordsOf(in_.key())));
          break;
        case OpKind::kDep:
          outputs_.push_back(Twice(Tensor::Foreign(world_.dep(op.at), WordsLayout(kDepWords))));
          break;
        case OpKind::kLog: Append(on_, Log(), hash_); break;
        case OpKind::kSum: Sum(op.at); break;
        case OpKind::kBreak: Break(op.at % 2 == 1); break;
        case OpKind::kPart: Part(op.at); break;
        case OpKind::kReturn: outputs_.push_back(FrontOf(op.at)); break;
        case OpKind::kScratch: Scratch(op.at); break;
        case OpKind::kPad: {
          const PadCase pad = PadCaseOf(spec_, op.at, in_.key());
          const Address foreign = pad.kind == PadKind::kForeign ? world_.dep(pad.at) : 0;
          outputs_.push_back(RunPad(pad, on_, in_, foreign, &world_.pads));
          break;
        }
        case OpKind::kHog: on_.Fill(on_.Empty(DType::kU8, {kHogBytes}), 7); break;
      }
    }
    return outputs_;
  }

  Tensor Pattern(uint32_t seed, uint32_t words) {
    const Tensor out = on_.Empty(WordsLayout(words));
    if (on_.ok()) {
      on_.Launch(FillPatternKernel(), TestShape(), {Out(out), Val(seed), Val(words)});
    }
    return out;
  }

 private:
  static const Layout* WordsLayout(int64_t words) { return Layout::Of(DType::kI32, {words}); }
  Tensor Log() const { return Tensor::Foreign(world_.log, Layout::Of(DType::kI64, {1})); }
  static void Append(Launcher& on, const Tensor& log, uint64_t id) {
    on.Launch(AppendKernel(), OneThread(), {InOut(log), Val(id)});
  }

  Tensor Twice(const Tensor& words) {
    const Tensor out = on_.Empty(words.layout());
    const auto count = static_cast<uint32_t>(words.shape().extent_bytes() / 4);
    if (on_.ok()) {
      on_.Launch(AddKernel(), TestShape(), {Out(out), In(words), In(words), Val(count)});
    }
    return out;
  }

  // Piece by piece, since there are gaps between these.
  void Show(uint32_t slot) {
    const SlotSpec& spec = spec_.slots[slot];
    const int64_t row = RowElementsOf(spec) * BytesOf(spec.type);
    const int64_t rows = spec.sizes.empty() ? 1 : in_.slot(slot).dim(spec.axis);
    const int64_t pieces = PiecesOf(spec);
    const Tensor out = on_.Empty(DType::kU8, {pieces * rows * row});
    const Layout* const piece = Layout::Of(DType::kU8, {rows * row});
    for (int64_t i = 0; i < pieces && rows > 0 && on_.ok(); ++i) {
      on_.Copy(out.View(piece, i * rows * row),
               in_.slot(slot).View(piece, i * GreatestRows(spec) * row));
    }
    outputs_.push_back(out);
  }

  void Sum(uint32_t slot) {
    const SlotSpec& spec = spec_.slots[slot];
    const int64_t row = RowElementsOf(spec) * BytesOf(spec.type);
    const int64_t rows = spec.sizes.empty() ? 1 : in_.slot(slot).dim(spec.axis);
    const auto words = static_cast<uint32_t>(std::min<int64_t>(kSumWords, rows * row / 4));
    if (words == 0) return;
    const Tensor sum = Tensor::Foreign(world_.sum, WordsLayout(words));
    const Tensor read = in_.slot(slot).View(WordsLayout(words), 0);
    on_.Launch(AddKernel(), TestShape(), {Out(sum), In(sum), In(read), Val(words)});
  }

  // Each lane has its own part of the workspace, as lanes may overlap.
  void Scratch(uint32_t workspace) {
    const uint32_t words = NeedOf(in_.key());
    const Tensor scratch =
        Tensor::Foreign(world_.library->scratch(workspace, spec_.lane), WordsLayout(words));
    on_.Launch(FillPatternKernel(), TestShape(),
               {Out(scratch), Val(static_cast<uint32_t>(hash_) ^ 3), Val(words)});
    outputs_.push_back(Twice(scratch));
  }

  void Break(bool appends) {
    const Tensor in = Pattern(static_cast<uint32_t>(hash_) ^ 2, kPartWords);
    const Tensor out = on_.Empty(WordsLayout(kPartWords));
    if (!on_.ok()) return;
    const auto part = [appends, hash = hash_](Launcher& on, absl::Span<const Tensor> tensors) {
      on.Launch(AddKernel(), TestShape(),
                {Out(tensors[1]), In(tensors[0]), In(tensors[0]), Val(kPartWords)});
      if (appends) Append(on, tensors[2], hash ^ 1);
    };
    const Tensor log = Log();
    if (in_.mode() == Mode::kFull) {
      const Tensor tensors[] = {in, out, log};
      part(on_, tensors);
    } else if (appends) {
      on_.Break("a part", {In(in), Out(out), InOut(log)}, part);
    } else {
      on_.Break("a part", {In(in), Out(out)}, part);
    }
    outputs_.push_back(out);
  }

  Tensor FrontOf(uint32_t slot) const {
    const auto bytes = static_cast<int64_t>(FrontBytes(spec_.slots[slot], in_.key()));
    return in_.slot(slot).View(Layout::Of(DType::kU8, {bytes}), 0);
  }

  void Part(uint32_t slot) {
    const Tensor read = FrontOf(slot);
    const Tensor out = on_.Empty(read.layout());
    outputs_.push_back(out);
    if (!on_.ok() || read.shape().extent_bytes() == 0) return;
    const auto part = [](Launcher& on, absl::Span<const Tensor> tensors) {
      on.Copy(tensors[1], tensors[0]);
    };
    if (in_.mode() == Mode::kFull) {
      const Tensor tensors[] = {read, out};
      part(on_, tensors);
    } else {
      on_.Break("a part that reads a slot", {In(read), Out(out)}, part);
    }
  }

  const ProgramSpec& spec_;
  BodyWorld& world_;
  Launcher& on_;
  const ProgramInputs& in_;
  const uint64_t hash_;
  Values outputs_;
};

void CheckSlots(const ProgramSpec& spec, BodyWorld& world, const ProgramInputs& in) {
  for (SlotId i = 0; i < spec.slots.size(); ++i) {
    world.is_slot_elsewhere |= in.slot(i).word() != world.slots[i];
  }
}

// Like a library that is handed its workspaces: the body checks that they are what it has, and asks
// for more.
void AskLibrary(const ProgramSpec& spec, BodyWorld& world, Launcher& on,
                const ProgramInputs& in) {
  for (size_t i = 0; i < spec.deps.size(); ++i) {
    if (!IsWorkspace(spec.deps[i])) continue;
    const uint32_t workspace = WorkspaceOf(spec.deps[i]);
    world.is_workspace_wrong |= !(in.workspace(i) == world.library->memory(workspace));
    on.Fail(world.library->Ask(workspace, NeedOf(in.key())));
  }
}

}  // namespace

Values RunPrepare(const ProgramSpec& spec, BodyWorld& world, Launcher& on,
                  const ProgramInputs& in) {
  CheckSlots(spec, world, in);
  Body body(spec, world, on, in);
  return {body.Pattern(static_cast<uint32_t>(HashOf(in.key())) ^ 1, kPartWords)};
}

Values RunBody(const ProgramSpec& spec, BodyWorld& world, Launcher& on, const ProgramInputs& in) {
  world.ran.push_back({in.key(), in.mode()});
  CheckSlots(spec, world, in);
  AskLibrary(spec, world, on, in);
  Values outputs = Body(spec, world, on, in).Run();
  if (world.fails) on.Fail(absl::InternalError(kPlannedFailure));
  return outputs;
}

}  // namespace graphtree::runtime_simulation
