// The __global__ functions of pad.cu, as plain pointers; null in a build without CUDA.
#ifndef GRAPHTREE_GRAPHS_PAD_PAD_SYMBOLS_H_
#define GRAPHTREE_GRAPHS_PAD_PAD_SYMBOLS_H_

namespace graphtree {

struct PadSymbols {
  const void* in_place = nullptr;
  const void* copy = nullptr;
};

PadSymbols LinkedPadKernels();

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_PAD_PAD_SYMBOLS_H_
