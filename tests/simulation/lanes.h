// Lanes: trees of one device, each on a thread of its own, which hand tensors to each other, and a
// tree that parts of all of them call.
//
//   thread 0   lane 0 --makes-->  shelf  --takes-->  lane 1   thread 1
//                 \------ parts ------ shared ------ parts ------/
//
// What a lane makes lies on the shelf with the words that it has, until another lane takes it as an
// input of a call: of a warm-up, a recording, a replay or an eager run, as they come. The bytes are
// ready when they are laid there, and the last handle dies on the thread that took it, while its
// maker does something else. Nobody captures but the trees, so every call is OK and right.
#ifndef GRAPHTREE_TESTS_SIMULATION_LANES_H_
#define GRAPHTREE_TESTS_SIMULATION_LANES_H_

#include <cstdint>
#include <string>

namespace graphtree::simulation {

// Of two or three lanes; what the first of them saw that should not be, or empty. As threads come:
// a seed says what each thread does, not when. Adds the lanes' recordings to `recordings`.
std::string FailureOfLanes(uint32_t seed, uint64_t* recordings);

}  // namespace graphtree::simulation

#endif  // GRAPHTREE_TESTS_SIMULATION_LANES_H_
