// A kernel that fills floats with uniform random numbers in [0, 1): the plainest user of a
// RandomState, for tests and as an example.
//
//   on.Launch(UniformKernel(), UniformShape(n), {Out(x), Val(n), Val(on.Random(generator, n))});
#ifndef GRAPHTREE_GRAPHS_RANDOM_UNIFORM_H_
#define GRAPHTREE_GRAPHS_RANDOM_UNIFORM_H_

#include <cstdint>

#include "device/kernel.h"

namespace graphtree {

const Kernel& UniformKernel();  // (float* out, uint32_t count, RandomState state)
LaunchShape UniformShape(uint32_t count);

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RANDOM_UNIFORM_H_
