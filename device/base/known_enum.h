// Numbers that are no value of their enum, as a caller in another language, or a struct that nobody
// has set, may bring them:
//
//   if (!IsKnown(mode, CaptureMode::kRelaxed)) {
//     return absl::InvalidArgumentError(NotKnown("mode", mode));
//   }                                   // "mode 77, and there is none with that number"
#ifndef GRAPHTREE_DEVICE_BASE_KNOWN_ENUM_H_
#define GRAPHTREE_DEVICE_BASE_KNOWN_ENUM_H_

#include <string>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace graphtree {

// REQUIRES: the values of the enum are 0 to `last`.
template <typename Enum>
constexpr bool IsKnown(Enum value, Enum last) {
  static_assert(std::is_unsigned_v<std::underlying_type_t<Enum>>);
  return value <= last;
}

template <typename Enum>
std::string NotKnown(absl::string_view what, Enum value) {
  return absl::StrCat(what, " ", static_cast<int>(value), ", and there is none with that number");
}

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_BASE_KNOWN_ENUM_H_
