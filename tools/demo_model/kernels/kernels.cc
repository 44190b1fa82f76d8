// The pairing of host bodies and CUDA bodies, and the launch shapes.
#include "tools/demo_model/kernels/kernels.h"

#include "graphs/random/random_state.h"
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

const Kernel& EmbedKernel() {
  static const Kernel* kernel = new Kernel("demo_embed", Params<Out, In, Ints, int>(), EmbedOnHost,
                                           Linked(LinkedModelKernels().embed));
  return *kernel;
}

const Kernel& NormKernel() {
  static const Kernel* kernel = new Kernel("demo_norm", Params<Out, In, In, int>(), NormOnHost,
                                           Linked(LinkedModelKernels().norm));
  return *kernel;
}

const Kernel& MatmulKernel() {
  static const Kernel* kernel =
      new Kernel("demo_matmul", Params<Out, In, In, int, int, int>(), MatmulOnHost,
                 Linked(LinkedModelKernels().matmul));
  return *kernel;
}

const Kernel& RopeKernel() {
  static const Kernel* kernel = new Kernel("demo_rope", Params<Out, In, Ints, int>(), RopeOnHost,
                                           Linked(LinkedModelKernels().rope));
  return *kernel;
}

const Kernel& AppendKernel() {
  static const Kernel* kernel =
      new Kernel("demo_append", Params<Out, In, Ints, Ints, int>(), AppendOnHost,
                 Linked(LinkedModelKernels().append));
  return *kernel;
}

const Kernel& AttendKernel() {
  static const Kernel* kernel =
      new Kernel("demo_attend", Params<Out, In, In, Ints, Ints, int>(), AttendOnHost,
                 Linked(LinkedModelKernels().attend));
  return *kernel;
}

const Kernel& AddKernel() {
  static const Kernel* kernel = new Kernel("demo_add", Params<Out, In, int>(), AddOnHost,
                                           Linked(LinkedModelKernels().add));
  return *kernel;
}

const Kernel& GateKernel() {
  static const Kernel* kernel = new Kernel("demo_gate", Params<Out, In, int>(), GateOnHost,
                                           Linked(LinkedModelKernels().gate));
  return *kernel;
}

const Kernel& GreedyKernel() {
  static const Kernel* kernel = new Kernel("demo_greedy", Params<int*, In, int>(), GreedyOnHost,
                                           Linked(LinkedModelKernels().greedy));
  return *kernel;
}

const Kernel& SampleKernel() {
  static const Kernel* kernel =
      new Kernel("demo_sample", Params<int*, In, In, int, RandomState>(), SampleOnHost,
                 Linked(LinkedModelKernels().sample));
  return *kernel;
}

const std::vector<const Kernel*>& ModelKernels() {
  static const auto* all = new std::vector<const Kernel*>{
      &EmbedKernel(),  &NormKernel(), &MatmulKernel(), &RopeKernel(),   &AppendKernel(),
      &AttendKernel(), &AddKernel(),  &GateKernel(),   &GreedyKernel(), &SampleKernel(),
  };
  return *all;
}

LaunchShape EmbedShape(int rows) { return Shape(rows, 1, kHidden); }
LaunchShape NormShape(int rows) { return Shape(rows, 1, 32); }
LaunchShape MatmulShape(int rows, int columns) { return Shape((columns + 63) / 64, rows, 64); }
LaunchShape RopeShape(int rows) { return Shape(rows, 1, kHidden); }
LaunchShape AppendShape(int rows) { return Shape(rows, 1, kHidden); }
LaunchShape AttendShape(int rows) { return Shape(rows, kHeads, 32); }
LaunchShape AddShape(int count) { return Shape((count + 127) / 128, 1, 128); }
LaunchShape GateShape(int rows) { return Shape(rows, 1, kFeed); }
LaunchShape PickShape(int rows) { return Shape(rows, 1, 32); }

}  // namespace graphtree::demo
