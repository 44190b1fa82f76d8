// The memory for records: a fixed number of buffers of a fixed size, each allocated when it is
// first needed and used again.
//
//   free  [ ][ ]  --Take-->  CUPTI fills it  -->  the feed reads it  --GiveBack-->  free
//
// When all are out, or the host has no memory, Take gives nothing: CUPTI then drops records and
// says how many. So profiling takes no more memory than it was given, and never ends the process.
//
// Threads: all calls are safe from several.
#ifndef GRAPHTREE_PROFILER_CUPTI_BUFFERS_H_
#define GRAPHTREE_PROFILER_CUPTI_BUFFERS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/types/span.h"

namespace graphtree::cupti {

class Buffers {
 public:
  // Null if there is no memory.
  using Allocate = std::unique_ptr<uint8_t[]> (*)(size_t bytes);

  explicit Buffers(Allocate allocate = AllocateIfThereIs) : allocate_(allocate) {}
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  // Forgets what was out, which nobody may use any more, and counts anew.
  void Reset(size_t bytes_each, size_t most);

  // Aligned to 16; empty if there is none.
  absl::Span<uint8_t> Take();
  void GiveBack(const uint8_t* buffer);

  size_t out() const;
  size_t allocated() const;
  // How often there was none.
  uint64_t refused() const;

 private:
  struct Buffer {
    std::unique_ptr<uint8_t[]> bytes;
    bool is_out = false;
  };

  static std::unique_ptr<uint8_t[]> AllocateIfThereIs(size_t bytes);

  const Allocate allocate_;
  mutable std::mutex mutex_;
  size_t bytes_each_ = 0;
  size_t most_ = 0;
  std::vector<Buffer> buffers_;
  uint64_t refused_ = 0;
};

}  // namespace graphtree::cupti

#endif  // GRAPHTREE_PROFILER_CUPTI_BUFFERS_H_
