// Tells which device of the process reserved an address: a caller's pointer does not say, and to
// use another device's address would be a wild read.
//
//   device A reserves   |=====A=====|
//   device B reserves                   |===B===|
//   B is asked of an address in A's: "A"; of one in its own, or in nobody's: ""
//
// Threads: safe from several. Cost: a lock and a search for each question; none for Version().
#ifndef GRAPHTREE_DEVICE_ADDRESS_HOME_H_
#define GRAPHTREE_DEVICE_ADDRESS_HOME_H_

#include <atomic>
#include <cstdint>
#include <string>

#include "device/address.h"

namespace graphtree {

class AddressHome {
 public:
  // Two shared homes of one name count as one: so does a GPU that was opened twice.
  AddressHome(std::string name, bool is_shared);
  AddressHome(const AddressHome&) = delete;
  AddressHome& operator=(const AddressHome&) = delete;
  // Ranges that are still reserved belong to nobody afterwards.
  ~AddressHome();

  void Reserved(AddressRange range);
  void Released(AddressRange range);

  // The name of the other home that has reserved the address; empty if none has.
  std::string OtherHomeOf(Address address) const;

  // Changes whenever any home reserves or releases addresses: answers may differ from then on.
  static uint64_t Version() { return version_.load(std::memory_order_acquire); }

 private:
  bool IsSameAs(const AddressHome& other) const;

  static inline std::atomic<uint64_t> version_{0};

  const std::string name_;
  const bool is_shared_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_ADDRESS_HOME_H_
