// Reads a struct of the C interface that begins with its size, whoever compiled the caller.
//
//   size                the caller's header is     what it does not say
//   ------------------  -------------------------  -----------------------------------------
//   null pointer        any                        all of it: 0 everywhere, which is a default
//   less than ours      older                      the rest, likewise
//   ours                ours
//   more than ours      newer                      nothing; but where bytes that we do not know
//                                                  are not 0, the caller wants what we have not
//
// So a field is only ever added at the end, and 0 in it means what was before there was the field.
// A field `reserved` is one that a later version may give a meaning: what is not 0 there is refused
// today, so that it never was anything else.
// Write fills a struct in the other direction: as much of it as the caller knows.
//
// Pure.
#ifndef GRAPHTREE_RUNTIME_C_READ_OPTIONS_H_
#define GRAPHTREE_RUNTIME_C_READ_OPTIONS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace graphtree::c {

// The error names the struct.
absl::Status CheckSize(absl::string_view name, size_t size, size_t known, const void* bytes);

absl::Status ReservedIsSet(absl::string_view struct_name, int64_t value);
// An error that names the field of that struct, unless it is 0.
inline absl::Status CheckReserved(absl::string_view struct_name, int64_t value) {
  return value == 0 ? absl::OkStatus() : ReservedIsSet(struct_name, value);
}

template <typename Options>
absl::Status ReadOptions(const Options* from, absl::string_view name, Options* into) {
  static_assert(std::is_trivially_copyable_v<Options> && offsetof(Options, size) == 0);
  std::memset(static_cast<void*>(into), 0, sizeof(Options));
  into->size = sizeof(Options);
  if (from == nullptr) return absl::OkStatus();
  absl::Status fits = CheckSize(name, from->size, sizeof(Options), from);
  if (!fits.ok()) return fits;
  std::memcpy(static_cast<void*>(into), from, std::min(from->size, sizeof(Options)));
  into->size = sizeof(Options);
  if constexpr (requires { into->reserved; }) return CheckReserved(name, into->reserved);
  return absl::OkStatus();
}

// `into` is the caller's, and says how much of it the caller knows.
template <typename Figures>
absl::Status WriteFigures(const Figures& from, absl::string_view name, Figures* into) {
  static_assert(std::is_trivially_copyable_v<Figures> && offsetof(Figures, size) == 0);
  if (into == nullptr) return absl::InvalidArgumentError(absl::StrCat("no ", name, " to fill in"));
  const size_t size = into->size;
  if (size < sizeof(size_t) || size % sizeof(size_t) != 0) {
    return CheckSize(name, size, sizeof(Figures), into);
  }
  std::memcpy(static_cast<void*>(into), &from, std::min(size, sizeof(Figures)));
  if (size > sizeof(Figures)) {
    std::memset(reinterpret_cast<char*>(into) + sizeof(Figures), 0, size - sizeof(Figures));
  }
  into->size = size;
  return absl::OkStatus();
}

}  // namespace graphtree::c

#endif  // GRAPHTREE_RUNTIME_C_READ_OPTIONS_H_
