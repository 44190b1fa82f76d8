// A fault device that tells a test when somebody asks about captures, so that the test can begin or
// end one between that question and whatever follows it, as another thread may at any time:
//
//   library   Stream::Capture -> "none"  | Stream::Synchronize        breaks the capture
//   test                                   BeginCapture
//
// Threads: the test sets what it is to be told while nobody else uses the device.
#ifndef GRAPHTREE_DEVICE_FAULT_ASKED_DEVICE_H_
#define GRAPHTREE_DEVICE_FAULT_ASKED_DEVICE_H_

#include <functional>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "device/fault/fault_device.h"
#include "device/fault/fault_stream.h"
#include "device/stream.h"

namespace graphtree {

// Not told of questions that the test asks meanwhile.
class Questions {
 public:
  // With the stream that the question is about; null: all of the device's.
  using Hook = std::function<void(const Stream*)>;

  // `before` is called before a question is answered, `after` with the answer given already.
  void Tell(Hook before, Hook after) {
    before_ = std::move(before);
    after_ = std::move(after);
  }
  template <typename Answer>
  auto Ask(const Stream* stream, const Answer& answer) {
    Call(before_, stream);
    auto answered = answer();
    Call(after_, stream);
    return answered;
  }

 private:
  void Call(const Hook& hook, const Stream* stream) {
    if (hook == nullptr || is_telling_) return;
    is_telling_ = true;
    hook(stream);
    is_telling_ = false;
  }

  Hook before_;
  Hook after_;
  bool is_telling_ = false;
};

class AskedStream : public FaultStream {
 public:
  AskedStream(Device* device, FaultPlan* plan, std::unique_ptr<Stream> wrapped,
              Questions* questions)
      : FaultStream(device, plan, std::move(wrapped)), questions_(*questions) {}
  absl::StatusOr<CaptureInfo> Capture() override {
    return questions_.Ask(this, [this] { return FaultStream::Capture(); });
  }

 private:
  Questions& questions_;
};

class AskedDevice : public FaultDevice {
 public:
  using FaultDevice::FaultDevice;
  ~AskedDevice() override { questions_.Tell(nullptr, nullptr); }
  absl::StatusOr<std::unique_ptr<Stream>> NewStream() override {
    absl::StatusOr<std::unique_ptr<Stream>> stream = wrapped().NewStream();
    if (!stream.ok()) return stream;
    return std::make_unique<AskedStream>(this, &plan(), *std::move(stream), &questions_);
  }
  int open_captures() const override {
    return questions_.Ask(nullptr, [this] { return FaultDevice::open_captures(); });
  }
  Questions& questions() { return questions_; }

 private:
  mutable Questions questions_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_FAULT_ASKED_DEVICE_H_
