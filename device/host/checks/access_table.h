// Which addresses the device has reserved, and what may be done with the memory under them now.
//
//   reserved   |------------------------|      |-----------|
//   rights       [==rw==][=r=]                   [==rw==]        everything else: no access
//
// Addresses outside every reservation are ordinary host memory, of which the device knows nothing.
// Neighbouring ranges of equal rights are one entry, so a pool that grows in pieces stays one entry
// and a check is one search in a small tree.
//
// Pure: no lock, no memory of its own.
#ifndef GRAPHTREE_DEVICE_HOST_CHECKS_ACCESS_TABLE_H_
#define GRAPHTREE_DEVICE_HOST_CHECKS_ACCESS_TABLE_H_

#include <map>
#include <string>
#include <vector>

#include "device/address.h"
#include "device/memory.h"

namespace graphtree::host {

class AccessTable {
 public:
  void Reserved(AddressRange range) { reserved_[range.base] = range; }
  void Released(AddressRange range) { reserved_.erase(range.base); }
  // kNone takes rights away.
  void SetRights(AddressRange range, MemoryAccess rights);

  // Empty if the range may be read (and, with `write`, written), or lies in host memory; else why
  // not: "[...] is not accessible from 0x... on".
  std::string Check(AddressRange range, bool write) const;
  bool IsReserved(Address address) const;
  // The parts of `range` that may be written.
  std::vector<AddressRange> Writable(AddressRange range) const;

 private:
  struct Entry {
    Address end = 0;
    MemoryAccess rights = MemoryAccess::kNone;
  };
  using Entries = std::map<Address, Entry>;

  bool TouchesReservation(AddressRange range) const;
  // Makes `at` a border between entries.
  void Split(Address at);
  void JoinWithNeighbours(Entries::iterator entry);

  std::map<Address, AddressRange> reserved_;
  Entries entries_;
};

}  // namespace graphtree::host

#endif  // GRAPHTREE_DEVICE_HOST_CHECKS_ACCESS_TABLE_H_
