// The pairing of host bodies and CUDA bodies, and the launch shapes.
#include "tools/demo_model/kernels/kernels.h"

#include <cstdint>

#include "tools/demo_model/kernels/dims.h"
#include "tools/demo_model/kernels/host_bodies.h"
#include "tools/demo_model/kernels/symbols.h"

namespace graphtree::demo {
namespace {

CudaBody Linked(const void* symbol) {
  if (symbol == nullptr) return {};
  return CudaSymbol{symbol};
}

LaunchShape Shape(uint32_t blocks, uint32_t blocks_y, uint32_t threads) {
  LaunchShape shape;
  shape.grid.x = blocks;
  shape.grid.y = blocks_y;
  shape.block.x = threads;
  return shape;
}

using Out = float*;
using In = const float*;
using Ints = const int*;

}  // namespace

const Kernel& PrepareKernel() {
  static const Kernel* kernel =
      new Kernel("demo_prepare",
                 Params<int*, int*, int*, int*, int*, Ints, Ints, Ints, int, int>(), PrepareOnHost,
                 Linked(LinkedModelKernels().prepare));
  return *kernel;
}

const Kernel& EmbedKernel() {
  static const Kernel* kernel =
      new Kernel("demo_embed", Params<Out, In, Ints, Ints>(), EmbedOnHost,
                 Linked(LinkedModelKernels().embed));
  return *kernel;
}

const Kernel& NormKernel() {
  static const Kernel* kernel =
      new Kernel("demo_norm", Params<Out, In, In, Ints>(), NormOnHost,
                 Linked(LinkedModelKernels().norm));
  return *kernel;
}

const Kernel& MatmulKernel() {
  static const Kernel* kernel =
      new Kernel("demo_matmul", Params<Out, In, In, Ints, int, int>(), MatmulOnHost,
                 Linked(LinkedModelKernels().matmul));
  return *kernel;
}

const Kernel& RopeKernel() {
  static const Kernel* kernel =
      new Kernel("demo_rope", Params<Out, In, Ints, Ints>(), RopeOnHost,
                 Linked(LinkedModelKernels().rope));
  return *kernel;
}

const Kernel& AppendKernel() {
  static const Kernel* kernel =
      new Kernel("demo_append", Params<Out, In, Ints, Ints>(), AppendOnHost,
                 Linked(LinkedModelKernels().append));
  return *kernel;
}

const Kernel& AttendKernel() {
  static const Kernel* kernel =
      new Kernel("demo_attend", Params<Out, In, In, Ints, Ints, Ints, Ints>(), AttendOnHost,
                 Linked(LinkedModelKernels().attend));
  return *kernel;
}

const Kernel& AddKernel() {
  static const Kernel* kernel =
      new Kernel("demo_add", Params<Out, In, Ints>(), AddOnHost,
                 Linked(LinkedModelKernels().add));
  return *kernel;
}

const Kernel& GateKernel() {
  static const Kernel* kernel =
      new Kernel("demo_gate", Params<Out, In, Ints>(), GateOnHost,
                 Linked(LinkedModelKernels().gate));
  return *kernel;
}

const Kernel& GatherKernel() {
  static const Kernel* kernel =
      new Kernel("demo_gather", Params<Out, In, Ints, Ints>(), GatherOnHost,
                 Linked(LinkedModelKernels().gather));
  return *kernel;
}

const Kernel& SampleKernel() {
  static const Kernel* kernel =
      new Kernel("demo_sample", Params<int*, In, In, const int64_t*, Ints, Ints>(), SampleOnHost,
                 Linked(LinkedModelKernels().sample));
  return *kernel;
}

const std::vector<const Kernel*>& ModelKernels() {
  static const auto* all = new std::vector<const Kernel*>{
      &PrepareKernel(), &EmbedKernel(),  &NormKernel(), &MatmulKernel(),
      &RopeKernel(),    &AppendKernel(), &AttendKernel(), &AddKernel(),
      &GateKernel(),    &GatherKernel(), &SampleKernel(),
  };
  return *all;
}

LaunchShape PrepareShape(int tokens) { return Shape((tokens + 63) / 64, 1, 64); }
LaunchShape EmbedShape(int rows) { return Shape(rows, 1, kHidden); }
LaunchShape NormShape(int rows) { return Shape(rows, 1, 32); }
LaunchShape MatmulShape(int rows, int columns) { return Shape((columns + 63) / 64, rows, 64); }
LaunchShape RopeShape(int rows) { return Shape(rows, 1, kHidden); }
LaunchShape AppendShape(int rows) { return Shape(rows, 1, kHidden); }
LaunchShape AttendShape(int rows, int context) {
  LaunchShape shape = Shape(rows, kHeads, 32);
  shape.shared_bytes = context * sizeof(float);
  return shape;
}
LaunchShape AddShape(int rows) { return Shape(rows, 1, kHidden); }
LaunchShape GateShape(int rows) { return Shape(rows, 1, kFeed); }
LaunchShape GatherShape(int requests) { return Shape(requests, 1, kHidden); }
LaunchShape SampleShape(int requests) { return Shape(requests, 1, 32); }

}  // namespace graphtree::demo
