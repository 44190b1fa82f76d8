// One launch after the other.
#include "tools/demo_model/model.h"

#include "tools/demo_model/kernels/kernels.h"

namespace graphtree::demo {
namespace {

// Launches for rows, of which so many as `live` says are there.
struct Rows {
  Launcher& on;
  int rows;
  const Tensor& live;

  Tensor Empty(int columns) const { return on.Empty(DType::kF32, {rows, columns}); }

  Tensor Norm(const Tensor& x, const Tensor& weight) const {
    Tensor out = Empty(kHidden);
    on.Launch(NormKernel(), NormShape(rows), {Out(out), In(x), In(weight), In(live)});
    return out;
  }

  Tensor Matmul(const Tensor& x, const Tensor& weight) const {
    const int inner = static_cast<int>(weight.dim(0));
    const int columns = static_cast<int>(weight.dim(1));
    Tensor out = Empty(columns);
    on.Launch(MatmulKernel(), MatmulShape(rows, columns),
              {Out(out), In(x), In(weight), In(live), Val(inner), Val(columns)});
    return out;
  }

  void Add(const Tensor& x, const Tensor& y) const {
    on.Launch(AddKernel(), AddShape(rows), {InOut(x), In(y), In(live)});
  }
};

// What the layers of one step share.
struct Step {
  Launcher& on;
  const Rows rows;
  const ModelWeights& weights;
  const BatchTensors& batch;
  const Prepared& prepared;
  const StepSizes& sizes;

  void Attention(const Tensor& x, const LayerWeights& layer) const {
    const Tensor qkv = rows.Matmul(rows.Norm(x, layer.norm1), layer.qkv);
    on.Launch(RopeKernel(), RopeShape(sizes.tokens),
              {InOut(qkv), In(weights.angles), In(prepared.positions), In(rows.live)});
    on.Launch(AppendKernel(), AppendShape(sizes.tokens),
              {InOut(layer.cache), In(qkv), In(prepared.places), In(rows.live)});
    const Tensor mixed = rows.Empty(kHidden);
    on.Launch(AttendKernel(), AttendShape(sizes.tokens, sizes.context),
              {Out(mixed), In(qkv), In(layer.cache), In(prepared.positions), In(prepared.owners),
               In(batch[kTables]), In(rows.live)});
    rows.Add(x, rows.Matmul(mixed, layer.project));
  }

  void Mlp(const Tensor& x, const LayerWeights& layer) const {
    const Tensor gate_up = rows.Matmul(rows.Norm(x, layer.norm2), layer.gate_up);
    const Tensor gated = rows.Empty(kFeed);
    on.Launch(GateKernel(), GateShape(sizes.tokens), {Out(gated), In(gate_up), In(rows.live)});
    rows.Add(x, rows.Matmul(gated, layer.down));
  }
};

}  // namespace

Prepared Prepared::From(const Values& values) {
  return {Tensor::From(values[0]), Tensor::From(values[1]), Tensor::From(values[2]),
          Tensor::From(values[3]), Tensor::From(values[4])};
}

Prepared EmptyPrepared(Launcher& on, const StepSizes& sizes) {
  const auto ints = [&](int count) { return on.Empty(DType::kI32, {count}); };
  return {ints(sizes.tokens), ints(sizes.tokens), ints(sizes.tokens), ints(1), ints(1)};
}

void Prepare(Launcher& on, const BatchTensors& batch, const StepSizes& sizes,
             const Prepared& prepared) {
  on.Launch(PrepareKernel(), PrepareShape(sizes.tokens),
            {Out(prepared.positions), Out(prepared.owners), Out(prepared.places),
             Out(prepared.live_tokens), Out(prepared.live_requests), In(batch[kStarts]),
             In(batch[kLengths]), In(batch[kTables]), Val(sizes.tokens), Val(sizes.requests)});
}

Tensor RunLayers(Launcher& on, const ModelWeights& weights, const BatchTensors& batch,
                 const Prepared& prepared, const StepSizes& sizes) {
  const Step step = {on,    {on, sizes.tokens, prepared.live_tokens}, weights, batch, prepared,
                     sizes};
  const Tensor x = step.rows.Empty(kHidden);
  on.Launch(EmbedKernel(), EmbedShape(sizes.tokens),
            {Out(x), In(weights.embedding), In(batch[kIds]), In(prepared.live_tokens)});
  for (const LayerWeights& layer : weights.layers) {
    step.Attention(x, layer);
    step.Mlp(x, layer);
  }
  return x;
}

Tensor PickTokens(Launcher& on, const ModelWeights& weights, const BatchTensors& batch,
                  const Prepared& prepared, const StepSizes& sizes, const Tensor& hidden) {
  const Rows rows = {on, sizes.requests, prepared.live_requests};
  const Tensor last = rows.Empty(kHidden);
  on.Launch(GatherKernel(), GatherShape(sizes.requests),
            {Out(last), In(hidden), In(batch[kStarts]), In(rows.live)});
  const Tensor logits = rows.Matmul(rows.Norm(last, weights.norm), weights.head);
  const Tensor tokens = on.Empty(DType::kI32, {sizes.requests});
  on.Launch(SampleKernel(), SampleShape(sizes.requests),
            {Out(tokens), In(logits), In(batch[kTemperatures]), In(batch[kSeeds]),
             In(batch[kLengths]), In(rows.live)});
  return tokens;
}

}  // namespace graphtree::demo
