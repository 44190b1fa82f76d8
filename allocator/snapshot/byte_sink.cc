// Writing through a temporary file and a rename.
#include "allocator/snapshot/byte_sink.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "absl/strings/str_cat.h"

namespace graphtree::snapshot {
namespace {

absl::Status CannotWrite(const std::string& path, int error) {
  return absl::UnavailableError(absl::StrCat("cannot write ", path, ": ", std::strerror(error)));
}

}  // namespace

absl::StatusOr<std::unique_ptr<ByteSink>> ByteSink::Create(const std::string& path) {
  std::unique_ptr<ByteSink> sink(new ByteSink);
  sink->path_ = path;
  if (path == "-") {
    sink->path_ = "the standard output";
    sink->file_ = dup(STDOUT_FILENO);
    if (sink->file_ < 0) return CannotWrite("the standard output", errno);
    return sink;
  }
  struct stat about;
  const bool exists = stat(path.c_str(), &about) == 0;
  if (exists && S_ISDIR(about.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat("cannot write ", path, ": it is a folder"));
  }
  if (exists && access(path.c_str(), W_OK) != 0) return CannotWrite(path, errno);
  const bool direct = exists && !S_ISREG(about.st_mode);
  if (!direct) sink->part_ = std::make_unique<PartFile>(path);
  const std::string& opened = direct ? path : sink->part_->path();
  sink->file_ = open(opened.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (sink->file_ < 0) return CannotWrite(path, errno);
  return sink;
}

std::unique_ptr<ByteSink> ByteSink::To(std::string* text) {
  std::unique_ptr<ByteSink> sink(new ByteSink);
  sink->text_ = text;
  return sink;
}

ByteSink::~ByteSink() {
  if (file_ >= 0) close(file_);
}

void ByteSink::Fail(absl::string_view what) {
  if (status_.ok()) status_ = absl::UnavailableError(what);
}

void ByteSink::Flush() {
  written_ += buffer_.size();
  if (text_ != nullptr) {
    text_->append(buffer_);
  } else {
    const char* from = buffer_.data();
    size_t left = buffer_.size();
    while (left != 0 && status_.ok()) {
      const ssize_t done = write(file_, from, left);
      if (done < 0 && errno == EINTR) continue;
      if (done < 0) {
        Fail(absl::StrCat("writing ", path_, " failed: ", std::strerror(errno)));
        break;
      }
      from += done;
      left -= static_cast<size_t>(done);
    }
  }
  buffer_.clear();
}

absl::Status ByteSink::Commit() {
  Flush();
  if (file_ >= 0 && close(file_) != 0) {
    Fail(absl::StrCat("writing ", path_, " failed: ", std::strerror(errno)));
  }
  file_ = -1;
  if (status_.ok() && part_ != nullptr) status_ = part_->Move();
  part_.reset();
  return status_;
}

}  // namespace graphtree::snapshot
