// TraceSink: where a writer's bytes go, and FileSink, a file that grows while the trace does.
//
// A writer hands over whole pieces (packets, lines of JSON), so what is in the file after a crash
// is readable up to the last piece. A sink keeps its first failure and drops what comes after it: a
// full disk ends the trace, with the reason in `status`, and nothing else.
//
// Not safe for concurrent use.
#ifndef GRAPHTREE_PROFILER_TRACE_SINK_H_
#define GRAPHTREE_PROFILER_TRACE_SINK_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace graphtree::trace {

class TraceSink {
 public:
  virtual ~TraceSink() = default;
  virtual void Write(absl::string_view bytes) = 0;
  virtual const absl::Status& status() const = 0;
};

// Appends to a text.
class TextSink : public TraceSink {
 public:
  explicit TextSink(std::string* text) : text_(text) {}
  void Write(absl::string_view bytes) override { text_->append(bytes.data(), bytes.size()); }
  const absl::Status& status() const override { return status_; }

 private:
  std::string* const text_;
  absl::Status status_;
};

class FileSink : public TraceSink {
 public:
  // Makes the file, or empties it.
  static absl::StatusOr<std::unique_ptr<FileSink>> Create(const std::string& path);
  FileSink(const FileSink&) = delete;
  FileSink& operator=(const FileSink&) = delete;
  ~FileSink() override;

  void Write(absl::string_view bytes) override;
  const absl::Status& status() const override { return status_; }
  // The trace has ended: its first failure, of which a file that was deleted meanwhile is one.
  absl::Status Finish();
  uint64_t written() const { return written_; }

 private:
  FileSink(int file, std::string path) : file_(file), path_(std::move(path)) {}

  const int file_;
  const std::string path_;
  uint64_t written_ = 0;
  absl::Status status_;
};

}  // namespace graphtree::trace

#endif  // GRAPHTREE_PROFILER_TRACE_SINK_H_
