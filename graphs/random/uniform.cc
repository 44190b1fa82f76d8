// The host body of the uniform kernel, and the pairing with the CUDA body.
#include "graphs/random/uniform.h"

#include <algorithm>

#include "graphs/random/philox.h"
#include "graphs/random/random_state.h"
#include "graphs/random/uniform_symbol.h"

namespace graphtree {
namespace {

void UniformOnHost(const HostCall& call) {
  auto* out = call.Get<float*>(0);
  const auto count = call.Get<uint32_t>(1);
  const RandomStart start = Resolve(call.Get<RandomState>(2));
  for (uint32_t i = 0; i < count; ++i) {
    out[i] = UniformFloat(RandomWord(start.seed, start.position + i));
  }
}

}  // namespace

const Kernel& UniformKernel() {
  const void* symbol = LinkedUniformKernel();
  static const Kernel* kernel =
      new Kernel("graphtree_uniform", Params<float*, uint32_t, RandomState>(), UniformOnHost,
                 symbol == nullptr ? CudaBody() : CudaSymbol{symbol});
  return *kernel;
}

LaunchShape UniformShape(uint32_t count) {
  LaunchShape shape;
  shape.block.x = 256;
  shape.grid.x = std::clamp<uint32_t>((count + 255) / 256, 1, 1024);
  return shape;
}

}  // namespace graphtree
