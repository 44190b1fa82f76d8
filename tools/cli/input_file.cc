// By read(): a folder can be opened, and only reading it fails. A stream's iterators throw then.
#include "tools/cli/input_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace graphtree::cli {
namespace {

absl::Status CannotRead(const char* kind, const std::string& path, int error) {
  const std::string message =
      absl::StrCat("cannot read ", kind, " ", path, ": ", std::strerror(error));
  return error == ENOENT ? absl::NotFoundError(message) : absl::UnavailableError(message);
}

}  // namespace

absl::StatusOr<std::string> ReadInput(const char* kind, const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return CannotRead(kind, path, errno);
  std::string text;
  char some[4096];
  ssize_t got;
  while ((got = read(file, some, sizeof(some))) > 0 || (got < 0 && errno == EINTR)) {
    if (got > 0) text.append(some, static_cast<size_t>(got));
  }
  const int error = errno;
  close(file);
  if (got < 0) return CannotRead(kind, path, error);
  return text;
}

}  // namespace graphtree::cli
