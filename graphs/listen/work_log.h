// What a body's recording should hold, and whether it does.
//
//   body     out = on.Empty(...)
//            library(out, the caller's stream)     runs now, on memory that only replays fill
//            on.Writes(out)
//   graph    (nothing)                             a replay would do nothing, and return OK
//
// Ops that the launcher did not capture itself are opaque: each may be any of the work that the
// body speaks of. Where there is one, or a part that runs eagerly, nothing is asked. Where there is
// none, all that the body did is known, and work is missing if
//
//   said        Launcher::Writes names memory                     and no op may write to it
//   returned    an output is memory that the body made             likewise
//
// What FunctionOptions::mutated_inputs promises need not be kept, and is not asked.
//
// A body that puts some of its work on the launcher's stream and some on another is not found.
//
// Threads: the capture's. Cost: two words for each argument, while a function is recorded.
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

// Memory as the body has it.
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

// "it says that opaque work writes to ... (Launcher::Writes), and ...: what is wrong, and the cure.
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
  void Broke(absl::string_view why) override;

  // A section with so many ops was captured, of which `own` are the recorder's.
  void EndSection(uint64_t ops, uint64_t own);

  // The first that is missing; nothing while that cannot be told.
  std::optional<MissingWork> Missing(const std::vector<Returned>& returned) const;

 private:
  bool IsTaken(const BodyMemory& memory) const;

  std::vector<BodyMemory> taken_;  // that ops of the launcher may write to
  std::vector<BodyMemory> said_;   // to be written by opaque work
  uint64_t ops_ = 0;           // that the launcher captured since the last section ended
  bool has_opaque_ops_ = false;
  bool has_parts_ = false;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_LISTEN_WORK_LOG_H_
