// Writes a file whole or says why not.
#include "tools/cli/output_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <ostream>

#include "absl/strings/str_cat.h"

namespace graphtree::cli {
namespace {

absl::Status CannotWrite(const std::string& path, int error) {
  return absl::UnavailableError(absl::StrCat("cannot write ", path.empty() ? "\"\"" : path, ": ",
                                             error != 0 ? std::strerror(error) : "no space"));
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

absl::Status MayWrite(const std::string& path) {
  if (path == "-") return absl::OkStatus();
  struct stat info;
  if (stat(path.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) return CannotWrite(path, EISDIR);
    return access(path.c_str(), W_OK) == 0 ? absl::OkStatus() : CannotWrite(path, errno);
  }
  if (errno != ENOENT || path.empty()) return CannotWrite(path, errno);
  return access(FolderOf(path).c_str(), W_OK | X_OK) == 0 ? absl::OkStatus()
                                                          : CannotWrite(path, errno);
}

absl::Status WriteOutput(const std::string& path, absl::string_view text, Console& console) {
  if (path == "-") {
    console.out << text;
    return absl::OkStatus();
  }
  errno = 0;
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  return out ? absl::OkStatus() : CannotWrite(path, errno);
}

}  // namespace graphtree::cli
