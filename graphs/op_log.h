// Every access that a body declared in one run, with the name of the op that declared it.
//
//   attend   reads    [0x7f00..., +4096)
//   attend   writes   [0x6000..., +512)
//   opaque   writes   [0x7f00..., +4096)      Launcher::Writes: work on the raw stream
//
// For checking: an undeclared write is told with the ops that were given the bytes, and a recording
// remembers which outside memory its ops point to. It stands before another observer and passes
// everything on.
#ifndef GRAPHTREE_GRAPHS_OP_LOG_H_
#define GRAPHTREE_GRAPHS_OP_LOG_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "device/address.h"
#include "device/graph.h"
#include "device/kernel.h"
#include "graphs/launcher.h"

namespace graphtree {

struct LoggedAccess {
  std::string op;
  Access access = Access::kRead;
  AddressRange range;
};

class OpLog : public AccessObserver {
 public:
  explicit OpLog(AccessObserver* next) : next_(next) {}

  void Accessed(Access access, const Tensor& tensor, int argument) override;
  void Launched(const Kernel& kernel, const LaunchShape& shape, Arguments arguments) override;
  void Copied(const CopyParams& params) override;
  void Filled(const FillParams& params) override;
  void Broke(absl::string_view why) override;

  AccessObserver* next() const { return next_; }
  const std::vector<LoggedAccess>& accesses() const { return accesses_; }
  // The ops whose declarations touch `range`, each once: "'norm' and 'attend'"; empty if none.
  std::string OpsThatTouch(AddressRange range) const;
  // Whether a declared write touches it.
  bool DeclaresWriteTo(AddressRange range) const;

 private:
  void Name(absl::string_view op);

  AccessObserver* const next_;
  std::vector<LoggedAccess> accesses_;
  size_t unnamed_ = 0;  // accesses from here on wait for their kernel's name
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_OP_LOG_H_
