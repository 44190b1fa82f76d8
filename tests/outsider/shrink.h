// Makes a program that goes wrong smaller, as long as it goes wrong in the same way: actions,
// functions' lines, options and traits are taken out one after the other, first many at a time.
#ifndef GRAPHTREE_TESTS_OUTSIDER_SHRINK_H_
#define GRAPHTREE_TESTS_OUTSIDER_SHRINK_H_

#include <functional>

#include "tests/outsider/program.h"

namespace graphtree::outsider {

// REQUIRES: goes_wrong(program). Tries at most `most` programs.
Program Shrink(Program program, const std::function<bool(const Program&)>& goes_wrong, int most);

}  // namespace graphtree::outsider

#endif  // GRAPHTREE_TESTS_OUTSIDER_SHRINK_H_
