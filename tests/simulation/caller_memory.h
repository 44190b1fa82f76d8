// Memory of the simulated caller's own, outside the tree, and what should be in it.
//
//   | static 0 | static 1 | static 2 | foreign 0 | ... | foreign n |      slots of one page each
//
// The last of each kind are special: one starts less aligned than a function may declare, and one
// has a layout that overlaps itself.
#ifndef GRAPHTREE_TESTS_SIMULATION_CALLER_MEMORY_H_
#define GRAPHTREE_TESTS_SIMULATION_CALLER_MEMORY_H_

#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include "absl/status/status.h"
#include "device/device.h"
#include "tests/simulation/model.h"

namespace graphtree::simulation {

class CallerMemory {
 public:
  CallerMemory(Device& device, uint32_t elements) : device_(device), elements_(elements) {}

  absl::Status Open(Stream& stream);
  absl::Status Close();

  const std::vector<Seen>& statics() const { return statics_; }
  const std::vector<Seen>& foreign() const { return foreign_; }

  // REQUIRES: no work on the buffer is under way.
  absl::Status Rewrite(const Seen& seen, uint32_t seed, Stream& stream);
  // Gives the buffer back, as far as a device that checks is told; or takes it again.
  absl::Status Kill(const Seen& seen, Stream& stream);
  bool Has(const Value& value) const { return range_.Contains({value.word(), 1}); }
  bool IsDead(const Value& value) const {
    return value.storage() == nullptr && dead_.count(value.word()) > 0;
  }

 private:
  absl::Status AddBuffer(size_t slot, std::vector<Seen>* to, bool shifted, bool overlapping,
                         Stream& stream);
  AddressRange RangeOf(const Seen& seen) const {
    return {seen.handle.word(), uint64_t{elements_} * 4};
  }

  Device& device_;
  const uint32_t elements_;
  AddressRange range_;
  std::unique_ptr<PhysicalMemory> memory_;
  std::vector<Seen> statics_;
  std::vector<Seen> foreign_;
  std::set<Address> dead_;
};

}  // namespace graphtree::simulation

#endif  // GRAPHTREE_TESTS_SIMULATION_CALLER_MEMORY_H_
