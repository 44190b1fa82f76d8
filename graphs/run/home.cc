// Asks the pages that are known, and for others the device.
#include "graphs/run/home.h"

#include "absl/strings/str_cat.h"

namespace graphtree {

Home::Home(Device& device)
    : device_(device), place_(DevicePlaceOf(device)), pages_(device.memory().granularity()) {}

std::string Home::OtherHomeOf(Address address) {
  pages_.ForgetIfAnyMoved();
  if (pages_.Knows(address)) return "";
  std::string elsewhere = device_.memory().OtherHomeOf(address);
  if (elsewhere.empty()) pages_.Learn(address);
  return elsewhere;
}

std::string Home::OtherHomeOf(const Value& tensor) {
  const Storage* const storage = tensor.storage();
  if (storage == nullptr) return OtherHomeOf(tensor.word());
  return storage->IsElsewhere(place_.id) ? storage->owner()->DeviceName() : "";
}

absl::Status Home::CheckInput(const Call& call, size_t i) {
  const Value& input = call.inputs[i];
  if (!input.is_tensor()) return absl::OkStatus();
  const std::string elsewhere = OtherHomeOf(input);
  if (elsewhere.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("input ", i, " of '", call.function.name, "' lies on another device, ",
                   elsewhere, "; this tree's is ", place_.name, ": copy it there first"));
}

}  // namespace graphtree
