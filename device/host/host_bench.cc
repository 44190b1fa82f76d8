// What the host device itself costs: issuing and running an op, and an op of a replay.
#include <chrono>
#include <memory>

#include "absl/status/statusor.h"
#include "device/base/check.h"
#include "device/device.h"
#include "device/host/host_device.h"
#include "tools/benching/row.h"

namespace graphtree {
namespace {

using bench::BatchTimer;
using bench::Measurement;

constexpr int kGraphOps = 100;

const Kernel& EmptyKernel() {
  static const Kernel* const kernel = new Kernel("empty", {}, [](const HostCall&) {}, {});
  return *kernel;
}

const Kernel& TouchKernel() {
  static const Kernel* const kernel =
      new Kernel("touch", Params<void*, void*, int>(), [](const HostCall&) {}, {});
  return *kernel;
}

// A device with a stream and two megabytes, opened for one row.
class Bench {
 public:
  explicit Bench(bool check_races) {
    HostOptions options;
    options.check_races = check_races;
    device_ = OpenHostDevice(options).value();
    Memory& memory = device_->memory();
    range_ = memory.Reserve(memory.granularity(), {}).value();
    physical_ = memory.Create(range_.bytes).value();
    GRAPHTREE_CHECK(memory.Map(range_.base, *physical_).ok());
    GRAPHTREE_CHECK(memory.SetAccess(range_, MemoryAccess::kReadWrite).ok());
    stream_ = device_->NewStream().value();
  }

  Stream& stream() { return *stream_; }

  void LaunchEmpty() {
    GRAPHTREE_CHECK(stream_->Launch(EmptyKernel(), {}, {}).ok());
  }
  // Each op reads what the one before it wrote.
  void LaunchTouch(int index) {
    const auto part = [&](int i) {
      return AddressRange{range_.base + static_cast<Address>(i % 16) * 4096, 4096};
    };
    const Argument arguments[] = {Argument::In(part(index)), Argument::Out(part(index + 1)),
                                  Argument::Value(index)};
    GRAPHTREE_CHECK(stream_->Launch(TouchKernel(), {}, arguments).ok());
  }

  template <typename Launch>
  BatchTimer TimeLaunches(const Launch& launch) {
    return [this, launch](int64_t calls) {
      const auto start = std::chrono::steady_clock::now();
      for (int64_t i = 0; i < calls; ++i) launch(static_cast<int>(i));
      GRAPHTREE_CHECK(stream_->Synchronize().ok());
      return NanosecondsSince(start);
    };
  }

  // A call is one op of a replay.
  template <typename Launch>
  BatchTimer TimeReplays(const Launch& launch) {
    GRAPHTREE_CHECK(stream_->BeginCapture(CaptureMode::kThreadLocal).ok());
    for (int i = 0; i < kGraphOps; ++i) launch(i);
    graph_ = stream_->EndCapture().value();
    executable_ = graph_->Instantiate().value();
    return [this](int64_t calls) {
      const int64_t launches = (calls + kGraphOps - 1) / kGraphOps;
      const auto start = std::chrono::steady_clock::now();
      for (int64_t i = 0; i < launches; ++i) {
        GRAPHTREE_CHECK(executable_->Launch(*stream_).ok());
      }
      GRAPHTREE_CHECK(stream_->Synchronize().ok());
      return NanosecondsSince(start) * static_cast<double>(calls) /
             static_cast<double>(launches * kGraphOps);
    };
  }

 private:
  static double NanosecondsSince(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start)
        .count();
  }

  std::unique_ptr<Device> device_;
  AddressRange range_;
  std::unique_ptr<PhysicalMemory> physical_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Graph> graph_;
  std::unique_ptr<Executable> executable_;
};

Measurement Against(const BatchTimer& ours, const BatchTimer& baseline) {
  return bench::CompareBatches(ours, baseline, {});
}

GRAPHTREE_ROW(EmptyOp, {.name = "device.host.empty_op",
                        .ours = "issue and run an empty op",
                        .against = "races not checked",
                        .goal = "value <= 200 ns"}) {
  Bench checked(true), unchecked(false);
  return Against(checked.TimeLaunches([&](int) { checked.LaunchEmpty(); }),
                 unchecked.TimeLaunches([&](int) { unchecked.LaunchEmpty(); }));
}

GRAPHTREE_ROW(DeclaredOp, {.name = "device.host.declared_op",
                           .ours = "issue and run an op with two ranges",
                           .against = "races not checked"}) {
  Bench checked(true), unchecked(false);
  return Against(checked.TimeLaunches([&](int i) { checked.LaunchTouch(i); }),
                 unchecked.TimeLaunches([&](int i) { unchecked.LaunchTouch(i); }));
}

GRAPHTREE_ROW(ReplayedOp, {.name = "device.host.replayed_op",
                           .ours = "an op of a replay of 100 empty ops",
                           .against = "the same ops issued one by one",
                           .goal = "value <= 100 ns"}) {
  Bench replayed(true), eager(true);
  return Against(replayed.TimeReplays([&](int) { replayed.LaunchEmpty(); }),
                 eager.TimeLaunches([&](int) { eager.LaunchEmpty(); }));
}

GRAPHTREE_ROW(ReplayedDeclaredOp, {.name = "device.host.replayed_declared_op",
                                   .ours = "an op of a replay of 100 ops with two ranges",
                                   .against = "races not checked"}) {
  Bench checked(true), unchecked(false);
  return Against(checked.TimeReplays([&](int i) { checked.LaunchTouch(i); }),
                 unchecked.TimeReplays([&](int i) { unchecked.LaunchTouch(i); }));
}

}  // namespace
}  // namespace graphtree
