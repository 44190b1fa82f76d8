// What the functions of the tree's tests are made of: a few tensors of 32-bit words, and ops whose
// results a test can say without a device. All arithmetic wraps.
#ifndef GRAPHTREE_TESTS_TREE_BODIES_H_
#define GRAPHTREE_TESTS_TREE_BODIES_H_

#include <cstdint>
#include <vector>

#include "graphs/match/function.h"
#include "graphs/launcher.h"
#include "graphs/layout.h"
#include "graphs/tensor.h"

namespace graphtree {

using Words = std::vector<uint32_t>;

const Layout* WordsLayout(int64_t count);

// Ops. An undefined tensor, after an earlier failure, makes them do nothing.
Tensor Sum(Launcher& on, const Value& a, const Value& b);
Tensor Filled(Launcher& on, uint32_t seed, int64_t count);
void Bump(Launcher& on, const Value& data, uint32_t by);
// The same, saying that it only reads.
void BumpInSecret(Launcher& on, const Value& data, uint32_t by);
// `count` words of it, from the word `first` on.
Tensor Slice(const Value& tensor, int64_t first, int64_t count);

// Bodies of one tensor each.
Values Twice(Launcher& on, Values& inputs);         // x -> x + x
Values Thrice(Launcher& on, Values& inputs);        // x -> x + x + x
Values AddBoth(Launcher& on, Values& inputs);       // x, y -> x + y
// x -> x + x, and x itself dies inside.
Values ConsumeTwice(Launcher& on, Values& inputs);

// The same on the host.
Words Plus(const Words& a, const Words& b);
Words Times(const Words& a, uint32_t factor);

}  // namespace graphtree

#endif  // GRAPHTREE_TESTS_TREE_BODIES_H_
