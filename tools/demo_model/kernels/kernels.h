// The kernels of the demo's model, with host and CUDA bodies that give the same bytes (math.h).
//
// `rows` is the batch: one row for each request. The model's own sizes (dims.h) are not passed.
#ifndef GRAPHTREE_TOOLS_DEMO_MODEL_KERNELS_KERNELS_H_
#define GRAPHTREE_TOOLS_DEMO_MODEL_KERNELS_KERNELS_H_

#include <cstdint>
#include <vector>

#include "device/kernel.h"

namespace graphtree::demo {

// (float* x, const float* table, const int* tokens, int rows)
const Kernel& EmbedKernel();
// (float* out, const float* x, const float* weight, int rows)
const Kernel& NormKernel();
// (float* out, const float* x, const float* weight, int rows, int inner, int columns):
// out[rows][columns] = x[rows][inner] * weight[inner][columns]
const Kernel& MatmulKernel();
// (float* qkv, const float* angles, const int* positions, int rows): turns queries and keys
const Kernel& RopeKernel();
// (float* cache, const float* qkv, const int* positions, const int* slots, int rows)
const Kernel& AppendKernel();
// (float* out, const float* qkv, const float* cache, const int* positions, const int* slots, rows)
const Kernel& AttendKernel();
// (float* x, const float* y, int count): x += y
const Kernel& AddKernel();
// (float* out, const float* gate_up, int rows): silu(gate) * up
const Kernel& GateKernel();
// (int* tokens, const float* logits, int rows): the largest, the first of equals
const Kernel& GreedyKernel();
// (int* tokens, const float* logits, const float* temperatures, int rows, RandomState): draws from
// the distribution; a row with temperature 0 is greedy
const Kernel& SampleKernel();

// All of the above.
const std::vector<const Kernel*>& ModelKernels();

LaunchShape EmbedShape(int rows);
LaunchShape NormShape(int rows);
LaunchShape MatmulShape(int rows, int columns);
LaunchShape RopeShape(int rows);
LaunchShape AppendShape(int rows);
LaunchShape AttendShape(int rows);
LaunchShape AddShape(int count);
LaunchShape GateShape(int rows);
LaunchShape PickShape(int rows);  // Greedy and Sample

}  // namespace graphtree::demo

#endif  // GRAPHTREE_TOOLS_DEMO_MODEL_KERNELS_KERNELS_H_
