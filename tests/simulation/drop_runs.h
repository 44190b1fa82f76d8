// The heart of shrinking: a failing program is tried without runs of its items, such as actions:
// half of them first, then quarters, down to single ones; what still fails is kept. UntilSmall is
// for those who only ask whether a program becomes small.
#ifndef GRAPHTREE_TESTS_SIMULATION_DROP_RUNS_H_
#define GRAPHTREE_TESTS_SIMULATION_DROP_RUNS_H_

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

namespace graphtree::simulation {

// Whether anything went. At most `*tries` calls of `fails`, which it counts down. REQUIRES:
// fails(*program), and any subset of the items makes a program.
template <typename Program, typename Item>
bool DropRuns(Program* program, std::vector<Item> Program::*items,
              const std::function<bool(const Program&)>& fails, int* tries) {
  bool any = false;
  for (size_t run = std::max<size_t>((program->*items).size() / 2, 1); run > 0; run /= 2) {
    for (size_t at = 0; at < (program->*items).size() && *tries > 0;) {
      Program smaller = *program;
      std::vector<Item>& left = smaller.*items;
      left.erase(left.begin() + at, left.begin() + std::min(at + run, left.size()));
      --*tries;
      if (fails(smaller)) {
        *program = std::move(smaller);
        any = true;
      } else {
        at += run;
      }
    }
  }
  return any;
}

// `fails`, for a shrinking that ends at the first program that is small: from then on no further
// one fails, and none is run. Begin each shrinking with a new one.
template <typename Program>
std::function<bool(const Program&)> UntilSmall(std::function<bool(const Program&)> fails,
                                               std::function<bool(const Program&)> is_small) {
  return [fails = std::move(fails), is_small = std::move(is_small),
          ends = false](const Program& tried) mutable {
    if (ends || !fails(tried)) return false;
    ends = is_small(tried);
    return true;
  };
}

}  // namespace graphtree::simulation

#endif  // GRAPHTREE_TESTS_SIMULATION_DROP_RUNS_H_
