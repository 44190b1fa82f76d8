// Moves the window: the unread tail goes to its front, then one read fills the rest.
#include "tools/snapshot/read/byte_source.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace graphtree::snapshot {
namespace {

constexpr size_t kWindowBytes = 1 << 20;

}  // namespace

absl::StatusOr<ByteSource> ByteSource::Open(const std::string& path) {
  ByteSource source;
  source.name_ = path == "-" ? "the standard input" : path;
  source.at_end_ = false;
  if (path == "-") {
    source.file_ = STDIN_FILENO;
    return source;
  }
  source.file_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (source.file_ < 0) {
    const int error = errno;
    const std::string message = absl::StrCat("cannot open ", path, ": ", std::strerror(error));
    return error == ENOENT ? absl::NotFoundError(message) : absl::UnavailableError(message);
  }
  source.owns_file_ = true;
  struct stat about;
  if (fstat(source.file_, &about) == 0) {
    if (S_ISDIR(about.st_mode)) {
      return absl::InvalidArgumentError(absl::StrCat(path, " is a folder, not a file"));
    }
    if (S_ISREG(about.st_mode)) source.total_ = static_cast<uint64_t>(about.st_size);
  }
  return source;
}

ByteSource ByteSource::Of(absl::string_view text) {
  ByteSource source;
  source.name_ = "the text";
  source.begin_ = text.data();
  source.end_ = text.data() + text.size();
  source.total_ = text.size();
  return source;
}

ByteSource::ByteSource(ByteSource&& other) noexcept
    : file_(std::exchange(other.file_, -1)),
      owns_file_(std::exchange(other.owns_file_, false)),
      at_end_(other.at_end_),
      may_be_gzip_(other.may_be_gzip_),
      gunzip_(std::move(other.gunzip_)),
      total_(other.total_),
      window_offset_(other.window_offset_),
      window_(std::move(other.window_)),
      begin_(other.begin_),
      end_(other.end_),
      name_(std::move(other.name_)),
      progress_(std::move(other.progress_)) {}

ByteSource::~ByteSource() {
  if (owns_file_) close(file_);
}

absl::StatusOr<size_t> ByteSource::ReadPlain(char* to, size_t size) {
  ssize_t got;
  do {
    got = read(file_, to, size);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return absl::UnavailableError(std::strerror(errno));
  return static_cast<size_t>(got);
}

absl::StatusOr<size_t> ByteSource::ReadSome(char* to, size_t size) {
  if (gunzip_ != nullptr) return gunzip_->Read(to, size);
  auto got = ReadPlain(to, size);
  if (!may_be_gzip_ || !got.ok()) return got;
  may_be_gzip_ = false;
  // A pipe may give one byte at first.
  if (*got == 1) {
    const auto more = ReadPlain(to + 1, size - 1);
    if (!more.ok()) return more;
    *got += *more;
  }
  if (!Gunzip::Fits({to, *got})) return got;
  gunzip_ = std::make_unique<Gunzip>(file_, absl::string_view(to, *got));
  total_ = 0;
  return gunzip_->Read(to, size);
}

absl::Status ByteSource::Fill(const char*& p, uint64_t wanted) {
  if (at_end_) return absl::OkStatus();
  const size_t tail = end_ - p;
  window_offset_ += p - begin_;
  if (tail != 0) std::memmove(window_.data(), p, tail);
  size_t filled = tail;
  if (window_.empty()) window_.Resize(kWindowBytes, 0);
  absl::Status status;
  while (filled < wanted && !at_end_) {
    if (filled == window_.size()) window_.Resize(2 * window_.size(), 0);
    const auto got = ReadSome(window_.data() + filled, window_.size() - filled);
    if (!got.ok()) {
      status = absl::Status(got.status().code(),
                            absl::StrCat("reading ", name_, " failed at byte ",
                                         window_offset_ + filled, ": ", got.status().message()));
    }
    at_end_ = !got.ok() || *got == 0;
    if (!at_end_) filled += *got;
  }
  begin_ = p = window_.data();
  end_ = begin_ + filled;
  if (progress_) progress_(window_offset_ + filled, total_);
  return status;
}

}  // namespace graphtree::snapshot
