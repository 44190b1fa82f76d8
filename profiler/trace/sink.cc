// A file, written piece by piece.
#include "profiler/trace/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"

namespace graphtree::trace {
namespace {

constexpr int kMode = 0644;

}  // namespace

// A pipe whose reader leaves would end the process with a signal, and one without a reader would
// make this wait.
absl::StatusOr<std::unique_ptr<FileSink>> FileSink::Create(const std::string& path) {
  const auto refused = [&path](const char* why) {
    return absl::UnavailableError(absl::StrCat("cannot write the trace ", path, ": ", why));
  };
  struct stat there = {};
  if (stat(path.c_str(), &there) == 0 && (S_ISFIFO(there.st_mode) || S_ISSOCK(there.st_mode))) {
    return refused("it is a pipe or a socket, and a trace goes into a file");
  }
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kMode);
  if (file < 0) return refused(std::strerror(errno));
  return absl::WrapUnique(new FileSink(file, path));
}

FileSink::~FileSink() { close(file_); }

void FileSink::Write(absl::string_view bytes) {
  while (status_.ok() && !bytes.empty()) {
    const ssize_t done = write(file_, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) {
      status_ = absl::UnavailableError(absl::StrCat("the trace ", path_, " ends after ", written_,
                                                    " bytes: ", std::strerror(errno)));
      return;
    }
    written_ += static_cast<uint64_t>(done);
    bytes.remove_prefix(static_cast<size_t>(done));
  }
}

absl::Status FileSink::Finish() {
  struct stat now = {};
  if (status_.ok() && fstat(file_, &now) == 0 && now.st_nlink == 0) {
    status_ = absl::UnavailableError(absl::StrCat(
        "the trace ", path_, " was deleted while it was written; its ", written_,
        " bytes are gone"));
  }
  return status_;
}

}  // namespace graphtree::trace
