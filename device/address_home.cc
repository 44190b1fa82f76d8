// One map of all reservations of the process.
#include "device/address_home.h"

#include <iterator>
#include <map>
#include <mutex>
#include <utility>

namespace graphtree {
namespace {

struct Reservation {
  Address end;
  const AddressHome* home;
};

struct Reservations {
  std::mutex mutex;
  std::map<Address, Reservation> by_base;
};

// Never destroyed: devices may be closed by destructors of static objects.
Reservations& All() {
  static Reservations* const all = new Reservations();
  return *all;
}

}  // namespace

AddressHome::AddressHome(std::string name, bool is_shared)
    : name_(std::move(name)), is_shared_(is_shared) {}

AddressHome::~AddressHome() {
  std::lock_guard<std::mutex> lock(All().mutex);
  auto& by_base = All().by_base;
  for (auto at = by_base.begin(); at != by_base.end();) {
    at = at->second.home == this ? by_base.erase(at) : std::next(at);
  }
  ++version_;
}

void AddressHome::Reserved(AddressRange range) {
  std::lock_guard<std::mutex> lock(All().mutex);
  All().by_base[range.base] = {range.end(), this};
  ++version_;
}

void AddressHome::Released(AddressRange range) {
  std::lock_guard<std::mutex> lock(All().mutex);
  All().by_base.erase(range.base);
  ++version_;
}

std::string AddressHome::OtherHomeOf(Address address) const {
  std::lock_guard<std::mutex> lock(All().mutex);
  const auto behind = All().by_base.upper_bound(address);
  if (behind == All().by_base.begin()) return "";
  const Reservation& reservation = std::prev(behind)->second;
  if (address >= reservation.end || IsSameAs(*reservation.home)) return "";
  return reservation.home->name_;
}

bool AddressHome::IsSameAs(const AddressHome& other) const {
  return this == &other || (is_shared_ && other.is_shared_ && name_ == other.name_);
}

}  // namespace graphtree
