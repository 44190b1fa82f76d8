// A program as another workspace writes it: every header of ours begins with graphtree/.
#include <cstdint>
#include <memory>
#include <vector>

#include "graphtree/allocator/foreign.h"
#include "graphtree/allocator/pool.h"
#include "graphtree/allocator/pool_snapshot.h"
#include "graphtree/device/open.h"
#include "graphtree/graphs/launcher.h"
#include "graphtree/graphs/reports/graph_export.h"
#include "graphtree/graphs/reports/tree_snapshot.h"
#include "graphtree/graphs/tree.h"
#include "graphtree/runtime/runtime.h"
#include "gtest/gtest.h"

namespace {

constexpr uint32_t kCount = 64;

void AddOneOnHost(const graphtree::HostCall& call) {
  auto* out = call.Get<uint32_t*>(0);
  const auto* in = call.Get<const uint32_t*>(1);
  for (uint32_t i = 0; i < kCount; ++i) out[i] = in[i] + 1;
}

const graphtree::Kernel& AddOne() {
  static const auto* kernel = new graphtree::Kernel(
      "add one", graphtree::Params<uint32_t*, const uint32_t*>(), AddOneOnHost, {});
  return *kernel;
}

TEST(DoorTest, AProgramOfAnotherWorkspaceReplays) {
  const std::unique_ptr<graphtree::Device> device = *graphtree::OpenDevice("host");
  const std::unique_ptr<graphtree::Stream> stream = *device->NewStream();
  const std::unique_ptr<graphtree::Tree> tree = *graphtree::Tree::Create(*device, {});
  const graphtree::FunctionId add = tree->Register(
      "add", {}, [](graphtree::Launcher& on, graphtree::Values&) {
        const graphtree::Tensor out = on.Empty(graphtree::DType::kI32, {kCount});
        on.Launch(AddOne(), {.grid = {1}, .block = {kCount}},
                  {graphtree::Out(out), graphtree::In(on.Input(0))});
        return graphtree::Values{out};
      });
  const std::unique_ptr<graphtree::HostBuffer> input =
      *device->memory().AllocateHost(kCount * sizeof(uint32_t));
  auto* words = static_cast<uint32_t*>(input->data());
  std::vector<uint32_t> got(kCount);
  for (uint32_t step = 0; step < 4; ++step) {
    for (uint32_t i = 0; i < kCount; ++i) words[i] = i * (step + 1);
    tree->BeginStep();
    const auto outputs = tree->Run(
        add,
        {graphtree::Tensor::Foreign(input->range().base,
                                    graphtree::Layout::Of(graphtree::DType::kI32, {kCount}))},
        *stream);
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    ASSERT_TRUE(stream->Copy(graphtree::AddressOf(got.data()), (*outputs)[0].word(),
                             kCount * sizeof(uint32_t))
                    .ok());
    ASSERT_TRUE(stream->Synchronize().ok());
    EXPECT_EQ(got[5], 5 * (step + 1) + 1) << "in step " << step;
  }
  EXPECT_EQ(tree->stats().replays, 2u);
}

TEST(DoorTest, AProgramOfAnotherWorkspaceServes) {
  const std::unique_ptr<graphtree::Device> device = *graphtree::OpenDevice("host");
  const std::unique_ptr<graphtree::Stream> stream = *device->NewStream();
  const std::unique_ptr<graphtree::Runtime> runtime = *graphtree::Runtime::Create(*device, {});
  const absl::StatusOr<graphtree::ProgramId> program = runtime->AddProgram(
      {.name = "add",
       .slots = {{.name = "ids", .type = graphtree::DType::kI32, .sizes = {kCount}}},
       .body = [](graphtree::Launcher& on, const graphtree::ProgramInputs& in) {
         const graphtree::Tensor out = on.Empty(graphtree::DType::kI32, {kCount});
         on.Launch(AddOne(), {.grid = {1}, .block = {kCount}},
                   {graphtree::Out(out), graphtree::In(in.slot(0))});
         return graphtree::Values{out};
       }});
  ASSERT_TRUE(program.ok()) << program.status();
  ASSERT_TRUE(runtime->AddShapes(*program, {{.tokens = 1}}).ok());
  for (int32_t i = 0; i < 4; ++i) {
    absl::StatusOr<graphtree::Step> step = runtime->Begin(*program, {.tokens = 1}, *stream);
    ASSERT_TRUE(step.ok()) << step.status();
    ASSERT_TRUE(step->Stage(0, double(i)).ok());
    graphtree::Values outputs;
    const absl::Status ran = step->Run(&outputs);
    ASSERT_TRUE(ran.ok()) << ran;
    EXPECT_EQ(step->why() == graphtree::Why::kHit, i >= 2) << step->Describe();
    int32_t got = -1;
    ASSERT_TRUE(
        stream->Copy(graphtree::AddressOf(&got), outputs[0].word(), sizeof(got)).ok());
    ASSERT_TRUE(stream->Synchronize().ok());
    EXPECT_EQ(got, i + 1);
  }
}

}  // namespace
