// The arithmetic of the kernels.
#include "tests/outsider/kernels.h"

#include <algorithm>

#include "graphs/random/philox.h"
#include "graphs/random/random_state.h"

namespace graphtree::outsider {

void Mix(uint8_t* target, const uint8_t* from, const MixParams& params) {
  uint32_t at = params.from_bytes == 0 ? 0 : params.by % params.from_bytes;
  const uint32_t stride = params.from_bytes == 0 ? 0 : 7 % params.from_bytes;
  for (uint32_t i = 0; i < params.bytes; ++i) {
    const uint8_t read = params.from_bytes == 0 ? 1 : from[at];
    target[i] = static_cast<uint8_t>(read * 3 + params.by + i);
    at += stride;
    if (at >= params.from_bytes) at -= params.from_bytes;
  }
}

void Bump(uint8_t* target, const MixParams& params) {
  for (uint32_t i = 0; i < params.bytes; ++i) {
    target[i] = static_cast<uint8_t>(target[i] * 5 + params.by + i);
  }
}

void Join(uint8_t* target, const uint8_t* from, const uint8_t* more, const MixParams& params) {
  for (uint32_t i = 0; i < params.bytes; ++i) {
    const uint8_t one = params.from_bytes == 0 ? 3 : from[i % params.from_bytes];
    const uint8_t other = params.more_bytes == 0 ? 5 : more[(i * 3) % params.more_bytes];
    target[i] = static_cast<uint8_t>(one * 7 + other + params.by);
  }
}

void Elements(uint8_t* target, const uint8_t* from, const ElementParams& p) {
  for (uint32_t x = 0; x < p.sizes[0]; ++x) {
    for (uint32_t y = 0; y < p.sizes[1]; ++y) {
      for (uint32_t z = 0; z < p.sizes[2]; ++z) {
        uint8_t* to = target + x * p.target[0] + y * p.target[1] + z * p.target[2];
        const uint8_t* at = from + x * p.source[0] + y * p.source[1] + z * p.source[2];
        for (uint32_t i = 0; i < p.width; ++i) to[i] = static_cast<uint8_t>(at[i] + p.by + x);
      }
    }
  }
}

void Via(uint8_t* target, uint8_t* scratch, const uint8_t* from, const MixParams& params) {
  const MixParams there = {params.more_bytes, params.from_bytes, 0, params.by};
  Mix(scratch, from, there);
  Mix(target, scratch, {params.bytes, params.more_bytes, 0, params.by + 1});
}

void Draw(uint8_t* target, uint64_t seed, uint64_t position, uint32_t bytes) {
  for (uint32_t i = 0; i < bytes; ++i) {
    target[i] = static_cast<uint8_t>(RandomWord(seed, position + i));
  }
}

const Kernel& MixKernel() {
  static const Kernel* const kernel = new Kernel(
      "mix", Params<uint8_t*, const uint8_t*, MixParams>(),
      [](const HostCall& call) {
        Mix(call.Get<uint8_t*>(0), call.Get<const uint8_t*>(1), call.Get<MixParams>(2));
      },
      CudaBody());
  return *kernel;
}

const Kernel& BumpKernel() {
  static const Kernel* const kernel = new Kernel(
      "bump", Params<uint8_t*, MixParams>(),
      [](const HostCall& call) { Bump(call.Get<uint8_t*>(0), call.Get<MixParams>(1)); },
      CudaBody());
  return *kernel;
}

const Kernel& JoinKernel() {
  static const Kernel* const kernel = new Kernel(
      "join", Params<uint8_t*, const uint8_t*, const uint8_t*, MixParams>(),
      [](const HostCall& call) {
        Join(call.Get<uint8_t*>(0), call.Get<const uint8_t*>(1), call.Get<const uint8_t*>(2),
             call.Get<MixParams>(3));
      },
      CudaBody());
  return *kernel;
}

const Kernel& ElementsKernel() {
  static const Kernel* const kernel = new Kernel(
      "elements", Params<uint8_t*, const uint8_t*, ElementParams>(),
      [](const HostCall& call) {
        Elements(call.Get<uint8_t*>(0), call.Get<const uint8_t*>(1), call.Get<ElementParams>(2));
      },
      CudaBody());
  return *kernel;
}

const Kernel& ViaKernel() {
  static const Kernel* const kernel = new Kernel(
      "via", Params<uint8_t*, uint8_t*, const uint8_t*, MixParams>(),
      [](const HostCall& call) {
        Via(call.Get<uint8_t*>(0), call.Get<uint8_t*>(1), call.Get<const uint8_t*>(2),
            call.Get<MixParams>(3));
      },
      CudaBody());
  return *kernel;
}

const Kernel& DrawKernel() {
  static const Kernel* const kernel = new Kernel(
      "draw", Params<uint8_t*, uint32_t, RandomState>(),
      [](const HostCall& call) {
        const RandomStart start = Resolve(call.Get<RandomState>(2));
        Draw(call.Get<uint8_t*>(0), start.seed, start.position, call.Get<uint32_t>(1));
      },
      CudaBody());
  return *kernel;
}

const Kernel& AliveKernel() {
  static const Kernel* const kernel = new Kernel(
      "alive", Params<uint8_t*, const uint8_t*>(),
      [](const HostCall& call) {
        call.Get<uint8_t*>(0)[0] = *call.Get<const uint8_t*>(1);
      },
      CudaBody());
  return *kernel;
}

const Kernel& AlignedKernel() {
  static const Kernel* const kernel = new Kernel(
      "aligned", Params<uint8_t*, const uint8_t*, uint64_t>(),
      [](const HostCall& call) {
        const auto at = reinterpret_cast<uintptr_t>(call.Get<const uint8_t*>(1));
        call.Get<uint8_t*>(0)[0] = at % call.Get<uint64_t>(2) == 0 ? 1 : 0;
      },
      CudaBody());
  return *kernel;
}

ElementParams ElementsOf(const Layout& target, const Layout& source, uint32_t by) {
  ElementParams params;
  params.by = by;
  params.width = std::min(BytesOf(target.type()), BytesOf(source.type()));
  const size_t ranks[2] = {target.sizes().size(), source.sizes().size()};
  // The last dimensions face each other; what one of the two does not have it takes once.
  for (size_t i = 0; i < 3; ++i) {
    const bool has_target = i < ranks[0], has_source = i < ranks[1];
    const int64_t size = has_target ? target.sizes()[ranks[0] - 1 - i] : 1;
    const int64_t from = has_source ? source.sizes()[ranks[1] - 1 - i] : 1;
    params.sizes[2 - i] = static_cast<uint32_t>(std::min(size, from));
    if (has_target) {
      params.target[2 - i] = static_cast<uint32_t>(target.strides()[ranks[0] - 1 - i] *
                                                   BytesOf(target.type()));
    }
    if (has_source) {
      params.source[2 - i] = static_cast<uint32_t>(source.strides()[ranks[1] - 1 - i] *
                                                   BytesOf(source.type()));
    }
  }
  if (target.elements() == 0 || source.elements() == 0) params.sizes[0] = 0;
  return params;
}

}  // namespace graphtree::outsider
