// Objects that bodies hand to their nodes to keep alive, and what becomes of them.
//
//   body gives one --recorded--> a node's        there until the node is destroyed, which must not
//                  \--otherwise-> nobody's       be while a capture is open on the device
#ifndef GRAPHTREE_TESTS_SIMULATION_WITNESS_H_
#define GRAPHTREE_TESTS_SIMULATION_WITNESS_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "device/device.h"

namespace graphtree::simulation {

class Witnesses {
 public:
  explicit Witnesses(Device& device) : seen_(std::make_shared<Seen>(device)) {}

  // A new one, for the body that runs.
  std::shared_ptr<void> Next() {
    auto witness = std::make_shared<Witness>(seen_);
    last_ = witness;
    return witness;
  }
  // The call whose body was given the last one was recorded.
  void Recorded() {
    if (const auto witness = last_.lock()) witness->BelongToANode();
  }
  // One thread at a time uses the device, and it is known when captures are open.
  void MindCaptures(bool mind) { seen_->minds_captures = mind; }

  uint64_t alive() const { return seen_->alive; }
  uint64_t of_nodes() const { return seen_->of_nodes; }
  // A node's went while a capture was open.
  bool destroyed_in_capture() const { return seen_->destroyed_in_capture; }

 private:
  // Outlives this object: a tree that goes while another thread captures leaves its objects with
  // the device, which destroys them after the capture, on any thread.
  struct Seen {
    explicit Seen(Device& device) : device(device) {}
    Device& device;
    std::atomic<bool> minds_captures{false};
    std::atomic<bool> destroyed_in_capture{false};
    std::atomic<uint64_t> alive{0};
    std::atomic<uint64_t> of_nodes{0};
  };

  class Witness {
   public:
    explicit Witness(std::shared_ptr<Seen> seen) : seen_(std::move(seen)) { ++seen_->alive; }
    ~Witness() {
      --seen_->alive;
      if (!of_node_) return;
      --seen_->of_nodes;
      if (seen_->minds_captures && seen_->device.open_captures() > 0) {
        seen_->destroyed_in_capture = true;
      }
    }
    Witness(const Witness&) = delete;
    Witness& operator=(const Witness&) = delete;
    void BelongToANode() {
      seen_->of_nodes += of_node_ ? 0 : 1;
      of_node_ = true;
    }

   private:
    const std::shared_ptr<Seen> seen_;
    bool of_node_ = false;
  };

  const std::shared_ptr<Seen> seen_;
  std::weak_ptr<Witness> last_;
};

}  // namespace graphtree::simulation

#endif  // GRAPHTREE_TESTS_SIMULATION_WITNESS_H_
