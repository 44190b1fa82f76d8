// What each lane does, and what must come of it.
#include "tests/simulation/lanes.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "device/address.h"
#include "device/device.h"
#include "device/host/host_device.h"
#include "device/host/host_options.h"
#include "device/memory.h"
#include "device/stream.h"
#include "graphs/launcher.h"
#include "graphs/tensor.h"
#include "graphs/tree.h"
#include "graphs/tree_stats.h"
#include "tests/kernels/kernels.h"
#include "tests/kernels/launches.h"
#include "tests/tree/bodies.h"

namespace graphtree::simulation {
namespace {

constexpr int64_t kSizes[] = {16, 24, 40};
constexpr int kRounds = 40;
constexpr uint64_t kPoolBytes = 8 << 20;

// What lies on the shelf, and what it should hold.
struct Handed {
  Value tensor;
  Words words;
};

class Shelf {
 public:
  void Lay(Handed handed) {
    const std::lock_guard<std::mutex> lock(mutex_);
    handed_.push_back(std::move(handed));
  }
  std::optional<Handed> Take(uint32_t which) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (handed_.empty()) return std::nullopt;
    std::swap(handed_[which % handed_.size()], handed_.back());
    Handed taken = std::move(handed_.back());
    handed_.pop_back();
    return taken;
  }
  void Clear() {
    const std::lock_guard<std::mutex> lock(mutex_);
    handed_.clear();
  }

 private:
  std::mutex mutex_;
  std::vector<Handed> handed_;
};

// Counts what the lanes do, so that one of them can wait in the middle of a body until another one
// has come along.
class Traffic {
 public:
  void Pass() { passed_.fetch_add(1, std::memory_order_relaxed); }
  void AwaitOthers() const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
    const uint32_t before = passed_.load(std::memory_order_relaxed);
    while (passed_.load(std::memory_order_relaxed) < before + kOthers &&
           std::chrono::steady_clock::now() < end) {
      std::this_thread::yield();
    }
  }

 private:
  static constexpr uint32_t kOthers = 2;
  std::atomic<uint32_t> passed_{0};
};

// The tree that parts of all lanes call, one at a time.
class SharedTree {
 public:
  explicit SharedTree(Device& device)
      : tree_(Tree::Create(device, {.pool_bytes = kPoolBytes}).value()),
        thrice_(tree_->Register("thrice", {}, Thrice)) {}
  // out = 3x
  void Call(Launcher& part, const Tensor& x, const Tensor& out) {
    const std::lock_guard<std::mutex> lock(mutex_);
    tree_->BeginStep();
    Values inputs = {x}, made;
    part.Fail(tree_->Run(thrice_, absl::MakeSpan(inputs), part.stream(), &made));
    if (part.ok()) part.Copy(out, Tensor::From(made[0]));
  }

 private:
  std::mutex mutex_;
  const std::unique_ptr<Tree> tree_;
  const FunctionId thrice_;
};

class Lane {
 public:
  struct Place {
    Device& device;
    Shelf& own;
    Shelf& others;
    SharedTree& shared;
    Traffic& traffic;
  };
  Lane(const Place& place, uint32_t seed)
      : place_(place),
        random_(seed),
        tree_(Tree::Create(place.device, {.pool_bytes = kPoolBytes}).value()),
        stream_(place.device.NewStream().value()),
        fork_(place.device.NewStream().value()),
        buffer_(place.device.memory().AllocateHost(kBufferBytes).value()) {
    makes_[0] = tree_->Register("keeps", {.kept_outputs = {0}}, Twice);
    makes_[1] = tree_->Register("makes eagerly", {.exclude = true}, Twice);
    makes_[2] = tree_->Register("thrice", {.kept_outputs = {0}}, Thrice);
    Renew();
  }
  // Without its streams' work under way.
  ~Lane() { stream_->Synchronize().IgnoreError(); }

  // Until its rounds are over, or something is wrong.
  void Live() {
    for (int round = 0; round < kRounds && failure_.empty(); ++round) {
      if (Pick(3) == 0) Renew();
      for (uint32_t i = Pick(4); i > 0; --i) Make(round);
      const size_t which = Pick(4);
      for (uint32_t i = Pick(4); i > 0; --i) {
        if (Pick(4) != 0) tree_->BeginStep();
        const std::unique_ptr<Stream> fresh =
            Pick(4) == 0 ? place_.device.NewStream().value() : nullptr;
        Use(which, fresh == nullptr ? *stream_ : *fresh, round);
      }
    }
  }
  uint64_t recordings() const { return tree_->stats().recordings; }
  const std::string& failure() const { return failure_; }

 private:
  static constexpr uint64_t kBufferBytes = 4096;

  uint32_t Pick(uint32_t count) { return random_() % count; }
  void Fail(int round, absl::string_view what) {
    if (failure_.empty()) failure_ = absl::StrCat("round ", round, ": ", what);
  }
  // Functions that are new to the tree, so that it goes on recording.
  void Renew() {
    uses_[0] = tree_->Register("adds", {}, [this](Launcher& on, Values& inputs) {
      Values outputs = Twice(on, inputs);
      place_.traffic.AwaitOthers();
      return outputs;
    });
    uses_[1] = tree_->Register("calls", {}, [this](Launcher& on, Values& inputs) {
      place_.traffic.AwaitOthers();
      const Tensor out = on.Empty(inputs[0].layout());
      on.Break("calls the shared tree", {In(Tensor::From(inputs[0])), Out(out)},
               [this](Launcher& part, absl::Span<const Tensor> tensors) {
                 place_.shared.Call(part, tensors[0], tensors[1]);
               });
      return Values{out};
    });
    uses_[2] = tree_->Register("forks", {}, [this](Launcher& on, Values& inputs) {
      return Fork(on, Tensor::From(inputs[0]));
    });
    uses_[3] = tree_->Register("runs eagerly", {.exclude = true}, Twice);
  }
  static uint32_t FactorOf(size_t use) { return use == 1 ? 3 : 2; }

  Values Fork(Launcher& on, const Tensor& x) {
    const Tensor out = on.Empty(x.layout());
    on.Reads(x);
    on.Writes(out);
    on.Fork(*fork_);
    if (!on.ok()) return Values{out};
    place_.traffic.AwaitOthers();
    on.Fail(Add(*fork_, out.raw_bytes(), x.raw_bytes(), x.raw_bytes()));
    on.UsedOn(out, *fork_);
    on.UsedOn(x, *fork_);
    return Values{out};
  }

  // A tensor for the others: 2x or 3x of words of its own.
  void Make(int round) {
    const int64_t count = kSizes[Pick(3)];
    Words words(static_cast<size_t>(count));
    for (uint32_t& word : words) word = random_();
    if (!stream_->Synchronize().ok()) return Fail(round, "its stream failed");
    std::copy(words.begin(), words.end(), reinterpret_cast<uint32_t*>(buffer_->data()));
    const size_t which = Pick(3);
    Values inputs = {Tensor::Foreign(buffer_->range().base, WordsLayout(count))}, made;
    absl::Status status =
        tree_->Run(makes_[which], absl::MakeSpan(inputs), *stream_, &made);
    if (status.ok()) status = stream_->Synchronize();
    if (!status.ok()) return Fail(round, absl::StrCat("making: ", status.message()));
    place_.traffic.Pass();
    place_.own.Lay({std::move(made[0]), Times(words, which == 2 ? 3 : 2)});
  }

  // Of a tensor of the others', which goes with the call or after it.
  void Use(size_t which, Stream& stream, int round) {
    std::optional<Handed> taken = place_.others.Take(random_());
    if (!taken.has_value()) return;
    Values inputs, made;
    const bool is_last = Pick(2) == 0;
    inputs.push_back(is_last ? std::move(taken->tensor) : taken->tensor);
    if (is_last) taken->tensor = Value();
    const absl::Status status =
        tree_->Run(uses_[which], absl::MakeSpan(inputs), stream, &made);
    if (!status.ok()) {
      return Fail(round, absl::StrCat("use ", which, ": ", status.message()));
    }
    place_.traffic.Pass();
    inputs.clear();
    Check(stream, made[0], Times(taken->words, FactorOf(which)), round);
    if (!is_last) Check(stream, taken->tensor, taken->words, round);
  }

  void Check(Stream& stream, const Value& value, const Words& expected, int round) {
    Words words(expected.size());
    absl::Status status = stream.Copy(AddressOf(words.data()), value.word(), 4 * words.size());
    if (status.ok()) status = stream.Synchronize();
    if (!status.ok()) return Fail(round, absl::StrCat("reading: ", status.message()));
    if (words != expected) Fail(round, "wrong bytes");
  }

  const Place place_;
  std::mt19937 random_;
  const std::unique_ptr<Tree> tree_;
  const std::unique_ptr<Stream> stream_;
  const std::unique_ptr<Stream> fork_;
  const std::unique_ptr<HostBuffer> buffer_;
  FunctionId makes_[3] = {};
  FunctionId uses_[4] = {};
  std::string failure_;
};

HostOptions OptionsOf(uint32_t seed) {
  HostOptions options;
  options.seed = seed;
  options.scheduler = seed % 3 == 0 ? HostScheduler::kThreads : HostScheduler::kSeeded;
  return options;
}

}  // namespace

std::string FailureOfLanes(uint32_t seed, uint64_t* recordings) {
  const size_t count = 2 + seed % 2;
  const std::unique_ptr<Device> device = OpenHostDevice(OptionsOf(seed)).value();
  std::string failure;
  {
    SharedTree shared(*device);
    Traffic traffic;
    std::vector<Shelf> shelves(count);
    std::vector<std::unique_ptr<Lane>> lanes;
    for (size_t i = 0; i < count; ++i) {
      const Lane::Place place{*device, shelves[i], shelves[(i + 1) % count], shared, traffic};
      lanes.push_back(std::make_unique<Lane>(place, seed * 16 + static_cast<uint32_t>(i)));
    }
    std::vector<std::thread> threads;
    for (const std::unique_ptr<Lane>& lane : lanes) {
      threads.emplace_back([&lane] { lane->Live(); });
    }
    for (std::thread& thread : threads) thread.join();
    for (size_t i = 0; i < count && failure.empty(); ++i) {
      *recordings += lanes[i]->recordings();
      if (lanes[i]->failure().empty()) continue;
      failure = absl::StrCat("lane ", i, " of ", count, ", ", lanes[i]->failure());
    }
    for (Shelf& shelf : shelves) shelf.Clear();
  }
  if (failure.empty() && !device->health().ok()) {
    failure = std::string(device->health().message());
  }
  return failure;
}

}  // namespace graphtree::simulation
