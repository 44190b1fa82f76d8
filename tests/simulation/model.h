// What a function of a program computes, twice: on plain vectors, and through a launcher.
//
// The model knows nothing of graphs, pools or paths. It knows cells of words, and that outputs may
// share a cell with an input.
#ifndef GRAPHTREE_TESTS_SIMULATION_MODEL_H_
#define GRAPHTREE_TESTS_SIMULATION_MODEL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "allocator/foreign.h"
#include "device/device.h"
#include "device/stream.h"
#include "graphs/launcher.h"
#include "graphs/tensor.h"
#include "tests/simulation/program.h"

namespace graphtree::simulation {

using Cell = std::vector<uint32_t>;

// What opaque inputs are made of: a body reads it on the host.
struct Thing {
  uint32_t content = 0;
};

// A tensor as the caller sees it; without a cell for anything else.
struct Seen {
  Value handle;
  std::shared_ptr<Cell> cell;
  bool kept = false;  // it outlives its step
};

constexpr uint64_t kAligned = 16;  // bytes, where a function declares it

// The outputs, by cell; cells of arguments that are written to change.
std::vector<Seen> ModelOf(const FunctionSpec& spec, const std::vector<Seen>& arguments,
                          uint32_t elements);

// The same as a body. Runs of all bodies of one world, one at a time. Foreign code in them gets its
// memory from the allocator that is named.
class BodyRunner {
 public:
  BodyRunner(Device& device, uint32_t elements) : device_(device), elements_(elements) {}
  absl::Status Open();
  // Called before every op of a body.
  void set_between(std::function<void()> between) { between_ = std::move(between); }
  void UseForeign(ForeignAllocator* foreign) { foreign_ = foreign; }
  ForeignAllocator& foreign() { return *foreign_; }
  bool library_holds() const { return library_ != 0; }
  // The library gives its blocks back.
  absl::Status CleanLibrary(Stream& stream);

  // Waits for forks that a failure left alone.
  absl::Status Synchronize() { return fork_ == nullptr ? absl::OkStatus() : fork_->Synchronize(); }

  Values Run(const FunctionSpec& spec, Launcher& on, Values& inputs);

 private:
  Tensor NewTensor(const OpSpec& op, Launcher& on, const Values& registers, uint32_t key);
  void Fork(Launcher& on, const Tensor& out, const Tensor& a, const Tensor& b);
  void AddForeign(Launcher& on, const Tensor& out, const Tensor& a, const Tensor& b);
  void AddOnHost(Launcher& on, const Tensor& out, const Tensor& a, const Tensor& b);
  void AddInLibrary(Launcher& on, const Tensor& out, const Tensor& a, const Tensor& b);
  absl::Status AddByWayOf(Address block, Launcher& on, const Tensor& out, const Tensor& a,
                          const Tensor& b);

  Device& device_;
  const uint32_t elements_;
  std::unique_ptr<Stream> fork_;
  std::unique_ptr<Event> forked_;
  std::unique_ptr<Event> joined_;
  std::function<void()> between_ = [] {};
  ForeignAllocator* foreign_ = nullptr;
  Address library_ = 0;  // the block that the library keeps
};

}  // namespace graphtree::simulation

#endif  // GRAPHTREE_TESTS_SIMULATION_MODEL_H_
