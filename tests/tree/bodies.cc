// Ops through the launcher, and the same on vectors.
#include "tests/tree/bodies.h"

#include "tests/kernels/kernels.h"
#include "tests/kernels/launches.h"

namespace graphtree {
namespace {

uint32_t CountOf(const Tensor& tensor) { return static_cast<uint32_t>(tensor.shape().elements()); }

}  // namespace

const Layout* WordsLayout(int64_t count) { return Layout::Of(DType::kI32, {count}); }

Tensor Sum(Launcher& on, const Value& a, const Value& b) {
  if (!on.ok()) return Tensor();
  const Tensor left = Tensor::From(a);
  const Tensor out = on.Empty(WordsLayout(left.shape().elements()));
  if (!on.ok()) return Tensor();
  on.Launch(AddKernel(), TestShape(),
            {Out(out), In(left), In(Tensor::From(b)), Val(CountOf(left))});
  return out;
}

Tensor Filled(Launcher& on, uint32_t seed, int64_t count) {
  const Tensor out = on.Empty(WordsLayout(count));
  if (!on.ok()) return Tensor();
  on.Launch(FillPatternKernel(), TestShape(), {Out(out), Val(seed), Val(CountOf(out))});
  return out;
}

void Bump(Launcher& on, const Value& data, uint32_t by) {
  if (!on.ok()) return;
  const Tensor tensor = Tensor::From(data);
  on.Launch(IncrementKernel(), TestShape(), {InOut(tensor), Val(by), Val(CountOf(tensor))});
}

void BumpInSecret(Launcher& on, const Value& data, uint32_t by) {
  if (!on.ok()) return;
  const Tensor tensor = Tensor::From(data);
  on.Launch(IncrementKernel(), TestShape(), {In(tensor), Val(by), Val(CountOf(tensor))});
}

Tensor Slice(const Value& tensor, int64_t first, int64_t count) {
  if (!tensor.is_tensor()) return Tensor();
  return Tensor::From(tensor).View(WordsLayout(count), first * sizeof(uint32_t));
}

Values Twice(Launcher& on, Values& inputs) { return {Sum(on, inputs[0], inputs[0])}; }

Values Thrice(Launcher& on, Values& inputs) {
  const Tensor twice = Sum(on, inputs[0], inputs[0]);
  return {Sum(on, twice, inputs[0])};
}

Values AddBoth(Launcher& on, Values& inputs) { return {Sum(on, inputs[0], inputs[1])}; }

Values ConsumeTwice(Launcher& on, Values& inputs) {
  const Tensor twice = Sum(on, inputs[0], inputs[0]);
  inputs[0] = Value();
  return {twice};
}

Words Plus(const Words& a, const Words& b) {
  Words sum(a.size());
  for (size_t i = 0; i < a.size(); ++i) sum[i] = a[i] + b[i];
  return sum;
}

Words Times(const Words& a, uint32_t factor) {
  Words product(a.size());
  for (size_t i = 0; i < a.size(); ++i) product[i] = a[i] * factor;
  return product;
}

}  // namespace graphtree
