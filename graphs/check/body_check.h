// Watches one run of a body: which of its caller's bytes changed, and did anything declare that?
//
//   before   digest of every input                     (content_digest.h)
//   body     its ops' declarations                     (op_log.h); memory that is no input and that
//                                                      an op names is digested before that op
//   after    digests again, compared                   a part that changed and that no declared
//                                                      write touches is an undeclared write
//
// An input that dies inside the function is held until it has been compared: another call may bring
// one that does not die, and is recorded with what this run has shown.
//
// The check finds writes that nothing declares: of a kernel that writes to what it was given to
// read, of opaque work on the raw stream, through a pointer that the body kept. It sees changed
// bytes, so a write of the same bytes stays unseen. Cost: every input is read twice, and the host
// waits.
//
// Outside of checked mode a first warm-up looks at doubtful and cheap inputs alone (OfDoubts):
// those of at most kCheapBytes that an op is told to read, where the kernel is known to take a
// pointer that is not const. Only the bytes that the op is given are read, before that op and after
// the body: other streams may use other bytes of the input. All other inputs cost nothing.
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

// Stands for an input's number: memory of the caller's that the body knows without being given it.
inline constexpr uint32_t kNotGiven = ~uint32_t{0};

struct UndeclaredWrite {
  uint32_t input = 0;
  AddressRange range;  // from the first to the last byte that changed
  uint64_t offset = 0;  // of the range in the input, or in the memory that the op named
  std::string ops;  // the ops that were given the bytes: "'attend'"; empty if none was
  std::vector<OpSite> sites;  // where the body launched them
};

class BodyCheck : public PassingObserver {
 public:
  // Before the body runs: reads the inputs in the order of `stream`. `own` is the memory of the
  // body's tree; the check passes everything on to `next`; all of these outlive the check. `stacks`
  // may be null.
  static absl::StatusOr<std::unique_ptr<BodyCheck>> Begin(Device& device, const StepMemory& own,
                                                          Stream& stream,
                                                          absl::Span<const Value> inputs,
                                                          AccessObserver* next,
                                                          CallStacks* stacks);
  // The same for doubtful and cheap inputs alone. Nothing is read yet. `copied` tells, by input,
  // which are copies: a write to a copy is lost if nobody knows of it.
  static constexpr uint64_t kCheapBytes = uint64_t{64} << 10;
  static std::unique_ptr<BodyCheck> OfDoubts(Device& device, const StepMemory& own, Stream& stream,
                                             absl::Span<const Value> inputs,
                                             const std::vector<bool>& copied, AccessObserver* next);
  BodyCheck(const BodyCheck&) = delete;
  BodyCheck& operator=(const BodyCheck&) = delete;

  const OpLog& log() const { return log_; }
  // `refuse` is called with an error before an op that touches memory of the caller's that is gone;
  // it must make the launcher fail, so that the op is not launched.
  void set_refuse(std::function<void(absl::Status)> refuse) { refuse_ = std::move(refuse); }

  void Launching(absl::string_view op) override;
  void Accessed(Access access, const Tensor& tensor, int argument) override;
  void Doubted(const Tensor& tensor) override;

  // A launch of an eager part has declared this write, of which its break does not tell.
  void WrittenByPart(AddressRange range) { log_.WrittenByPart(range); }

  // After the body. `declared` inputs are not compared: they may change.
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
  std::string op_;  // the op that is launched now
  std::function<void(absl::Status)> refuse_;
  Values doubtful_;  // by input: the input if it is read once an op gives reason; else nothing
};

// "input 1 changed at bytes 256 to 511, which 'attend' was given to read".
std::string ToString(const UndeclaredWrite& write);

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_CHECK_BODY_CHECK_H_
