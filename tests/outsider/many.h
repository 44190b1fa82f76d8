// Runs many programs in a process of their own, so that a crash or a hang is one more finding: the
// seed is known, the program is shrunk, and the rest goes on.
//
//   this process                       child
//   |-- fork ------------------------> seed 1, 2, 3, ... 17: wrong, or dead
//   |   shrinks 17: one child a try
//   |-- fork ------------------------> seed 18, ...
#ifndef GRAPHTREE_TESTS_OUTSIDER_MANY_H_
#define GRAPHTREE_TESTS_OUTSIDER_MANY_H_

#include <cstdint>
#include <functional>
#include <string>

#include "tests/outsider/generate.h"
#include "tests/outsider/program.h"
#include "tests/outsider/world.h"

namespace graphtree::outsider {

struct Find {
  uint64_t seed = 0;
  std::string wrong;
};

struct Range {
  uint64_t first = 1;
  uint64_t seeds = 1;
  int most = 1;  // finds, after which it ends
};

// What is done in each child before it begins: a bug may be planted there.
using Before = std::function<void()>;

// Coverage is what was done up to the end, or to the last find.
Coverage RunMany(const Range& range, const Taste& taste, const Before& before,
                 const std::function<void(const Find&)>& found);

// One program in a child; empty if all is well.
std::string RunApart(const Program& program, const Before& before);

// The program of a find, made smaller as long as it goes wrong in the same way.
Program ShrinkApart(const Program& program, const std::string& wrong, const Before& before,
                    int most);

// What people read: the find, how to run it again, the program.
std::string FindText(const Find& find, const Taste& taste, const Program& shrunk);
std::string CoverageText(const Coverage& coverage);

}  // namespace graphtree::outsider

#endif  // GRAPHTREE_TESTS_OUTSIDER_MANY_H_
