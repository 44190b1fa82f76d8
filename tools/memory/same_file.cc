// Compares what the system knows of two paths.
#include "tools/memory/same_file.h"

#include <sys/stat.h>

#include "absl/strings/str_cat.h"

namespace graphtree::memory {

bool SameFile(const std::string& in, const std::string& out) {
  if (in == "-" || out == "-") return false;
  struct stat read, written;
  return stat(in.c_str(), &read) == 0 && stat(out.c_str(), &written) == 0 &&
         S_ISREG(read.st_mode) && read.st_dev == written.st_dev && read.st_ino == written.st_ino;
}

std::string SameFileText(const std::string& in, const std::string& out) {
  return absl::StrCat(out, in == out ? " would be overwritten with what is read from it"
                                     : absl::StrCat(" is the same file as ", in,
                                                    ", and would be overwritten"),
                      ": name another file\n");
}

}  // namespace graphtree::memory
