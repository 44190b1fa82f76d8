// Learns pages, and forgets them.
#include "graphs/memory/home_pages.h"

#include <algorithm>
#include <bit>

namespace graphtree {

HomePages::HomePages(uint64_t page_bytes)
    : shift_(std::countr_zero(page_bytes)), version_(AddressHome::Version()), sets_(kSets) {}

void HomePages::Learn(Address address) {
  const uint64_t page = PageOf(address);
  Set& set = sets_[SetOf(page)];
  std::copy_backward(set.begin(), set.end() - 1, set.end());
  set[0] = page;
}

void HomePages::Forget() {
  version_ = AddressHome::Version();
  std::fill(sets_.begin(), sets_.end(), Set{});
}

}  // namespace graphtree
