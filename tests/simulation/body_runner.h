// What a function of a program computes, through a launcher.
#ifndef GRAPHTREE_TESTS_SIMULATION_BODY_RUNNER_H_
#define GRAPHTREE_TESTS_SIMULATION_BODY_RUNNER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "allocator/foreign.h"
#include "device/device.h"
#include "device/stream.h"
#include "graphs/launcher.h"
#include "graphs/tensor.h"
#include "tests/simulation/model.h"
#include "tests/simulation/program.h"
#include "tests/simulation/shelf.h"

namespace graphtree::simulation {

// Runs of all bodies of one world, one at a time. Foreign code in them gets its memory from the
// allocator that is named.
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

  // `follows` is told what was done.
  Values Run(const FunctionSpec& spec, Launcher& on, Values& inputs, Model* follows);
  // What bodies have stored.
  Shelf& shelf() { return shelf_; }
  const Shelf& shelf() const { return shelf_; }
  // The last run had in hand what may not be used.
  bool used_stale() const { return used_stale_; }

 private:
  void Load(const FunctionSpec& spec, size_t op, Launcher& on, Values* registers, uint32_t key,
            Model* follows);
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
  Shelf shelf_;
  bool used_stale_ = false;
  Address library_ = 0;  // the block that the library keeps
};

}  // namespace graphtree::simulation

#endif  // GRAPHTREE_TESTS_SIMULATION_BODY_RUNNER_H_
