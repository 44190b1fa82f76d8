// The rows of PyTorch's profiler tests, each under its name there: what a launch of a compiled
// kernel leaves in a trace, hooks around launches, and CUPTI that comes again.
#include <cstdint>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "device/kernel.h"
#include "device/observer.h"
#include "graphs/launcher.h"
#include "graphs/tensor.h"
#include "graphs/tree.h"
#include "profiler/cupti/cupti_source.h"
#include "profiler/profile.h"
#include "profiler/profile_options.h"
#include "profiler/trace/json_trace_writer.h"
#include "profiler/trace/records.h"
#include "profiler/trace/sink.h"
#include "profiler/trace/store.h"
#include "profiler/trace/tables.h"
#include "tests/kernels/kernels.h"
#include "tests/kernels/launches.h"
#include "tests/tree/tree_fixture.h"

namespace graphtree {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// A compiler's kernel of two inputs: what it computes is AddKernel's, what it is called is its own.
std::unique_ptr<Kernel> Compiled(const char* name, KernelOrigin origin) {
  const Kernel& add = AddKernel();
  return std::make_unique<Kernel>(name, add.params(), add.host(), add.cuda(),
                                  KernelOwner::kUser, KernelReach::kArguments, std::move(origin));
}

size_t CountOf(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

class ProfilerRowsTest : public TreeTest {
 protected:
  // A function that is never recorded, so that each call launches its kernel.
  FunctionId Launches(const Kernel& kernel, int times = 1) {
    FunctionOptions options;
    options.exclude = true;
    return Register("compiled", options, [&kernel, times](Launcher& on, Values& inputs) {
      const Tensor x = Tensor::From(inputs[0]);
      const Tensor out = on.Empty(x.layout());
      if (!on.ok()) return Values{};
      for (int i = 0; i < times; ++i) {
        on.Launch(kernel, TestShape(),
                  {Out(out), In(x), In(x), Val(static_cast<uint32_t>(kWords))});
      }
      return Values{out};
    });
  }

  void Start() {
    tables_ = std::make_unique<trace::TraceTables>();
    store_ = std::make_unique<trace::TraceStore>(100'000);
    ProfileOptions options;
    options.tables = tables_.get();
    options.listener = store_.get();
    auto profile = Profile::Start(std::move(options));
    ASSERT_THAT(profile, IsOk());
    profile_ = *std::move(profile);
  }
  void Stop() {
    profile_->Stop();
    profile_ = nullptr;
  }
  void Step(FunctionId function, const Tensor& x) {
    NewStep();
    Call(function, {x});
    EXPECT_THAT(a().Synchronize(), IsOk());
  }
  // The identities of what was launched alone, launch by launch.
  std::vector<trace::Identity> Launched() const {
    std::vector<trace::Identity> launched;
    for (const trace::HostSpan& span : store_->spans()) {
      if (span.identity != 0) launched.push_back(tables_->identity(span.identity));
    }
    return launched;
  }
  std::string Text(trace::TextId id) const { return std::string(tables_->text(id)); }
  std::string Json() const {
    std::string json;
    trace::TextSink sink(&json);
    trace::JsonTraceWriter writer(*tables_, sink);
    store_->Replay(writer);
    writer.Flush();
    return json;
  }
  // After two calls before the profile, one call under it: the one launch's identity.
  trace::Identity OfOneLaunch(const Kernel& kernel) {
    const FunctionId function = Launches(kernel);
    const Tensor x = Given(1);
    for (int warm = 0; warm < 2; ++warm) Step(function, x);
    Start();
    Step(function, x);
    Stop();
    const std::vector<trace::Identity> launched = Launched();
    EXPECT_EQ(launched.size(), 1u) << "one host event for one launch";
    return launched.empty() ? trace::Identity() : launched[0];
  }

  std::unique_ptr<trace::TraceTables> tables_;
  std::unique_ptr<trace::TraceStore> store_;
  std::unique_ptr<Profile> profile_;
};
GRAPHTREE_ON_EVERY_DEVICE(ProfilerRowsTest);

TEST_P(ProfilerRowsTest, InductorProfilingTritonLaunch) {
  const auto kernel = Compiled("triton_poi_fused_add_cos_sin_0", {.backend = "triton"});
  OfOneLaunch(*kernel);
  const std::string json = Json();
  EXPECT_THAT(json, HasSubstr("\"traceEvents\":["));
  EXPECT_EQ(CountOf(json, "\"name\":\"cuLaunchKernel triton_poi_fused_add_cos_sin_0\""), 1u);
}

TEST_P(ProfilerRowsTest, InductorProfilingKernelNamesPointwise) {
  const auto kernel = Compiled("triton_poi_fused_add_cos_sin_0", {.backend = "triton"});
  const trace::Identity launch = OfOneLaunch(*kernel);
  EXPECT_EQ(Text(launch.name), "triton_poi_fused_add_cos_sin_0");
  EXPECT_EQ(Text(launch.input_dims), "[[48], [48], [48], []]") << "a scalar has an empty shape";
}

TEST_P(ProfilerRowsTest, InductorProfilingKernelNamesTemplate) {
  const auto kernel = Compiled("triton_tem_fused_mm_0", {.backend = "triton"});
  const trace::Identity launch = OfOneLaunch(*kernel);
  EXPECT_EQ(Text(launch.name), "triton_tem_fused_mm_0");
  EXPECT_THAT(Text(launch.input_dims), StartsWith("[[48], [48], [48], "));
}

// A kernel over lists of tensors takes all of them as arguments.
TEST_P(ProfilerRowsTest, InductorProfilingKernelNamesForeach) {
  const Kernel kernel(
      "triton_for_fused_0",
      Params<uint32_t*, uint32_t*, uint32_t*, const uint32_t*, const uint32_t*, const uint32_t*,
             const uint32_t*, const uint32_t*, const uint32_t*>(),
      [](const HostCall& call) {
        for (size_t i = 0; i < 3; ++i) {
          *call.Get<uint32_t*>(i) =
              *call.Get<const uint32_t*>(3 + i) + *call.Get<const uint32_t*>(6 + i);
        }
      },
      {}, KernelOwner::kUser, KernelReach::kArguments, {.backend = "triton"});
  if (device().info().architecture != "host") GTEST_SKIP() << "the kernel has a host body alone";
  FunctionOptions options;
  options.exclude = true;
  const FunctionId function = Register("foreach", options, [&](Launcher& on, Values& inputs) {
    const Tensor x = Tensor::From(inputs[0]);
    std::vector<Tensor> out;
    for (int i = 0; i < 3; ++i) out.push_back(on.Empty(x.layout()));
    if (!on.ok()) return Values{};
    on.Launch(kernel, TestShape(), {Out(out[0]), Out(out[1]), Out(out[2]), In(x), In(x), In(x),
                                    In(x), In(x), In(x)});
    return Values{out[0], out[1], out[2]};
  });
  const Tensor x = Given(1);
  Start();
  Step(function, x);
  Stop();
  ASSERT_EQ(Launched().size(), 1u);
  EXPECT_EQ(Text(Launched()[0].name), "triton_for_fused_0");
  EXPECT_EQ(CountOf(Text(Launched()[0].input_dims), "[48]"), 9u);
}

TEST_P(ProfilerRowsTest, InductorProfilingTritonHooks) {
  struct Counting : Observer {
    Wishes wishes() const override { return {.graphs = false, .replays = false, .ops = true}; }
    void Saw(const GraphEvent&) override {}
    void SawOp(const OpEvent& event) override { ++(event.begins ? entered : exited); }
    int entered = 0, exited = 0;
  };
  const auto kernel = Compiled("triton_poi_fused_add_cos_sin_0", {.backend = "triton"});
  const FunctionId function = Launches(*kernel);
  const Tensor x = Given(1);
  Counting hooks;
  Observers::OfProcess().Join(&hooks);
  Step(function, x);
  Observers::OfProcess().Leave(&hooks);
  EXPECT_EQ(hooks.entered, 1);
  EXPECT_EQ(hooks.exited, 1);
  Step(function, x);
  EXPECT_EQ(hooks.entered, 1) << "it has left";
}

// Of ten steps three are skipped, one is waited for, one warms up, and two are in the trace.
TEST_P(ProfilerRowsTest, Pt2TritonAttributes) {
  const std::string path = testing::TempDir() + "/fused_add.py";
  std::ofstream(path) << "# a kernel's source\n";
  const auto kernel = Compiled("triton_poi_fused_add_cos_sin_0",
                               {.backend = "triton",
                                .file = path,
                                .hash = "c7f2",
                                .arguments = "XBLOCK=256, num_warps=4"});
  const FunctionId function = Launches(*kernel);
  const Tensor x = Given(1);
  for (int step = 0; step < 10; ++step) {
    if (step == 5) Start();
    if (step == 7) Stop();
    Step(function, x);
  }
  const std::string json = Json();
  EXPECT_EQ(CountOf(json, "\"kernel_backend\":\"triton\""), 2u);
  EXPECT_EQ(CountOf(json, "\"kernel_file\":\"" + path + "\""), 2u);
  EXPECT_EQ(CountOf(json, "\"kernel_hash\":\"c7f2\""), 2u);
  EXPECT_EQ(CountOf(json, "\"kernel_kwargs\":\"XBLOCK="), 2u);
  EXPECT_GE(CountOf(json, "\"stream\":"), 2u);
  EXPECT_TRUE(std::ifstream(path).good());
}

// By value, and not by presence: "0" is not "set".
TEST(CuptiRowsTest, CuptiLazyReinit) {
  std::map<std::string, std::string> set;
  const auto options = [&set] {
    return cupti::OptionsOf([&set](const char* name) {
      const auto found = set.find(name);
      return found == set.end() ? nullptr : found->second.c_str();
    });
  };
  EXPECT_TRUE(options().attaches_again) << "unset: CUPTI comes again, as it may since 12.6";
  set["DISABLE_CUPTI_LAZY_REINIT"] = "0";
  EXPECT_TRUE(options().attaches_again);
  set["DISABLE_CUPTI_LAZY_REINIT"] = "1";
  EXPECT_FALSE(options().attaches_again);
  EXPECT_TRUE(options().finalizes);
  set["TEARDOWN_CUPTI"] = "0";
  EXPECT_FALSE(options().finalizes);
  set["TEARDOWN_CUPTI"] = "1";
  EXPECT_TRUE(options().finalizes);
}

}  // namespace
}  // namespace graphtree
