// The CUDA body of the uniform kernel. Any grid gives the same bytes.
#include <cstdint>

#include "graphs/random/philox.h"
#include "graphs/random/random_state.h"
#include "graphs/random/uniform_symbol.h"

namespace graphtree {
namespace uniform {

__global__ void Uniform(float* out, uint32_t count, RandomState state) {
  const RandomStart start = Resolve(state);
  const uint32_t step = gridDim.x * blockDim.x;
  for (uint64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
    out[i] = UniformFloat(RandomWord(start.seed, start.position + i));
  }
}

}  // namespace uniform

const void* LinkedUniformKernel() { return reinterpret_cast<const void*>(&uniform::Uniform); }

}  // namespace graphtree
