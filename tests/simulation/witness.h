// Objects that bodies hand to their nodes to keep alive, and what becomes of them.
//
//   body gives one --recorded--> a node's        there until the node is destroyed, which must not
//                  \--otherwise-> nobody's       be while a capture is open on the device
#ifndef GRAPHTREE_TESTS_SIMULATION_WITNESS_H_
#define GRAPHTREE_TESTS_SIMULATION_WITNESS_H_

#include <cstdint>
#include <memory>

#include "device/device.h"

namespace graphtree::simulation {

class Witnesses {
 public:
  explicit Witnesses(Device& device) : device_(device) {}

  // A new one, for the body that runs.
  std::shared_ptr<void> Next() {
    auto witness = std::make_shared<Witness>(this);
    last_ = witness;
    return witness;
  }
  // The call whose body was given the last one was recorded.
  void Recorded() {
    if (const auto witness = last_.lock()) witness->BelongToANode();
  }
  // One thread at a time uses the device, and it is known when captures are open.
  void MindCaptures(bool mind) { minds_captures_ = mind; }

  uint64_t alive() const { return alive_; }
  uint64_t of_nodes() const { return of_nodes_; }
  // A node's went while a capture was open.
  bool destroyed_in_capture() const { return destroyed_in_capture_; }

 private:
  class Witness {
   public:
    explicit Witness(Witnesses* all) : all_(all) { ++all_->alive_; }
    ~Witness() {
      --all_->alive_;
      if (!of_node_) return;
      --all_->of_nodes_;
      all_->destroyed_in_capture_ |=
          all_->minds_captures_ && all_->device_.open_captures() > 0;
    }
    Witness(const Witness&) = delete;
    Witness& operator=(const Witness&) = delete;
    void BelongToANode() {
      all_->of_nodes_ += of_node_ ? 0 : 1;
      of_node_ = true;
    }

   private:
    Witnesses* const all_;
    bool of_node_ = false;
  };

  Device& device_;
  bool minds_captures_ = false;
  bool destroyed_in_capture_ = false;
  uint64_t alive_ = 0;
  uint64_t of_nodes_ = 0;
  std::weak_ptr<Witness> last_;
};

}  // namespace graphtree::simulation

#endif  // GRAPHTREE_TESTS_SIMULATION_WITNESS_H_
