// One run of a body, watched: what of its caller's memory changed, and did anything declare it?
//
//   before   digest of every input                     (content_digest.h)
//   body     what its ops declare                      (op_log.h); memory that is no input and that
//                                                      an op names is digested before that op
//   after    digests again, compared                   a part that changed and that no declared
//                                                      write touches is an undeclared write
//
// An input that dies inside the function is held until it has been looked at: another call may come
// with one that does not, and is recorded by what this run has shown.
//
// It finds what declarations cannot: a kernel that writes to what it was given to read, opaque work
// on the raw stream, a pointer that the body kept. It sees changed bytes, so a write of the bytes
// that were there stays unseen. Cost: every input is read twice, and the host waits.
//
// Outside of checked mode a first warm-up looks at what is doubtful and cheap alone: an input of at
// most kCheapBytes that an op is told to read, where the kernel is known to take a pointer that is
// not const. What the op is given of it is read before that op and after the body; other bytes may
// be in the hands of other streams, and other inputs cost nothing.
#ifndef GRAPHTREE_GRAPHS_CHECK_BODY_CHECK_H_
#define GRAPHTREE_GRAPHS_CHECK_BODY_CHECK_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "device/device.h"
#include "device/memory.h"
#include "graphs/check/content_digest.h"
#include "graphs/history/call_stack.h"
#include "graphs/launcher.h"
#include "graphs/listen/op_log.h"
#include "graphs/listen/passing_observer.h"
#include "graphs/memory/step_memory.h"
#include "graphs/tensor.h"

namespace graphtree {

// In place of an input: memory of the caller's that the body knows without being given it.
inline constexpr uint32_t kNotGiven = ~uint32_t{0};

struct UndeclaredWrite {
  uint32_t input = 0;
  AddressRange range;         // from the first to the last byte that changed
  uint64_t offset = 0;        // of the range in the input, or in what the op named
  std::string ops;            // that were given the bytes: "'attend'"; empty if none was
  std::vector<OpSite> sites;  // where the body launched them
};

class BodyCheck : public PassingObserver {
 public:
  // Before the body: reads the inputs in the order of `stream`. `own` is the memory of the body's
  // tree; `next` is told everything, too; all of these outlive the check. `stacks` may be null.
  static absl::StatusOr<std::unique_ptr<BodyCheck>> Begin(Device& device, const StepMemory& own,
                                                          Stream& stream,
                                                          absl::Span<const Value> inputs,
                                                          AccessObserver* next, CallStacks* stacks);
  // The same for what is doubtful and cheap. Nothing is read yet. `copied` tells, by input, what is
  // a copy: a write to that goes nowhere if nobody knows of it.
  static constexpr uint64_t kCheapBytes = uint64_t{64} << 10;
  static std::unique_ptr<BodyCheck> OfDoubts(Device& device, const StepMemory& own, Stream& stream,
                                             absl::Span<const Value> inputs,
                                             const std::vector<bool>& copied, AccessObserver* next);
  BodyCheck(const BodyCheck&) = delete;
  BodyCheck& operator=(const BodyCheck&) = delete;

  const OpLog& log() const { return log_; }
  // Told of an op that is about to touch memory of the caller's that is gone: it is not launched.
  void set_refuse(std::function<void(absl::Status)> refuse) { refuse_ = std::move(refuse); }

  void Launching(absl::string_view op) override;
  void Accessed(Access access, const Tensor& tensor, int argument) override;
  void Doubted(const Tensor& tensor) override;

  // After the body. `declared` inputs may change as they like.
  absl::StatusOr<std::vector<UndeclaredWrite>> End(absl::Span<const uint32_t> declared);

 private:
  struct Watched {
    uint32_t input;
    AddressRange range;
    Address base;  // of the input, or of the memory that an op named
    ContentDigest before;
    Value held;
  };

  BodyCheck(Device& device, const StepMemory& own, Stream& stream, AccessObserver* next,
            CallStacks* stacks)
      : PassingObserver(&log_), device_(device), own_(own), stream_(stream), log_(next, stacks) {}
  absl::StatusOr<ContentDigest> Read(AddressRange range);
  absl::Status Watch(uint32_t input, AddressRange range, Value held);
  void WatchUngiven(const Tensor& tensor);

  Device& device_;
  const StepMemory& own_;
  Stream& stream_;
  std::optional<ContentReader> reader_;  // made for the first look
  OpLog log_;
  std::vector<Watched> watched_;
  bool watches_all_ = true;
  std::string op_;  // that is launched now
  std::function<void(absl::Status)> refuse_;
  Values doubtful_;  // by input: what is looked at once an op gives reason; else nothing
};

// "input 1 changed at bytes 256 to 511, which 'attend' was given to read".
std::string ToString(const UndeclaredWrite& write);

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_CHECK_BODY_CHECK_H_
