// What tests stand on in which device calls fail one after the other: a caller with a stream, a
// tree and page-locked memory, who looks at results without taking a failure of his own for one of
// the tree's.
//
//   class Caller : public FaultCaller { bool Open(); bool Step(); ... };
//   LoseTheDeviceAtAnyCall<Caller>([](Caller&) {});
#ifndef GRAPHTREE_TESTS_TREE_FAULT_CALLER_H_
#define GRAPHTREE_TESTS_TREE_FAULT_CALLER_H_

#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "device/device.h"
#include "device/error.h"
#include "device/fault/every_call.h"
#include "device/fault/fault_device.h"
#include "device/host/host_device.h"
#include "device/memory.h"
#include "device/stream.h"
#include "graphs/tree.h"
#include "gtest/gtest.h"
#include "tests/kernels/kernels.h"
#include "tests/tree/bodies.h"

namespace graphtree {

inline std::unique_ptr<Device> MakeHost() { return OpenHostDevice().value(); }

class FaultCaller {
 public:
  explicit FaultCaller(FaultDevice& device) : device_(device) {}
  FaultCaller(const FaultCaller&) = delete;
  FaultCaller& operator=(const FaultCaller&) = delete;
  ~FaultCaller() {
    tree_.reset();
    stream_.reset();
    host_.reset();
  }

  Tree& tree() { return *tree_; }
  void Close() { tree_.reset(); }

 protected:
  static constexpr int64_t kWords = 16;
  static constexpr uint64_t kBytes = kWords * sizeof(uint32_t);

  // With kBytes of zeros at counter(). False if something failed.
  bool OpenTree(TreeOptions options) {
    auto stream = device_.NewStream();
    auto host = device_.memory().AllocateHost(2 * kBytes);
    if (!stream.ok() || !host.ok()) return false;
    stream_ = *std::move(stream);
    host_ = *std::move(host);
    std::memset(host_->data(), 0, host_->bytes());
    options.pool_bytes = 32 << 20;
    auto tree = Tree::Create(device_, options);
    if (!tree.ok()) return false;
    tree_ = *std::move(tree);
    return true;
  }
  FaultDevice& device() { return device_; }
  Stream& stream() { return *stream_; }
  Address counter() const { return host_->range().base; }

  static Words PatternOf(uint32_t seed) {
    Words words(kWords);
    for (uint32_t i = 0; i < kWords; ++i) words[i] = PatternWord(seed, i);
    return words;
  }
  absl::StatusOr<Words> Read(const Value& value) {
    const Address target = counter() + kBytes;
    absl::Status status = stream_->Copy(target, value.word(), kBytes);
    if (status.ok()) status = stream_->Synchronize();
    if (!status.ok()) return status;
    return WordsAt(target);
  }
  static Words WordsAt(Address host) {
    Words words(kWords);
    std::memcpy(words.data(), PointerTo<void>(host), kBytes);
    return words;
  }
  // False if it could not be looked at; fails the test if it was looked at and is wrong.
  bool Holds(const Value& value, const Words& expected) {
    const absl::StatusOr<Words> words = Read(value);
    if (!words.ok()) return false;
    EXPECT_EQ(*words, expected) << "in state " << tree_->state();
    return true;
  }

 private:
  FaultDevice& device_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<HostBuffer> host_;
  std::unique_ptr<Tree> tree_;
};

// From behind the opening on: what a lost device does not take back is no fault of the tree's. It
// fails everything; the tree still closes and leaves nothing. Returns in how many runs the device
// was lost in a step.
template <typename Caller, typename Prepare>
uint64_t LoseTheDeviceAtAnyCall(Prepare prepare) {
  EveryCallOptions options;
  options.code = ErrorCode::kIllegalAddress;
  {
    FaultDevice device(MakeHost());
    Caller caller(device);
    EXPECT_TRUE(caller.Open());
    options.first = device.plan().calls() + 1;
  }
  uint64_t losses = 0;
  ForEveryFailingCall(
      MakeHost,
      [&prepare, &losses](FaultDevice& device) {
        Caller caller(device);
        if (!caller.Open()) return;
        prepare(caller);
        bool lost = false;
        for (int step = 0; step < 4; ++step) {
          const bool ran = caller.Step();
          EXPECT_FALSE(lost && ran) << "a lost device ran a step";
          lost = !device.plan().lost().ok();
        }
        losses += lost ? 1 : 0;
        device.plan().Clear();
      },
      options);
  return losses;
}

}  // namespace graphtree

#endif  // GRAPHTREE_TESTS_TREE_FAULT_CALLER_H_
