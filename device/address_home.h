// Which device's addresses these are, among all devices of the process: memory of the caller's
// carries no name, and an address of another device would be a wild one.
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
  // Two homes of one name are one where `is_shared`, as a GPU is that was opened twice.
  AddressHome(std::string name, bool is_shared);
  AddressHome(const AddressHome&) = delete;
  AddressHome& operator=(const AddressHome&) = delete;
  // What is still reserved is nobody's then.
  ~AddressHome();

  void Reserved(AddressRange range);
  void Released(AddressRange range);

  // The name of the other home that has reserved it; empty if none has.
  std::string OtherHomeOf(Address address) const;

  // Another one whenever any home has reserved or released addresses: answers may differ then.
  static uint64_t Version() { return version_.load(std::memory_order_acquire); }

 private:
  bool IsSameAs(const AddressHome& other) const;

  static inline std::atomic<uint64_t> version_{0};

  const std::string name_;
  const bool is_shared_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_ADDRESS_HOME_H_
