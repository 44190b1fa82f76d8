// ByteSink: buffered output into a file that appears whole or not at all, into a pipe, or a text.
//
// A file is written beside its place under a temporary name and renamed by Commit, so that a full
// disk or an interrupt leaves the old file as it was. A pipe or a device is written directly. The
// sink keeps the first failure for Commit to return, and drops what is written after it, so writers
// need no checks of their own.
//
// Not safe for concurrent use.
#ifndef GRAPHTREE_ALLOCATOR_SNAPSHOT_BYTE_SINK_H_
#define GRAPHTREE_ALLOCATOR_SNAPSHOT_BYTE_SINK_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "allocator/snapshot/part_file.h"

namespace graphtree::snapshot {

class ByteSink {
 public:
  // "-" is the standard output.
  static absl::StatusOr<std::unique_ptr<ByteSink>> Create(const std::string& path);
  // Appends to the text, which must outlive the sink.
  static std::unique_ptr<ByteSink> To(std::string* text);

  ByteSink(const ByteSink&) = delete;
  ByteSink& operator=(const ByteSink&) = delete;
  ~ByteSink();  // without Commit, the temporary file is removed

  void Byte(char c) {
    buffer_.push_back(c);
    if (buffer_.size() >= kBufferBytes) Flush();
  }
  void Write(absl::string_view bytes) {
    buffer_.append(bytes.data(), bytes.size());
    if (buffer_.size() >= kBufferBytes) Flush();
  }
  absl::Status Commit();
  uint64_t written() const { return written_ + buffer_.size(); }

 private:
  static constexpr size_t kBufferBytes = 1 << 18;
  ByteSink() = default;
  void Flush();
  void Fail(absl::string_view what);

  int file_ = -1;
  std::string path_;                // what the user named
  std::unique_ptr<PartFile> part_;  // the temporary file; null where path_ itself is written
  std::string* text_ = nullptr;
  std::string buffer_;
  uint64_t written_ = 0;
  absl::Status status_;
};

}  // namespace graphtree::snapshot

#endif  // GRAPHTREE_ALLOCATOR_SNAPSHOT_BYTE_SINK_H_
