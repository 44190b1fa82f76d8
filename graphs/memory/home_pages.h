// A set of pages that are known to be the tree's own device's. With it a hit can check every input
// that comes at any address, without a lock: reading another device's address would be a wild read.
//
//   address   0x7f12_3456_7890          page 0x7f12_345
//   set       [page | page | 0 | 0]     4 places; a fifth page takes the place of the oldest
//
// All pages are forgotten when any device of the process has reserved or released addresses: they
// may have changed hands. Addresses that other libraries reserve and release are not seen.
//
// Threads: one at a time. Cost: a few ns where the page is known; nothing but the constructor
// allocates.
#ifndef GRAPHTREE_GRAPHS_MEMORY_HOME_PAGES_H_
#define GRAPHTREE_GRAPHS_MEMORY_HOME_PAGES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "device/address.h"
#include "device/address_home.h"

namespace graphtree {

class HomePages {
 public:
  // REQUIRES: `page_bytes` is a power of two, and no two devices share a page of that size.
  explicit HomePages(uint64_t page_bytes);

  // To be called before Knows, once for a group of questions.
  void ForgetIfAnyMoved() {
    if (version_ != AddressHome::Version()) Forget();
  }
  bool Knows(Address address) const {
    const uint64_t page = PageOf(address);
    const Set& set = sets_[SetOf(page)];
    return set[0] == page || set[1] == page || set[2] == page || set[3] == page;
  }
  void Learn(Address address);

 private:
  static constexpr size_t kSets = 256;
  using Set = std::array<uint64_t, 4>;  // pages, the latest first; 0: none

  // No page is 0.
  uint64_t PageOf(Address address) const { return (address >> shift_) + 1; }
  static size_t SetOf(uint64_t page) { return page * 0x9e3779b97f4a7c15u >> 56; }
  void Forget();

  const int shift_;
  uint64_t version_;
  std::vector<Set> sets_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_MEMORY_HOME_PAGES_H_
