// Gunzip: the bytes that a file compressed by gzip stands for, read piece by piece.
//
// Several members one after the other are one text, as gzip has it. A file that ends inside a
// member ends there: what came before is given. Memory is a window of the file's and one of zlib's.
// Not safe for concurrent use.
#ifndef GRAPHTREE_TOOLS_SNAPSHOT_READ_GUNZIP_H_
#define GRAPHTREE_TOOLS_SNAPSHOT_READ_GUNZIP_H_

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

struct z_stream_s;

namespace graphtree::snapshot {

class Gunzip {
 public:
  // Does a file that begins so look like one of gzip's?
  static bool Fits(absl::string_view head);

  // `head`: what has been read of the file already; the file stays the caller's.
  Gunzip(int file, absl::string_view head);
  Gunzip(const Gunzip&) = delete;
  Gunzip& operator=(const Gunzip&) = delete;
  ~Gunzip();

  // At least one byte into `to`, or 0 at the end.
  absl::StatusOr<size_t> Read(char* to, size_t size);

 private:
  absl::StatusOr<bool> FillInput();

  const int file_;
  std::string input_;
  std::unique_ptr<z_stream_s> stream_;
  bool is_at_member_ = false;  // a member has ended, and none has begun
};

}  // namespace graphtree::snapshot

#endif  // GRAPHTREE_TOOLS_SNAPSHOT_READ_GUNZIP_H_
