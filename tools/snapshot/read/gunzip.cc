// zlib, member by member.
#include "tools/snapshot/read/gunzip.h"

#include <errno.h>
#include <unistd.h>
#include <zlib.h>

#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "device/base/check.h"
#include "device/base/status_macros.h"

namespace graphtree::snapshot {
namespace {

constexpr size_t kInputBytes = 1 << 17;
constexpr int kGzipOnly = 15 + 16;  // the largest window, and gzip's frame around it

}  // namespace

bool Gunzip::Fits(absl::string_view head) { return absl::StartsWith(head, "\x1f\x8b"); }

Gunzip::Gunzip(int file, absl::string_view head)
    : file_(file), input_(head), stream_(std::make_unique<z_stream>()) {
  GRAPHTREE_CHECK(inflateInit2(stream_.get(), kGzipOnly) == Z_OK) << "no memory for zlib";
  stream_->next_in = reinterpret_cast<Bytef*>(input_.data());
  stream_->avail_in = static_cast<uInt>(input_.size());
}

Gunzip::~Gunzip() { inflateEnd(stream_.get()); }

// False at the end of the file.
absl::StatusOr<bool> Gunzip::FillInput() {
  input_.resize(kInputBytes);
  ssize_t got;
  do {
    got = read(file_, input_.data(), input_.size());
  } while (got < 0 && errno == EINTR);
  if (got < 0) return absl::UnavailableError(std::strerror(errno));
  stream_->next_in = reinterpret_cast<Bytef*>(input_.data());
  stream_->avail_in = static_cast<uInt>(got);
  return got > 0;
}

absl::StatusOr<size_t> Gunzip::Read(char* to, size_t size) {
  stream_->next_out = reinterpret_cast<Bytef*>(to);
  stream_->avail_out = static_cast<uInt>(size);
  while (stream_->avail_out == size) {
    if (stream_->avail_in == 0) {
      GRAPHTREE_ASSIGN_OR_RETURN(const bool has_more, FillInput());
      if (!has_more) return size_t{0};
    }
    if (is_at_member_) {
      inflateReset(stream_.get());
      is_at_member_ = false;
    }
    const int code = inflate(stream_.get(), Z_NO_FLUSH);
    if (code == Z_STREAM_END) {
      is_at_member_ = true;
    } else if (code != Z_OK && code != Z_BUF_ERROR) {
      return absl::InvalidArgumentError(absl::StrCat(
          "what gzip has compressed is damaged: ",
          stream_->msg == nullptr ? "zlib says no more" : stream_->msg));
    }
  }
  return size - stream_->avail_out;
}

}  // namespace graphtree::snapshot
