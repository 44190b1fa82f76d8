// Writes a file whole or says why not.
#include "tools/memory/output_file.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <ostream>

#include "absl/strings/str_cat.h"

namespace graphtree::memory {

absl::Status WriteOutput(const std::string& path, absl::string_view text, cli::Console& console) {
  if (path == "-") {
    console.out << text;
    return absl::OkStatus();
  }
  errno = 0;
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (out) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("cannot write ", path, ": ", errno != 0 ? std::strerror(errno) : "no space"));
}

}  // namespace graphtree::memory
