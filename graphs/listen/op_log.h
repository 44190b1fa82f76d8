// Logs every access that a body declares in one run, with the name of its op and the place where
// the body launched that op.
//
//   attend   reads    [0x7f00..., +4096)
//   attend   writes   [0x6000..., +512)
//   opaque   writes   [0x7f00..., +4096)      Launcher::Writes: work on the raw stream
//
// For checked mode: the error of an undeclared write names the ops that were given the bytes, and a
// recording remembers which outside memory its ops point to.
#ifndef GRAPHTREE_GRAPHS_LISTEN_OP_LOG_H_
#define GRAPHTREE_GRAPHS_LISTEN_OP_LOG_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "device/address.h"
#include "device/kernel.h"
#include "graphs/history/call_stack.h"
#include "graphs/launcher.h"
#include "graphs/listen/passing_observer.h"

namespace graphtree {

struct LoggedAccess {
  std::string op;
  Access access = Access::kRead;
  AddressRange range;
  StackId at = 0;
};

// What an op was launched with beside memory.
struct LoggedLaunch {
  OpSite site;
  std::array<uint32_t, 6> grid_and_block = {};
  // By argument: its bytes; empty for memory, and for what may differ though it means the same
  // (Argument::is_comparable).
  std::vector<std::string> values;
};

class OpLog : public PassingObserver {
 public:
  // Both outlive the log. `stacks` may be null: then no place is noted, nor what ops are launched
  // with beside memory.
  OpLog(AccessObserver* next, CallStacks* stacks) : PassingObserver(next), stacks_(stacks) {}

  void Launching(absl::string_view op) override;
  void Accessed(Access access, const Tensor& tensor, int argument) override;
  void Launched(const Kernel& kernel, const LaunchShape& shape, Arguments arguments) override;

  // A launch of an eager part declares a write: the break is what the body has launched.
  void WrittenByPart(AddressRange range) {
    accesses_.push_back({launching_.op, Access::kWrite, range, launching_.at});
  }

  // The body's own kernels, in the order of their launches; none without stacks.
  const std::vector<LoggedLaunch>& launches() const { return launches_; }
  const std::vector<LoggedAccess>& accesses() const { return accesses_; }
  // The ops whose declarations touch `range`, each once: "'norm' and 'attend'"; empty if none.
  std::string OpsThatTouch(AddressRange range) const;
  // The first of these ops, with the places where they were launched.
  std::vector<OpSite> SitesThatTouch(AddressRange range) const;
  // The places where ops were launched, each once.
  const std::vector<OpSite>& sites() const { return sites_; }
  // Whether a declared write touches `range`.
  bool DeclaresWriteTo(AddressRange range) const;

 private:
  StackId Here() { return stacks_ == nullptr ? 0 : stacks_->Here(); }

  CallStacks* const stacks_;
  std::vector<LoggedAccess> accesses_;
  std::vector<OpSite> sites_;
  std::vector<LoggedLaunch> launches_;
  OpSite launching_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_LISTEN_OP_LOG_H_
