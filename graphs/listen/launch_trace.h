// Keeps what a body launches, op by op, with its arguments: to be compared with what a recording of
// it has.
//
//   op 0   kernel scale   grid, block   [out 0x7f.. f32[8]] [in 0x60.. f32[8]] [value 03 00 00 00]
//   op 1   copy                         [out 0x7f..] [in 0x7e..]
//
// Threads: the body's thread. Cost: copies of names and values, so only in runs that check.
#ifndef GRAPHTREE_GRAPHS_LISTEN_LAUNCH_TRACE_H_
#define GRAPHTREE_GRAPHS_LISTEN_LAUNCH_TRACE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "device/address.h"
#include "device/graph.h"
#include "device/kernel.h"
#include "graphs/layout.h"
#include "graphs/listen/passing_observer.h"

namespace graphtree {

struct TracedArgument {
  Access access = Access::kValue;
  AddressRange range = {};         // of memory
  const Layout* layout = nullptr;  // likewise
  std::string value = {};          // of a value
  bool is_comparable = false;      // two runs of the same code give it the same bytes

  bool is_written() const { return access == Access::kWrite || access == Access::kReadWrite; }
};

struct TracedOp {
  OpKind kind = OpKind::kKernel;  // kernel, copy or fill
  std::string name = {};
  LaunchShape shape = {};
  bool is_librarys = false;  // its parameters are the library's
  std::vector<TracedArgument> arguments = {};  // a copy's: target, source; a fill's: target
};

class LaunchTrace : public PassingObserver {
 public:
  explicit LaunchTrace(AccessObserver* next) : PassingObserver(next) {}

  const std::vector<TracedOp>& ops() const { return ops_; }
  // The body has work that no launch declares.
  bool has_opaque() const { return has_opaque_; }
  // Called after each op was launched, with its number.
  void set_after(std::function<void(size_t)> after) { after_ = std::move(after); }

  void Launching(absl::string_view op) override;
  void Accessed(Access access, const Tensor& tensor, int argument) override;
  void Launched(const Kernel& kernel, const LaunchShape& shape, Arguments arguments) override;
  void Copied(const CopyParams& params) override;
  void Filled(const FillParams& params) override;

 private:
  void Keep(TracedOp op);

  std::vector<TracedOp> ops_;
  std::vector<TracedArgument> pending_;  // of the op that is launched now, by argument
  std::string name_;
  bool has_opaque_ = false;
  std::function<void(size_t)> after_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_LISTEN_LAUNCH_TRACE_H_
