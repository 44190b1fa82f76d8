// The __global__ function of uniform.cu; null in a build without CUDA.
#ifndef GRAPHTREE_GRAPHS_RANDOM_UNIFORM_SYMBOL_H_
#define GRAPHTREE_GRAPHS_RANDOM_UNIFORM_SYMBOL_H_

namespace graphtree {

const void* LinkedUniformKernel();

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RANDOM_UNIFORM_SYMBOL_H_
