// Addresses and ranges of them.
//
// There is one address space: a device's memory and the host's never overlap, so an Address says
// by itself which of the two it lies in, and a copy needs no direction. On the host device an
// Address is a pointer of this process; on CUDA it is a device pointer (or a host pointer).
#ifndef GRAPHTREE_DEVICE_ADDRESS_H_
#define GRAPHTREE_DEVICE_ADDRESS_H_

#include <cstdint>

namespace graphtree {

using Address = uint64_t;

inline Address AddressOf(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

template <typename T = void>
T* PointerTo(Address address) {
  return reinterpret_cast<T*>(static_cast<uintptr_t>(address));
}

//   base            end() = base + bytes
//   |===============|
struct AddressRange {
  Address base = 0;
  uint64_t bytes = 0;

  Address end() const { return base + bytes; }
  bool empty() const { return bytes == 0; }
  bool Contains(Address address) const { return address - base < bytes; }
  // A range of no bytes counts as the byte at its base: one at end() is not contained. An empty
  // range contains nothing.
  bool Contains(AddressRange other) const {
    return Contains(other.base) && other.bytes <= bytes - (other.base - base);
  }
  bool Overlaps(AddressRange other) const {
    return !empty() && !other.empty() && base < other.end() && other.base < end();
  }
  friend bool operator==(const AddressRange& a, const AddressRange& b) {
    return a.base == b.base && a.bytes == b.bytes;
  }
};

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_ADDRESS_H_
