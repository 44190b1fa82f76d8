// Rows about random numbers that are drawn a second time: a backward pass that recomputes what its
// forward pass drew puts a generator of its own to where that one's stood, and draws.
#include <algorithm>
#include <bit>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "graphs/random/generator.h"
#include "graphs/random/philox.h"
#include "graphs/random/random_source.h"
#include "graphs/random/uniform.h"
#include "tests/tree/breaks_fixture.h"

namespace graphtree {
namespace {

class RecomputeTest : public BreaksFixture {
 protected:
  static constexpr uint32_t kDraws = 16;

  void SetUp() override {
    BreaksFixture::SetUp();
    if (!IsSkipped() && !HasFatalFailure()) OpenWith({}, {});
  }
  // With functions of these options.
  void OpenWith(TreeOptions options, FunctionOptions forward) {
    OpenTree(std::move(options));
    forward_ = Register("forward", std::move(forward), [this](Launcher& on, Values&) {
      return Values{Drawn(on, numbers_)};
    });
    backward_ = Register("backward", {}, [this](Launcher& on, Values&) {
      return Values{Drawn(on, again_)};
    });
  }
  static Tensor Drawn(Launcher& on, const GeneratorPtr& generator) {
    const Tensor out = on.Empty(DType::kF32, {kDraws});
    if (!on.ok()) return Tensor();
    on.Launch(UniformKernel(), UniformShape(kDraws),
              {Out(out), Val(kDraws), Val(on.Random(generator, kDraws))});
    return out;
  }
  struct Pass {
    uint64_t offset = 0;  // of the numbers it drew
    Words drawn;
  };
  Pass Forward() {
    Pass pass{numbers_->offset(), {}};
    pass.drawn = Read(Call(forward_, {})[0]);
    return pass;
  }
  // Draws what that pass drew.
  void ExpectRecomputed(const Pass& pass) {
    again_->Seed(numbers_->seed(), pass.offset);
    EXPECT_EQ(Read(Call(backward_, {})[0]), pass.drawn);
  }

  const GeneratorPtr numbers_ = std::make_shared<Generator>(5);
  const GeneratorPtr again_ = std::make_shared<Generator>(6);

 private:
  FunctionId forward_ = 0;
  FunctionId backward_ = 0;
};
GRAPHTREE_ON_EVERY_DEVICE(RecomputeTest);

TEST_P(RecomputeTest, Simple) {
  std::set<Words> seen;
  for (int step = 0; step < 5; ++step) {
    NewStep();
    const Pass pass = Forward();
    ExpectRecomputed(pass);
    EXPECT_TRUE(seen.insert(pass.drawn).second) << "every run draws others";
  }
  EXPECT_EQ(replays(), 6u);
  EXPECT_EQ(eager(), 0u);
}

// Forward passes run eagerly, and more often than the backward, which is recorded.
TEST_P(RecomputeTest, CudagraphUnevenForwardBackward) {
  for (const bool enabled : {true, false}) {
    OpenWith({.enabled = enabled}, {.exclude = true});
    for (int step = 0; step < 4; ++step) {
      NewStep();
      const Pass pass = Forward();
      for (int more = 0; more < 3; ++more) EXPECT_NE(Forward().drawn, pass.drawn);
      ExpectRecomputed(pass);
    }
    EXPECT_EQ(graphs(), enabled ? 1u : 0u);
    EXPECT_EQ(replays(), enabled ? 2u : 0u);
  }
}

// Three forward passes, their backward passes in each of the six orders.
TEST_P(RecomputeTest, UnevenForwardBackward) {
  std::vector<int> order = {0, 1, 2};
  std::set<Words> seen;
  do {
    for (int step = 0; step < 3; ++step) {
      NewStep();
      const Pass passes[] = {Forward(), Forward(), Forward()};
      for (const Pass& pass : passes) EXPECT_TRUE(seen.insert(pass.drawn).second);
      for (const int which : order) ExpectRecomputed(passes[which]);
    }
  } while (std::next_permutation(order.begin(), order.end()));
  EXPECT_EQ(eager(), 0u);
  EXPECT_EQ(replays(), 6u * 18 - 4) << "all but two calls of each";
}

TEST_P(RecomputeTest, RetainGraph) {
  for (int step = 0; step < 4; ++step) {
    NewStep();
    const Pass pass = Forward();
    ExpectRecomputed(pass);
    ExpectRecomputed(pass);
  }
  EXPECT_EQ(eager(), 0u);
}

// The same, one body with a part on the host: what is drawn on both sides of the cut is drawn again
// on both sides of another, and equals what a tree that is off gives.
TEST_P(RecomputeTest, GraphPartitionCudagraphsAotEagerCompatEqual) {
  std::vector<std::vector<Words>> runs;
  for (const bool enabled : {false, true}) {
    OpenTree({.enabled = enabled});
    numbers_->Seed(5);
    auto pass = [this](const GeneratorPtr& generator) {
      return [this, generator](Launcher& on, Values& inputs) {
        const Tensor first = Drawn(on, generator);
        const Tensor host = HostTimes(on, inputs[0], 3);
        return Values{first, host, Drawn(on, generator)};
      };
    };
    const FunctionId forward = Register("forward", {}, pass(numbers_));
    const FunctionId backward = Register("backward", {}, pass(again_));
    std::vector<Words>& run = runs.emplace_back();
    for (uint32_t step = 0; step < 4; ++step) {
      const Tensor x = Given(step);
      const uint64_t offset = numbers_->offset();
      NewStep();
      const Values out = Call(forward, {x});
      again_->Seed(numbers_->seed(), offset);
      const Values gradient = Call(backward, {x});
      for (int i = 0; i < 3; ++i) {
        run.push_back(Read(out[i]));
        EXPECT_EQ(Read(gradient[i]), run.back()) << "output " << i << " in step " << step;
      }
    }
    if (enabled) {
      EXPECT_EQ(eager(), 0u);
    }
  }
  EXPECT_EQ(runs[0], runs[1]);
}

// Outputs and gradients of three runs are those of a tree that is off.
TEST_P(RecomputeTest, CudagraphsAotEagerCompatEqual) {
  std::vector<std::vector<Words>> runs;
  for (const bool enabled : {false, true}) {
    OpenWith({.enabled = enabled}, {});
    numbers_->Seed(5);
    std::vector<Words>& run = runs.emplace_back();
    for (int step = 0; step < 3; ++step) {
      NewStep();
      const Pass pass = Forward();
      run.push_back(pass.drawn);
      ExpectRecomputed(pass);
    }
  }
  EXPECT_EQ(eager(), 0u);
  EXPECT_EQ(replays(), 2u);
  EXPECT_EQ(runs[0], runs[1]);
}

// Row 42: choices among eight, drawn with one seed in a plain run and in the recorded second call.
TEST_P(RecomputeTest, Multinomial) {
  const auto sample = [this](Launcher& on, Values&) {
    const Tensor out = Drawn(on, numbers_);
    const float choices = 8;
    if (!on.ok()) return Values{};
    on.Launch(ScaleKernel(), TestShape(), {InOut(out), Val(choices), Val(kDraws)});
    return Values{out};
  };
  Words expected;
  for (uint32_t i = 0; i < kDraws; ++i) {
    expected.push_back(std::bit_cast<uint32_t>(8 * UniformFloat(RandomWord(7, i))));
  }
  for (const bool enabled : {false, true}) {
    OpenTree({.enabled = enabled});
    const FunctionId function = Register("sample", {}, sample);
    for (int call = 0; call < 3; ++call) {
      numbers_->Seed(7);
      EXPECT_EQ(Read(CallInSteps(1, function, {})[0]), expected) << "call " << call;
    }
    EXPECT_TRUE(warnings().empty());
  }
  EXPECT_EQ(graphs(), 1u);
  EXPECT_EQ(eager(), 0u);
}

}  // namespace
}  // namespace graphtree
