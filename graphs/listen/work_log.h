// Finds out whether a body's recording lacks work that the body did elsewhere.
//
//   body     out = on.Empty(...)
//            library(out, the caller's stream)     runs now, on memory that only replays fill
//            on.Writes(out)
//   graph    (nothing)                             a replay would do nothing, and return OK
//
// Ops that the launcher did not capture itself are opaque: each may be any of the work that the
// body declares. Where a recording has such an op, or a part that runs eagerly, nothing is looked
// for. Where it has none, all of its work is known, and work is missing if
//
//   said        Launcher::Writes names memory                     and no op may write to it
//   returned    an output is memory that the body made            likewise
//
// Inputs in FunctionOptions::mutated_inputs are not looked for: a body may leave them unwritten.
//
// A body that puts opaque work both on the launcher's stream and on another one is not found.
//
// Threads: the capture's thread. Cost: two words for each argument, while a function is recorded.
#ifndef GRAPHTREE_GRAPHS_LISTEN_WORK_LOG_H_
#define GRAPHTREE_GRAPHS_LISTEN_WORK_LOG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "device/address.h"
#include "device/graph.h"
#include "device/kernel.h"
#include "graphs/launcher.h"
#include "graphs/listen/passing_observer.h"
#include "graphs/tensor.h"

namespace graphtree {

// Memory of a tensor that the body has.
struct BodyMemory {
  uint64_t serial = 0;  // of its storage; 0 for memory of the caller's
  AddressRange range;
};

// An output, by its number.
struct Returned {
  uint32_t number = 0;
  BodyMemory memory;
};

struct MissingWork {
  enum class Kind : uint8_t { kSaid, kReturned };
  Kind kind = Kind::kSaid;
  uint32_t number = 0;  // of the output; of the declaration, counted from 0
  AddressRange memory;
};

// What is wrong, and what to do: "it says that opaque work writes to ... (Launcher::Writes), and
// ...".
std::string ToString(const MissingWork& missing);

class WorkLog : public PassingObserver {
 public:
  // `next` outlives the log.
  explicit WorkLog(AccessObserver* next) : PassingObserver(next) {}

  void Accessed(Access access, const Tensor& tensor, int argument) override;
  void Doubted(const Tensor& tensor) override;
  void Launched(const Kernel& kernel, const LaunchShape& shape, Arguments arguments) override;
  void Copied(const CopyParams& params) override;
  void Filled(const FillParams& params) override;
  void SetsEvent() override;
  void Broke(absl::string_view why) override;

  // The ops of the open section that the launcher has captured.
  uint64_t ops() const { return ops_; }
  // A section of `ops` ops was captured, of which the recorder itself launched `own`.
  void EndSection(uint64_t ops, uint64_t own);

  // The first missing work; nothing if none is missing or if that cannot be known.
  std::optional<MissingWork> Missing(const std::vector<Returned>& returned) const;

 private:
  bool IsTaken(const BodyMemory& memory) const;

  std::vector<BodyMemory> taken_;  // memory that ops of the launcher may write to
  std::vector<BodyMemory> said_;   // memory that opaque work is declared to write
  uint64_t ops_ = 0;           // that the launcher captured since the last section ended
  bool has_opaque_ops_ = false;
  bool has_parts_ = false;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_LISTEN_WORK_LOG_H_
