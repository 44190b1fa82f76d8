// The check that a launch brings what its kernel takes.
#include "device/kernel.h"

#include "absl/strings/str_cat.h"

namespace graphtree {

std::string ArgumentMismatch(const Kernel& kernel, Arguments arguments) {
  const auto& wanted = kernel.parameter_bytes();
  if (arguments.size() != wanted.size()) {
    return absl::StrCat("kernel ", kernel.name(), " takes ", wanted.size(), " arguments, got ",
                        arguments.size());
  }
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (arguments[i].bytes() != wanted[i]) {
      return absl::StrCat("argument ", i, " of kernel ", kernel.name(), " takes ", wanted[i],
                          " bytes, got ", arguments[i].bytes());
    }
  }
  return "";
}

}  // namespace graphtree
