// Host bodies of the test kernels, and the pairing with their CUDA bodies.
#include "tests/kernels/kernels.h"

#include <chrono>
#include <string>

#include "tests/kernels/symbols.h"

namespace graphtree {
namespace {

void FillPatternOnHost(const HostCall& call) {
  auto* out = call.Get<uint32_t*>(0);
  const auto seed = call.Get<uint32_t>(1);
  const auto count = call.Get<uint32_t>(2);
  for (uint32_t i = 0; i < count; ++i) out[i] = PatternWord(seed, i);
}

void AddOnHost(const HostCall& call) {
  auto* out = call.Get<uint32_t*>(0);
  const auto* a = call.Get<const uint32_t*>(1);
  const auto* b = call.Get<const uint32_t*>(2);
  const auto count = call.Get<uint32_t>(3);
  for (uint32_t i = 0; i < count; ++i) out[i] = a[i] + b[i];
}

void ScaleOnHost(const HostCall& call) {
  auto* data = call.Get<float*>(0);
  const auto factor = call.Get<float>(1);
  const auto count = call.Get<uint32_t>(2);
  for (uint32_t i = 0; i < count; ++i) data[i] *= factor;
}

void IncrementOnHost(const HostCall& call) {
  auto* data = call.Get<uint32_t*>(0);
  const auto by = call.Get<uint32_t>(1);
  const auto count = call.Get<uint32_t>(2);
  for (uint32_t i = 0; i < count; ++i) data[i] += by;
}

void StridedCopyOnHost(const HostCall& call) {
  auto* out = call.Get<uint32_t*>(0);
  const auto* in = call.Get<const uint32_t*>(1);
  const auto stride = call.Get<uint32_t>(2);
  const auto count = call.Get<uint32_t>(3);
  for (uint32_t i = 0; i < count; ++i) out[i] = in[i * stride];
}

void ChecksumOnHost(const HostCall& call) {
  const auto* in = call.Get<const uint32_t*>(1);
  const auto count = call.Get<uint32_t>(2);
  uint64_t sum = 0;
  for (uint32_t i = 0; i < count; ++i) sum += MixedWord(in[i], i);
  *call.Get<uint64_t*>(0) = sum;
}

void AppendOnHost(const HostCall& call) {
  auto* log = call.Get<uint64_t*>(0);
  *log = Appended(*log, call.Get<uint64_t>(1));
}

void DelayOnHost(const HostCall& call) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::microseconds(call.Get<uint32_t>(0));
  while (Clock::now() < end) continue;
}

void BigTableOnHost(const HostCall& call) {
  auto* out = call.Get<uint32_t*>(0);
  const auto table = call.Get<BigTable>(1);
  for (uint32_t i = 0; i < 512; ++i) out[i] = table.words[i] * 3 + i;
}

CudaBody Linked(const void* symbol) {
  if (symbol == nullptr) return {};
  return CudaSymbol{symbol};
}

}  // namespace

const Kernel& EmptyKernel() {
  static const Kernel* kernel = new Kernel(
      "empty", Params<>(), [](const HostCall&) {}, Linked(LinkedTestKernels().empty));
  return *kernel;
}

const Kernel& FillPatternKernel() {
  static const Kernel* kernel =
      new Kernel("fill_pattern", Params<uint32_t*, uint32_t, uint32_t>(), FillPatternOnHost,
                 Linked(LinkedTestKernels().fill_pattern));
  return *kernel;
}

const Kernel& AddKernel() {
  static const Kernel* kernel =
      new Kernel("add", Params<uint32_t*, const uint32_t*, const uint32_t*, uint32_t>(), AddOnHost,
                 Linked(LinkedTestKernels().add));
  return *kernel;
}

const Kernel& ScaleKernel() {
  static const Kernel* kernel = new Kernel("scale", Params<float*, float, uint32_t>(), ScaleOnHost,
                                           Linked(LinkedTestKernels().scale));
  return *kernel;
}

const Kernel& IncrementKernel() {
  static const Kernel* kernel =
      new Kernel("increment", Params<uint32_t*, uint32_t, uint32_t>(), IncrementOnHost,
                 Linked(LinkedTestKernels().increment));
  return *kernel;
}

const Kernel& StridedCopyKernel() {
  static const Kernel* kernel =
      new Kernel("strided_copy", Params<uint32_t*, const uint32_t*, uint32_t, uint32_t>(),
                 StridedCopyOnHost, Linked(LinkedTestKernels().strided_copy));
  return *kernel;
}

const Kernel& ChecksumKernel() {
  static const Kernel* kernel =
      new Kernel("checksum", Params<uint64_t*, const uint32_t*, uint32_t>(), ChecksumOnHost,
                 Linked(LinkedTestKernels().checksum));
  return *kernel;
}

const Kernel& AppendKernel() {
  static const Kernel* kernel = new Kernel("append", Params<uint64_t*, uint64_t>(), AppendOnHost,
                                           Linked(LinkedTestKernels().append));
  return *kernel;
}

const Kernel& DelayKernel() {
  static const Kernel* kernel =
      new Kernel("delay", Params<uint32_t>(), DelayOnHost, Linked(LinkedTestKernels().delay));
  return *kernel;
}

const Kernel& BigTableKernel() {
  static const Kernel* kernel = new Kernel("big_table", Params<uint32_t*, BigTable>(),
                                           BigTableOnHost, Linked(LinkedTestKernels().big_table));
  return *kernel;
}

const std::vector<const Kernel*>& TestKernels() {
  static const auto* all = new std::vector<const Kernel*>{
      &EmptyKernel(),       &FillPatternKernel(), &AddKernel(),    &ScaleKernel(),
      &IncrementKernel(),   &StridedCopyKernel(), &ChecksumKernel(), &AppendKernel(),
      &DelayKernel(),       &BigTableKernel(),
  };
  return *all;
}

}  // namespace graphtree
