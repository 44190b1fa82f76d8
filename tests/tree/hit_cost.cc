// A hit allocates nothing and takes no lock: what it costs is what its device calls cost.
//
//   hit    match, patch, launch, hand out      allocations m      locks n
//   bare   the same device calls by hand       allocations m      locks n
//
// The host device locks, and its books allocate, in its calls: so the bare calls are counted beside
// the tree's; and a device that does nothing in them shows that the tree adds nothing at all.
// Counts are the calling thread's.
#include <dlfcn.h>
#include <pthread.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "device/base/status_matchers.h"
#include "device/host/host_device.h"
#include "graphs/inputs/ingest/ingest.h"
#include "tests/tree/bodies.h"
#include "tests/tree/silent_device.h"
#include "tests/tree/tree_fixture.h"

namespace {

thread_local uint64_t allocations = 0;
thread_local uint64_t locks = 0;

using LockFunction = int (*)(pthread_mutex_t*);

LockFunction RealLock() {
  static const auto real = reinterpret_cast<LockFunction>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
  return real;
}

void* Counted(std::size_t bytes, std::size_t alignment) {
  ++allocations;
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
  if (memory == nullptr) std::abort();
  return memory;
}

}  // namespace

extern "C" int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  ++locks;
  return RealLock()(mutex);
}

void* operator new(std::size_t bytes) { return Counted(bytes, alignof(std::max_align_t)); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return Counted(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace graphtree {
namespace {

struct Cost {
  uint64_t allocations = 0;
  uint64_t locks = 0;
};

Cost CostOf(const std::function<void()>& work) {
  const Cost before = {allocations, locks};
  work();
  return {allocations - before.allocations, locks - before.locks};
}

class HitCostTest : public TreeTest {
 protected:
  static constexpr int kHits = 20;

  // The dearest of `kHits` hits of steps that are made ready by `prepare`, which is not counted.
  Cost Dearest(FunctionId function, const std::function<void(int, Values*)>& prepare) {
    Values inputs, outputs;
    inputs.reserve(16);
    Cost dearest;
    const uint64_t recorded_before = graphs();
    uint64_t hits = 0;
    for (int hit = 0; hit < kHits + 4; ++hit) {
      outputs.clear();
      NewStep();
      inputs.clear();
      prepare(hit, &inputs);
      const uint64_t replays_before = replays();
      absl::Status status;
      const Cost cost = CostOf([&] {
        status = tree().Run(function, absl::MakeSpan(inputs), a(), &outputs);
      });
      EXPECT_THAT(status, IsOk());
      EXPECT_THAT(a().Synchronize(), IsOk());
      // The first hits of all fill what is kept to be used again.
      if (replays() == replays_before || hit < 4) continue;
      ++hits;
      dearest.allocations = std::max(dearest.allocations, cost.allocations);
      dearest.locks = std::max(dearest.locks, cost.locks);
    }
    EXPECT_EQ(hits, static_cast<uint64_t>(kHits)) << graphs() - recorded_before << " recorded";
    return dearest;
  }

  // The device calls of a hit by hand: a copying op for `copied` inputs that moved, an addition,
  // one output.
  Cost Bare(int copied) {
    const AddressRange out = NewWords(kWords), x = NewWords(kWords), y = NewWords(kWords);
    std::vector<IngestCopy> copies;
    for (int i = 0; i < copied; ++i) {
      copies.push_back({(i == 0 ? x : y).base, NewWords(kWords).base, WordsLayout(kWords)});
    }
    std::vector<IngestPlan> plans = IngestPlan::For(copies, {});
    const Address other = NewWords(kWords).base;
    const std::unique_ptr<Graph> graph = CaptureOn(a(), [&] {
      for (IngestPlan& plan : plans) {
        const Argument table = plan.Table();
        EXPECT_THAT(a().Launch(plan.kernel(), plan.shape(), absl::MakeSpan(&table, 1)), IsOk());
      }
      EXPECT_THAT(Add(a(), out, x, y), IsOk());
    });
    const std::unique_ptr<Executable> executable = InstantiateOf(*graph);
    const bool tells = device().info().architecture == "host";
    Cost cost;
    for (int round = 0; round < 5; ++round) {
      cost = CostOf([&] {
        if (tells) memory().NoteRevived(out, "an output");
        for (IngestPlan& plan : plans) {
          plan.Retarget(0, round % 2 == 0 ? other : copies[0].source);
          const Argument table = plan.Table();
          EXPECT_THAT(executable->PatchKernel(0, plan.kernel(), plan.shape(),
                                              absl::MakeSpan(&table, 1)), IsOk());
        }
        EXPECT_THAT(executable->Launch(a()), IsOk());
      });
      EXPECT_THAT(a().Synchronize(), IsOk());
    }
    return cost;
  }

  // An addition whose argument is patched, and a launch.
  Cost BarePatch() {
    const AddressRange out = NewWords(kWords), x = NewWords(kWords), y = NewWords(kWords);
    const std::unique_ptr<Graph> graph =
        CaptureOn(a(), [&] { EXPECT_THAT(Add(a(), out, x, x), IsOk()); });
    const std::unique_ptr<Executable> executable = InstantiateOf(*graph);
    const bool tells = device().info().architecture == "host";
    Cost cost;
    for (int round = 0; round < 5; ++round) {
      const AddressRange input = round % 2 == 0 ? y : x;
      const std::vector<Argument> arguments = AddArguments(out, input, input);
      cost = CostOf([&] {
        if (tells) memory().NoteRevived(out, "an output");
        EXPECT_THAT(executable->PatchKernel(0, AddKernel(), TestShape(), arguments), IsOk());
        EXPECT_THAT(executable->Launch(a()), IsOk());
      });
      EXPECT_THAT(a().Synchronize(), IsOk());
    }
    return cost;
  }

  void ExpectAsBare(const Cost& hit, const Cost& bare) {
    EXPECT_LE(hit.allocations, bare.allocations);
    EXPECT_LE(hit.locks, bare.locks);
    EXPECT_TRUE(bare.locks > 0 || device().info().architecture != "host") << "nothing is counted";
  }
};
GRAPHTREE_ON_EVERY_DEVICE(HitCostTest);

TEST_P(HitCostTest, TheCountersCount) {
  const Cost cost = CostOf([] {
    std::vector<int> heap(100);
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    EXPECT_EQ(heap[99], 0);
  });
  EXPECT_GE(cost.allocations, 1u);
  EXPECT_EQ(cost.locks, 1u);
}

TEST_P(HitCostTest, StaticInputsAndIntegers) {
  const FunctionId function =
      Register("static", {.static_inputs = {0, 1}},
               [](Launcher& on, Values& inputs) { return Values{Sum(on, inputs[0], inputs[1])}; });
  const Tensor x = Given(1), y = Given(2);
  const Cost hit = Dearest(function, [&](int, Values* inputs) {
    inputs->push_back(x);
    inputs->push_back(y);
    inputs->push_back(Value::Integer(5));
    inputs->push_back(Value());
  });
  ExpectAsBare(hit, Bare(0));
}

TEST_P(HitCostTest, CopiedInputsThatMove) {
  const FunctionId function = Register("copied", {}, AddBoth);
  const Tensor places[] = {Given(1), Given(2), Given(3)};
  const Cost hit = Dearest(function, [&](int turn, Values* inputs) {
    inputs->push_back(places[turn % 3]);
    inputs->push_back(places[(turn + 1) % 3]);
  });
  ExpectAsBare(hit, Bare(2));
}

// One patch for each op that takes an input that moved: as many as the bare calls make here.
TEST_P(HitCostTest, PatchedInputsThatMove) {
  OpenTree({.patch_bytes = 1});
  const FunctionId function = Register("patched", {}, Twice);
  const Tensor places[] = {Given(1), Given(2), Given(3)};
  const Cost hit = Dearest(function, [&](int turn, Values* inputs) {
    inputs->push_back(places[turn % 3]);
  });
  EXPECT_EQ(tree().stats().patched_inputs, 1u);
  ExpectAsBare(hit, BarePatch());
}

// A static input at many addresses: found by the recording that takes any.
TEST_P(HitCostTest, AStaticInputThatMoves) {
  const FunctionId function = Register("moves", {.static_inputs = {0}}, Twice);
  const Tensor places[] = {Given(1), Given(2), Given(3), Given(4)};
  CallInSteps(3, function, {places[3]});
  CallInSteps(1, function, {places[0]});
  const Cost hit = Dearest(function, [&](int turn, Values* inputs) {
    inputs->push_back(places[turn % 3]);
  });
  ExpectAsBare(hit, BarePatch());
}

TEST_P(HitCostTest, ManagedInputsBehindAnotherFunction) {
  const FunctionId first = Register("first", {}, Twice);
  const FunctionId second = Register("second", {}, ConsumeTwice);
  const Tensor x = Given(1);
  Values made;
  const Cost hit = Dearest(second, [&](int, Values* inputs) {
    made = Call(first, {x});
    inputs->push_back(std::move(made[0]));
  });
  ExpectAsBare(hit, Bare(0));
}

// A caller on a device whose replays do nothing.
class SilentHitTest : public testing::Test {
 protected:
  static constexpr int64_t kWords = 16;
  static constexpr int kHits = 20;

  void SetUp() override {
    stream_ = *device_.NewStream();
    memory_ = *device_.memory().AllocateHost(8 * kWords * sizeof(uint32_t));
    TreeOptions options;
    options.pool_bytes = 16 << 20;
    tree_ = *Tree::Create(device_, options);
  }
  void TearDown() override { device_.silence().on = false; }
  Tensor Given(int place) {
    return Tensor::Foreign(memory_->range().base + place * kWords * sizeof(uint32_t),
                           WordsLayout(kWords));
  }

  // Steps of `step`, the recorded ones in silence. All that they cost, but for the first few.
  Cost CostOfSteps(const std::function<void(int turn)>& step) {
    for (int turn = 0; turn < 4; ++turn) {
      tree_->BeginStep();
      step(turn);
    }
    EXPECT_THAT(stream_->Synchronize(), IsOk());
    device_.silence().on = true;
    const uint64_t replays_before = tree_->stats().replays;
    Cost sum;
    for (int turn = 0; turn < kHits + 4; ++turn) {
      const Cost cost = CostOf([&] {
        tree_->BeginStep();
        step(turn);
      });
      if (turn < 4) continue;  // they fill what is kept to be used again
      sum.allocations += cost.allocations;
      sum.locks += cost.locks;
    }
    EXPECT_GE(tree_->stats().replays, replays_before + kHits);
    EXPECT_GE(device_.silence().calls, static_cast<uint64_t>(kHits));
    return sum;
  }
  void Run(FunctionId function, Values* inputs, Values* outputs) {
    // No matcher: it would cost what is counted.
    const bool ran = tree_->Run(function, absl::MakeSpan(*inputs), *stream_, outputs).ok();
    if (!ran) ADD_FAILURE() << "a hit failed";
  }

  SilentDevice device_{*OpenHostDevice()};
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<HostBuffer> memory_;
  std::unique_ptr<Tree> tree_;
};

TEST_F(SilentHitTest, AHitAllocatesNothingAndTakesNoLock) {
  const FunctionId pinned = tree_->Register(
      "static", {.static_inputs = {0, 1}},
      [](Launcher& on, Values& inputs) { return Values{Sum(on, inputs[0], inputs[1])}; });
  Values inputs = {Given(0), Given(1), Value::Integer(5), Value()}, outputs;
  const Cost cost = CostOfSteps([&](int) {
    outputs.clear();
    Run(pinned, &inputs, &outputs);
  });
  EXPECT_EQ(cost.allocations, 0u);
  EXPECT_EQ(cost.locks, 0u);
}

// Each step's outputs are held through the next.
TEST_F(SilentHitTest, NorDoesOneThatKeepsItsOutputs) {
  FunctionOptions keeping;
  keeping.kept_outputs = {0, 1};
  const FunctionId keeps = tree_->Register("keeps", keeping, [](Launcher& on, Values& inputs) {
    const Tensor sum = Sum(on, inputs[0], inputs[0]);
    return Values{sum, Sum(on, sum, inputs[0])};
  });
  Values inputs = {Given(0)}, held[2];
  const Cost cost = CostOfSteps([&](int turn) { Run(keeps, &inputs, &held[turn % 2]); });
  EXPECT_EQ(cost.allocations, 0u);
  EXPECT_EQ(cost.locks, 0u);
}

TEST_F(SilentHitTest, NorDoesOneWhoseInputsMove) {
  const FunctionId copied = tree_->Register("copied", {}, AddBoth);
  Values inputs(2), outputs;
  const Tensor places[] = {Given(0), Given(1), Given(2)};
  const Cost cost = CostOfSteps([&](int turn) {
    outputs.clear();
    inputs[0] = places[turn % 3];
    inputs[1] = places[(turn + 1) % 3];
    Run(copied, &inputs, &outputs);
  });
  EXPECT_EQ(cost.allocations, 0u);
  EXPECT_EQ(cost.locks, 0u);
}

TEST_F(SilentHitTest, NorDoesOneThatIsCut) {
  int parts = 0;
  const FunctionId cut = tree_->Register("cut", {}, [&parts](Launcher& on, Values& inputs) {
    const Tensor twice = Sum(on, inputs[0], inputs[0]);
    on.Break("counts", {In(twice)},
             [&parts](Launcher&, absl::Span<const Tensor> tensors) { parts += tensors.size(); });
    return Values{Sum(on, twice, inputs[0])};
  });
  Values inputs(1), outputs;
  const Tensor places[] = {Given(0), Given(1), Given(2)};
  const Cost cost = CostOfSteps([&](int turn) {
    outputs.clear();
    inputs[0] = places[turn % 3];
    Run(cut, &inputs, &outputs);
  });
  EXPECT_EQ(cost.allocations, 0u);
  EXPECT_EQ(cost.locks, 0u);
  EXPECT_GT(parts, kHits);
}

TEST_F(SilentHitTest, NorDoesAPathOfThree) {
  const FunctionId first = tree_->Register("first", {}, Twice);
  const FunctionId next = tree_->Register("next", {}, ConsumeTwice);
  Values inputs(1), outputs, more;
  const Tensor x = Given(0);
  const Cost cost = CostOfSteps([&](int) {
    outputs.clear();
    more.clear();
    inputs[0] = x;
    Run(first, &inputs, &outputs);
    Run(next, &outputs, &more);
    Run(next, &more, &outputs);
  });
  EXPECT_EQ(cost.allocations, 0u);
  EXPECT_EQ(cost.locks, 0u);
}

}  // namespace
}  // namespace graphtree
