// Where the bodies of one world put tensors that they do not return, and find them in later runs: a
// member that a body captures. Nobody tells the tree.
#ifndef GRAPHTREE_TESTS_SIMULATION_SHELF_H_
#define GRAPHTREE_TESTS_SIMULATION_SHELF_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "graphs/tensor.h"
#include "tests/simulation/model.h"

namespace graphtree::simulation {

struct Stored {
  Value handle;  // none: the place is empty
  Register known;
  uint64_t by = 0;    // the run that stored it
  size_t number = 0;  // its register there

  bool empty() const { return !handle.is_tensor(); }
  bool stale() const { return handle.storage() != nullptr && handle.storage()->stale(); }
};

// Places by number, taken modulo how many there are.
class Shelf {
 public:
  Stored& at(size_t place) { return places_[place % places_.size()]; }
  auto begin() { return places_.begin(); }
  auto end() { return places_.end(); }
  auto begin() const { return places_.begin(); }
  auto end() const { return places_.end(); }
  void Clear() { places_ = {}; }

 private:
  std::array<Stored, 2> places_;
};

}  // namespace graphtree::simulation

#endif  // GRAPHTREE_TESTS_SIMULATION_SHELF_H_
