// The kernels of the demo's model, with host and CUDA bodies that give the same bytes (math.h).
//
// A launch is made for so many rows, and `live` says, on the device, how many of them there are:
// the rows beyond are padding, and cost next to nothing. So a graph that was made for 16 rows
// serves 9 as cheaply as one that was made for 9. The model's own sizes (dims.h) are not passed.
//
//   rows of tokens     a prompt has one for each of its tokens, a request that decodes has one
//   rows of requests   one for each request, behind GatherKernel
#ifndef GRAPHTREE_TOOLS_DEMO_MODEL_KERNELS_KERNELS_H_
#define GRAPHTREE_TOOLS_DEMO_MODEL_KERNELS_KERNELS_H_

#include <cstdint>
#include <vector>

#include "device/kernel.h"

namespace graphtree::demo {

// (int* positions, int* owners, int* places, int* live_tokens, int* live_requests,
//  const int* starts, const int* lengths, const int* tables, int tokens, int requests)
//
// What the others need to know of each row of tokens, from what is known of each request: request r
// has the rows [starts[r], starts[r + 1]), and with them lengths[r] tokens; table r names the
// blocks of its cache. Requests without rows are padding, and stand behind the others. A row's
// owner is its request, its place a row of the cache. Rows of padding are left as they are.
const Kernel& PrepareKernel();
// (float* x, const float* table, const int* ids, const int* live)
const Kernel& EmbedKernel();
// (float* out, const float* x, const float* weight, const int* live)
const Kernel& NormKernel();
// (float* out, const float* x, const float* weight, const int* live, int inner, int columns):
// out[row][columns] = x[row][inner] * weight[inner][columns]
const Kernel& MatmulKernel();
// (float* qkv, const float* angles, const int* positions, const int* live): turns queries and keys
const Kernel& RopeKernel();
// (float* cache, const float* qkv, const int* places, const int* live)
const Kernel& AppendKernel();
// (float* out, const float* qkv, const float* cache, const int* positions, const int* owners,
//  const int* tables, const int* live): each row sees its request's tokens up to its own position.
const Kernel& AttendKernel();
// (float* x, const float* y, const int* live): x += y
const Kernel& AddKernel();
// (float* out, const float* gate_up, const int* live): silu(gate) * up
const Kernel& GateKernel();
// (float* out, const float* x, const int* starts, const int* live): each request's last row
const Kernel& GatherKernel();
// (int* tokens, const float* logits, const float* temperatures, const int64_t* seeds,
//  const int* lengths, const int* live): draws from the distribution. Where the temperature is 0
// the largest is taken, the first of equals. What is drawn depends on the request's seed and on how
// many tokens the request has, and on nothing else in the step.
const Kernel& SampleKernel();

// All of the above.
const std::vector<const Kernel*>& ModelKernels();

LaunchShape PrepareShape(int tokens);
LaunchShape EmbedShape(int rows);
LaunchShape NormShape(int rows);
LaunchShape MatmulShape(int rows, int columns);
LaunchShape RopeShape(int rows);
LaunchShape AppendShape(int rows);
// `context` is the most tokens that a request has: a block keeps a score for each in its shared
// memory.
LaunchShape AttendShape(int rows, int context);
LaunchShape AddShape(int rows);
LaunchShape GateShape(int rows);
LaunchShape GatherShape(int requests);
LaunchShape SampleShape(int requests);

}  // namespace graphtree::demo

#endif  // GRAPHTREE_TOOLS_DEMO_MODEL_KERNELS_KERNELS_H_
