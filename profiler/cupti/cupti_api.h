// The seam: the few calls of CUPTI that this library makes. None of CUPTI's types crosses it.
//
//   CuptiSession --calls--> CuptiApi <-- the real library (cupti_library.h)
//        ^                     |     <-- the host device's stand-in (host_cupti.h)
//        +---CuptiEvents-------+     <-- a fault plan's (fault_cupti.h), in tests
//
// Every call that fails says in words which call it was and what CUPTI's code means.
//
// Threads: calls are made by one thread at a time, but for Next, NowNs and IdOf. Events come on
// CUPTI's own threads and on whichever thread launches, also from inside of a call.
#ifndef GRAPHTREE_PROFILER_CUPTI_CUPTI_API_H_
#define GRAPHTREE_PROFILER_CUPTI_CUPTI_API_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "device/stream.h"

namespace graphtree::cupti {

// Kinds of records; the values are CUPTI's.
enum class RecordKind : uint32_t { kCopy = 1, kFill = 2, kKernel = 10 };

// A launch of a graph, on the launching thread.
struct GraphLaunchCall {
  bool begins = true;                // or has returned
  uint64_t correlation = 0;
  const void* executable = nullptr;  // the native handle
};

// What CUPTI calls back.
class CuptiEvents {
 public:
  virtual ~CuptiEvents() = default;
  virtual void GraphLaunch(const GraphLaunchCall& call) = 0;
  // Empty: there is no room, and records are dropped.
  virtual absl::Span<uint8_t> TakeBuffer() = 0;
  // `dropped` records found no room since the last one.
  virtual void BufferFull(uint8_t* buffer, size_t valid_bytes, uint64_t dropped) = 0;
};

class CuptiApi {
 public:
  enum class Step : uint8_t { kRecord, kEnd, kBroken };

  virtual ~CuptiApi() = default;
  CuptiApi(const CuptiApi&) = delete;
  CuptiApi& operator=(const CuptiApi&) = delete;

  virtual std::string name() const = 0;

  // Becomes CUPTI's user, or says who is. Events come from here until Finalize or Unsubscribe.
  virtual absl::Status Subscribe(CuptiEvents* events) = 0;
  virtual absl::Status Unsubscribe() = 0;
  virtual absl::Status RegisterBuffers() = 0;
  virtual absl::Status EnableLaunches(bool on) = 0;
  virtual absl::Status EnableKind(RecordKind kind) = 0;
  virtual absl::Status DisableKind(RecordKind kind) = 0;
  // Every full buffer comes back before it returns; with `all`, those in use, too.
  virtual absl::Status Flush(bool all) = 0;
  // Records that found no room and were told of with no buffer.
  virtual uint64_t TakeDropped() = 0;
  // CUPTI leaves the process. What it told of (names, buffers) is not valid any more.
  virtual absl::Status Finalize() = 0;

  virtual absl::StatusOr<int64_t> NowNs() = 0;
  virtual absl::StatusOr<uint32_t> IdOf(const void* executable) = 0;
  // The number by which records know the stream.
  virtual absl::StatusOr<uint32_t> IdOf(const Stream& stream) = 0;
  // The record after `*record`, or the first if that is null. Any thread.
  virtual Step Next(uint8_t* buffer, size_t valid_bytes, uint8_t** record) = 0;

 protected:
  CuptiApi() = default;
};

}  // namespace graphtree::cupti

#endif  // GRAPHTREE_PROFILER_CUPTI_CUPTI_API_H_
