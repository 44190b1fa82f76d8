// Says what is wrong with a size.
#include "runtime/c/read_options.h"

namespace graphtree::c {

absl::Status CheckSize(absl::string_view name, size_t size, size_t known, const void* bytes) {
  // A struct that nobody has set has any size: this much no header of ours will ever have.
  constexpr size_t kMost = 1 << 16;
  // All of ours have whole words: half a pointer would be read from one that has not.
  if (size < sizeof(size_t) || size > kMost || size % sizeof(size_t) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " says that it has ", size, " bytes: its first field is its size, and "
                     "here that is ", known));
  }
  const auto* byte = static_cast<const unsigned char*>(bytes);
  for (size_t at = known; at < size; ++at) {
    if (byte[at] == 0) continue;
    return absl::UnimplementedError(
        absl::StrCat(name, " has ", size, " bytes and sets byte ", at, ", and this library knows ",
                     known, " bytes of it: the caller was compiled with a newer header, and asks "
                     "for what is not here"));
  }
  return absl::OkStatus();
}

absl::Status ReservedIsSet(absl::string_view struct_name, int64_t value) {
  return absl::InvalidArgumentError(
      absl::StrCat(struct_name, ".reserved is ", value, ", and must be 0"));
}

}  // namespace graphtree::c
