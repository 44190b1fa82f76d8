// One launch after the other.
#include "tools/demo_model/functions.h"

#include "tools/demo_model/kernels/kernels.h"

namespace graphtree::demo {
namespace {

// What every launch of a step shares.
struct Step {
  Launcher& on;
  int rows;
  Tensor positions;
  Tensor slots;
  Tensor angles;

  Tensor Empty(int columns) const { return on.Empty(DType::kF32, {rows, columns}); }

  Tensor Norm(const Tensor& x, const Tensor& weight) const {
    Tensor out = Empty(kHidden);
    on.Launch(NormKernel(), NormShape(rows), {Out(out), In(x), In(weight), Val(rows)});
    return out;
  }

  Tensor Matmul(const Tensor& x, const Tensor& weight) const {
    const int inner = static_cast<int>(weight.dim(0));
    const int columns = static_cast<int>(weight.dim(1));
    Tensor out = Empty(columns);
    on.Launch(MatmulKernel(), MatmulShape(rows, columns),
              {Out(out), In(x), In(weight), Val(rows), Val(inner), Val(columns)});
    return out;
  }

  void Add(const Tensor& x, const Tensor& y) const {
    const int count = rows * kHidden;
    on.Launch(AddKernel(), AddShape(count), {InOut(x), In(y), Val(count)});
  }

  void Attention(const Tensor& x, int layer) const {
    const auto weight = [&](LayerInput input) { return on.Input(layer + input); };
    const Tensor cache = weight(kCache);
    const Tensor qkv = Matmul(Norm(x, weight(kNorm1)), weight(kQkv));
    on.Launch(RopeKernel(), RopeShape(rows), {InOut(qkv), In(angles), In(positions), Val(rows)});
    on.Launch(AppendKernel(), AppendShape(rows),
              {InOut(cache), In(qkv), In(positions), In(slots), Val(rows)});
    const Tensor mixed = Empty(kHidden);
    on.Launch(AttendKernel(), AttendShape(rows),
              {Out(mixed), In(qkv), In(cache), In(positions), In(slots), Val(rows)});
    Add(x, Matmul(mixed, weight(kProject)));
  }

  void Mlp(const Tensor& x, int layer) const {
    const auto weight = [&](LayerInput input) { return on.Input(layer + input); };
    const Tensor gate_up = Matmul(Norm(x, weight(kNorm2)), weight(kGateUp));
    const Tensor gated = Empty(kFeed);
    on.Launch(GateKernel(), GateShape(rows), {Out(gated), In(gate_up), Val(rows)});
    Add(x, Matmul(gated, weight(kDown)));
  }
};

// The logits of every row. The hidden state ends here: its memory may be used again.
Tensor Logits(Launcher& on, Values& inputs, int norm) {
  const Tensor hidden = on.Input(0);
  inputs[0] = Value();
  const Step step = {on, static_cast<int>(hidden.dim(0)), {}, {}, {}};
  return step.Matmul(step.Norm(hidden, on.Input(norm)), on.Input(norm + 1));
}

}  // namespace

Values DecodeStep(Launcher& on, Values&) {
  const Tensor tokens = on.Input(kTokens);
  const Step step = {on, static_cast<int>(tokens.dim(0)), on.Input(kPositionsInput),
                     on.Input(kSlotsInput), on.Input(kAngles)};
  const Tensor x = step.Empty(kHidden);
  on.Launch(EmbedKernel(), EmbedShape(step.rows),
            {Out(x), In(on.Input(kEmbedding)), In(tokens), Val(step.rows)});
  for (int layer = kFirstLayer; layer < kDecodeInputs; layer += kLayerInputs) {
    step.Attention(x, layer);
    step.Mlp(x, layer);
  }
  return {x};
}

Values PickGreedy(Launcher& on, Values& inputs) {
  const Tensor logits = Logits(on, inputs, 1);
  if (!on.ok()) return {Value()};
  const int rows = static_cast<int>(logits.dim(0));
  const Tensor tokens = on.Empty(DType::kI32, {rows});
  on.Launch(GreedyKernel(), PickShape(rows), {Out(tokens), In(logits), Val(rows)});
  return {tokens};
}

Values PickSampled(Launcher& on, Values& inputs, const GeneratorPtr& generator) {
  const Tensor temperatures = on.Input(1);
  const Tensor logits = Logits(on, inputs, 2);
  if (!on.ok()) return {Value()};
  const int rows = static_cast<int>(logits.dim(0));
  const RandomState state = on.Random(generator, static_cast<uint64_t>(rows) * kVocabulary);
  const Tensor tokens = on.Empty(DType::kI32, {rows});
  on.Launch(SampleKernel(), PickShape(rows),
            {Out(tokens), In(logits), In(temperatures), Val(rows), Val(state)});
  return {tokens};
}

}  // namespace graphtree::demo
