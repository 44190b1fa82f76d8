// Programs from seeds: a loop of steps as a server has it, in which things change now and then.
//
//   options      mostly the plain ones, now and then a small budget, checked mode, strict
//   functions    one to five, with bodies of a few lines, parts, parts in parts
//   a step       a few calls, which feed each other
//   the loop     the step again and again, so that it is warmed up, recorded and replayed; now and
//                then an input moves, a handle is held or dropped, a call is left out or another
//                one comes between, a pool is parked, a device call fails
//
// The same seed gives the same program on every machine.
#ifndef GRAPHTREE_TESTS_OUTSIDER_GENERATE_H_
#define GRAPHTREE_TESTS_OUTSIDER_GENERATE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tests/outsider/program.h"

namespace graphtree::outsider {

struct Taste {
  bool faults = false;
  // Names of lines, options, traits and acts that are left out.
  std::vector<std::string> without = {};
};

Program Generate(uint64_t seed, const Taste& taste);

}  // namespace graphtree::outsider

#endif  // GRAPHTREE_TESTS_OUTSIDER_GENERATE_H_
