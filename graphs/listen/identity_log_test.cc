// No op gets the name of another one: a model captures ops of three kinds at random, and compares.
#include "graphs/listen/identity_log.h"

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "device/kernel.h"
#include "graphs/launcher.h"
#include "graphs/layout.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

OpIdentity IdentityOf(const OpLaunch& op, absl::string_view scopes) {
  OpIdentity identity;
  identity.name = "of another op";
  identity.bytes_read = 7;
  Identify(op, scopes, &identity);
  return identity;
}

OpIdentity Named(std::string name) {
  OpIdentity identity;
  identity.name = std::move(name);
  return identity;
}

TEST(IdentityLogTest, AKernelSaysWhereItComesFromAndWhatItTakes) {
  const Kernel kernel("attend", KernelParams({8, 8, 4}), nullptr, CudaSymbol{&kernel},
                      KernelOwner::kUser, KernelReach::kArguments,
                      {.backend = "triton",
                       .file = "attend.py",
                       .hash = "abc",
                       .arguments = "XBLOCK=1024, num_warps=4"});
  const Tensor in = Tensor::Foreign(0x1000, Layout::Of(DType::kF32, {4, 8}));
  const Tensor out = Tensor::Foreign(0x2000, Layout::Of(DType::kBF16, {4}));
  const int n = 4;
  const LaunchShape shape = {.grid = {2}, .block = {64}, .shared_bytes = 16};
  const Arg arguments[] = {In(in), InOut(out), Val(n)};
  const OpIdentity is = IdentityOf({.kind = OpKind::kKernel,
                                    .name = kernel.name(),
                                    .kernel = &kernel,
                                    .shape = &shape,
                                    .arguments = arguments,
                                    .scope = "attention;layer 3"},
                                   "decode");
  EXPECT_EQ(is.name, "attend");
  EXPECT_EQ(is.backend, "triton");
  EXPECT_EQ(is.file, "attend.py");
  EXPECT_EQ(is.hash, "abc");
  EXPECT_EQ(is.arguments, "XBLOCK=1024, num_warps=4");
  EXPECT_EQ(is.input_dims, "[[4, 8], [4], []]");
  EXPECT_EQ(is.input_types, "[\"float\", \"c10::BFloat16\", \"Scalar\"]");
  EXPECT_EQ(is.scope, "attention;layer 3;decode");
  EXPECT_EQ(is.bytes_read, 4 * 8 * 4 + 4 * 2);
  EXPECT_EQ(is.bytes_written, 4 * 2);
  EXPECT_EQ(is.shape.block.x, 64u);
  EXPECT_EQ(is.shape.shared_bytes, 16u);
}

TEST(IdentityLogTest, AKernelWithoutAnOriginHasTheBackendOfItsBodies) {
  const Kernel on_host("f", KernelParams({8}), nullptr, {});
  const Kernel on_cuda("f", KernelParams({8}), nullptr, CudaSource{});
  EXPECT_EQ(IdentityOf({.name = "f", .kernel = &on_host}, "").backend, "host");
  EXPECT_EQ(IdentityOf({.name = "f", .kernel = &on_cuda}, "").backend, "cuda");
}

TEST(IdentityLogTest, ANumberThatDoesNotFitNamesNoOpOfTheBody) {
  IdentityLog log;
  log.BeginSection(1);
  log.Add(Named("f"), std::nullopt);
  const auto is = log.EndSection(4, 1, false, {});
  EXPECT_EQ(is->ops[0].name, "graphtree: copy inputs");
  EXPECT_EQ(is->ops[1].name, kUnknownOp);
  EXPECT_EQ(is->ops[2].name, kUnknownOp);
  EXPECT_EQ(is->ops[3].name, "graphtree: copy kept outputs");
  EXPECT_FALSE(is->is_complete);
  EXPECT_EQ(is->op_count, 4u);
}

TEST(IdentityLogTest, FewerOpsThanWereToldNameNone) {
  IdentityLog log;
  log.BeginSection(0);
  log.Add(Named("f"), std::nullopt);
  log.Add(Named("g"), 5);
  log.Add(Named("h"), 3);
  EXPECT_FALSE(log.EndSection(7, 0, true, {})->is_complete);
  log.BeginSection(0);
  log.Add(Named("f"), 4);
  const auto is = log.EndSection(2, 0, true, {});
  EXPECT_EQ(is->ops.size(), 2u);
  EXPECT_FALSE(is->is_complete);
}

// As a launcher does it: from the moment on when others may have captured it asks for the place.
TEST(IdentityLogTest, NoOpHasTheNameOfAnother) {
  for (uint32_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    std::vector<std::string> graph;
    IdentityLog log;
    const size_t ingest = random() % 3;
    for (size_t i = 0; i < ingest; ++i) graph.push_back("graphtree: copy inputs");
    log.BeginSection(ingest);
    bool may_have_others = false;
    bool all_told = true;
    for (uint32_t i = random() % 20; i > 0; --i) {
      if (random() % 8 == 0) may_have_others = true;
      if (may_have_others && random() % 3 == 0) {
        graph.push_back(kUnknownOp);
        all_told = false;
        continue;
      }
      const std::string name = absl::StrCat("op ", graph.size());
      std::optional<size_t> place;
      if (may_have_others) place = graph.size();
      const bool has_answer = random() % 10 != 0;
      if (place.has_value() && !has_answer) place = IdentityLog::kNotKnown;
      all_told &= place != IdentityLog::kNotKnown;
      log.Add(Named(name), place);
      graph.push_back(place == IdentityLog::kNotKnown ? kUnknownOp : name);
    }
    const size_t egress = random() % 3;
    for (size_t i = 0; i < egress; ++i) graph.push_back("graphtree: copy kept outputs");
    GraphIdentity about;
    about.function = "f";
    about.recording = 7;
    const auto is = log.EndSection(graph.size(), egress, may_have_others, about);
    ASSERT_EQ(is->ops.size(), graph.size());
    for (size_t i = 0; i < graph.size(); ++i) {
      EXPECT_EQ(is->ops[i].op, i);
      EXPECT_EQ(is->ops[i].name, graph[i]) << i;
    }
    EXPECT_EQ(is->is_complete, all_told);
    EXPECT_EQ(is->function, "f");
    EXPECT_EQ(is->recording, 7u);
  }
}

}  // namespace
}  // namespace graphtree
