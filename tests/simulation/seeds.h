// The seeds that a random test runs.
//
//   ForSeeds       a simulation's: from 1 on, so many at least, and more until its time is over.
//                  GRAPHTREE_SIMULATION_FROM=S begins at seed S instead, and
//                  GRAPHTREE_SIMULATION_SEEDS=N runs N seeds, however long they take
//   RandomSeed     another one each time, for a test that prints it; GRAPHTREE_SEED=S is S
//
// A sanitizer's build is several times slower, and looks for what shows in any program: there the
// time is a quarter. The seeds that are run at least are the same.
#ifndef GRAPHTREE_TESTS_SIMULATION_SEEDS_H_
#define GRAPHTREE_TESTS_SIMULATION_SEEDS_H_

#include <chrono>
#include <cstdint>
#include <functional>

namespace graphtree::simulation {

struct SeedsRun {
  uint32_t first = 1;
  uint32_t done = 0;
  // Nothing failed, and the seeds were those from 1 on, and as many as are run at least: what they
  // reach is always the same, so that a test can ask for it.
  bool is_whole = false;
};

// Up to the first seed whose check fails fatally. Prints how many there were.
SeedsRun ForSeeds(std::chrono::seconds time, uint32_t at_least,
                  const std::function<void(uint32_t seed)>& check);

uint64_t RandomSeed();

}  // namespace graphtree::simulation

#endif  // GRAPHTREE_TESTS_SIMULATION_SEEDS_H_
