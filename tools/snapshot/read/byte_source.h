// ByteSource: the bytes of a file, a pipe or a text in memory, through a window that moves.
//
//   file   ................[##########window##########]..............
//                           ^p (the parser)           ^end()
//
// A parser reads between its own pointer and end() and calls Fill when it needs more. The file is
// read, not mapped: a file that is cut short by somebody else while it is read is then an error and
// not a signal, memory stays at one window whatever the file's size, and a pipe works the same way.
// The window grows only as bytes arrive, so a length that a file merely claims allocates nothing.
//
// Not safe for concurrent use. Every byte is copied once, by read().
#ifndef GRAPHTREE_TOOLS_SNAPSHOT_READ_BYTE_SOURCE_H_
#define GRAPHTREE_TOOLS_SNAPSHOT_READ_BYTE_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "allocator/snapshot/growing_array.h"
#include "tools/snapshot/read/gunzip.h"

namespace graphtree::snapshot {

class ByteSource {
 public:
  // Bytes read so far, and of how many (0 where that is not known). Called once a window.
  using Progress = std::function<void(uint64_t done, uint64_t total)>;

  // "-" is the standard input.
  static absl::StatusOr<ByteSource> Open(const std::string& path);
  // The text must outlive the source.
  static ByteSource Of(absl::string_view text);

  ByteSource(ByteSource&& other) noexcept;
  ByteSource& operator=(ByteSource&&) = delete;
  ~ByteSource();

  void set_progress(Progress progress) { progress_ = std::move(progress); }
  // A file that gzip has compressed is read as what it stands for. Before the first Fill.
  void UnpackGzip() { may_be_gzip_ = true; }

  const char* begin() const { return begin_; }
  const char* end() const { return end_; }
  // Makes at least `wanted` bytes readable from `p` on, unless the input ends before that. Moves
  // `p`; views into the window are no longer valid.
  absl::Status Fill(const char*& p, uint64_t wanted);
  // Of `p` in the whole input.
  uint64_t Offset(const char* p) const { return window_offset_ + (p - begin_); }
  // True where the input is known to end before `wanted` more bytes from `p`, without reading.
  bool EndsBefore(const char* p, uint64_t wanted) const {
    return total_ != 0 && (Offset(p) > total_ || wanted > total_ - Offset(p));
  }
  uint64_t total() const { return total_; }

 private:
  ByteSource() = default;
  absl::StatusOr<size_t> ReadSome(char* to, size_t size);
  absl::StatusOr<size_t> ReadPlain(char* to, size_t size);

  int file_ = -1;
  bool owns_file_ = false;
  bool at_end_ = true;
  bool may_be_gzip_ = false;  // that is seen at the first bytes
  std::unique_ptr<Gunzip> gunzip_;
  uint64_t total_ = 0;
  uint64_t window_offset_ = 0;  // of begin_
  GrowingArray<char> window_;
  const char* begin_ = nullptr;
  const char* end_ = nullptr;
  std::string name_;
  Progress progress_;
};

}  // namespace graphtree::snapshot

#endif  // GRAPHTREE_TOOLS_SNAPSHOT_READ_BYTE_SOURCE_H_
