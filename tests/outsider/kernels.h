// The kernels that programs launch, and the same arithmetic for the model: what a kernel's host
// body does to bytes is written once, what the library does around that is the matter of the test.
//
// Every byte that a kernel writes depends on where it lies and on what was read, so that a wrong
// address, a wrong order and a lost write all show.
#ifndef GRAPHTREE_TESTS_OUTSIDER_KERNELS_H_
#define GRAPHTREE_TESTS_OUTSIDER_KERNELS_H_

#include <cstdint>

#include "device/kernel.h"
#include "graphs/layout.h"

namespace graphtree::outsider {

struct MixParams {
  uint32_t bytes = 0;
  uint32_t from_bytes = 0;
  uint32_t more_bytes = 0;
  uint32_t by = 0;
};

// Up to three dimensions of two tensors, element by element.
struct ElementParams {
  uint32_t sizes[3] = {1, 1, 1};
  uint32_t target[3] = {};  // strides, in bytes
  uint32_t source[3] = {};
  uint32_t width = 1;
  uint32_t by = 0;
};

void Mix(uint8_t* target, const uint8_t* from, const MixParams& params);
void Bump(uint8_t* target, const MixParams& params);
void Join(uint8_t* target, const uint8_t* from, const uint8_t* more, const MixParams& params);
void Elements(uint8_t* target, const uint8_t* from, const ElementParams& params);
void Via(uint8_t* target, uint8_t* scratch, const uint8_t* from, const MixParams& params);
void Draw(uint8_t* target, uint64_t seed, uint64_t position, uint32_t bytes);

const Kernel& MixKernel();       // (target, from, MixParams)
const Kernel& BumpKernel();      // (target, MixParams)
const Kernel& JoinKernel();      // (target, from, more, MixParams)
const Kernel& ElementsKernel();  // (target, from, ElementParams)
const Kernel& ViaKernel();       // (target, scratch, from, MixParams)
const Kernel& DrawKernel();      // (target, bytes, RandomState)
const Kernel& AliveKernel();     // (target, cell): target[0] = *cell
const Kernel& AlignedKernel();   // (target, pointer, alignment): target[0] = is it a multiple?

constexpr uint8_t kAlive = 0x5A;  // what a cell holds as long as its object lives

// How an element-wise launch from one layout to another goes: as far as both reach.
ElementParams ElementsOf(const Layout& target, const Layout& source, uint32_t by);

}  // namespace graphtree::outsider

#endif  // GRAPHTREE_TESTS_OUTSIDER_KERNELS_H_
