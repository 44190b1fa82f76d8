// Opening, stepping, reading.
#include "tests/runtime/runtime_fixture.h"

#include <chrono>
#include <numeric>
#include <thread>
#include <utility>

#include "device/base/check.h"
#include "graphs/launcher.h"
#include "tests/kernels/kernels.h"
#include "tests/kernels/launches.h"

namespace graphtree {

void RuntimeTest::SetUp() {
  ConformanceTest::SetUp();
  if (IsSkipped() || HasFatalFailure()) return;
  OpenRuntime({});
}

void RuntimeTest::TearDown() {
  outputs_.clear();
  runtime_.reset();
  ConformanceTest::TearDown();
}

void RuntimeTest::OpenRuntime(RuntimeOptions options) {
  if (options.tree.pool_bytes == 0) options.tree.pool_bytes = 64 << 20;
  if (!options.tree.warn) {
    options.tree.warn = [this](const std::string& text) { warnings_.push_back(text); };
  }
  outputs_.clear();
  runtime_.reset();
  warnings_.clear();
  ASSERT_OK_AND_ASSIGN(runtime_, Runtime::Create(device(), options));
}

Values RuntimeTest::DoubleBody(Launcher& on, const ProgramInputs& in) {
  const Tensor& ids = in.slot(0);
  const Tensor out = on.Empty(DType::kI32, {in.key().tokens});
  if (!on.ok()) return {};
  on.Launch(AddKernel(), TestShape(),
            {Out(out), In(ids), In(ids), Val(static_cast<uint32_t>(in.key().tokens))});
  return {out};
}

std::vector<Key> RuntimeTest::KeysOf(const std::vector<int32_t>& tokens) {
  std::vector<Key> keys;
  for (const int32_t count : tokens) keys.push_back({.tokens = count});
  return keys;
}

ProgramId RuntimeTest::Add(ProgramOptions options, const std::vector<Key>& keys, Mode mode) {
  const absl::StatusOr<ProgramId> program = runtime().AddProgram(std::move(options));
  EXPECT_THAT(program, IsOk());
  if (!program.ok()) return {};
  EXPECT_THAT(runtime().AddShapes(*program, keys, mode), IsOk());
  return *program;
}

ProgramOptions RuntimeTest::DoubleOptions(std::string name) {
  ProgramOptions options;
  options.name = std::move(name);
  options.slots = {
      {.name = "ids", .type = DType::kI32, .sizes = {kMost}, .rows = KeyField::kTokens}};
  options.body = DoubleBody;
  return options;
}

ProgramId RuntimeTest::AddDouble(const std::vector<int32_t>& tokens, std::string name) {
  return Add(DoubleOptions(std::move(name)), KeysOf(tokens));
}

Ids RuntimeTest::IdsFrom(int32_t first, size_t count) {
  Ids ids(count);
  std::iota(ids.begin(), ids.end(), first);
  return ids;
}

Ids RuntimeTest::Doubled(const Ids& ids, size_t padded) {
  Ids doubled = ids;
  for (int32_t& id : doubled) id *= 2;
  doubled.resize(padded);
  return doubled;
}

Why RuntimeTest::StepWith(ProgramId program, const Ids& ids, StepOptions options) {
  const Key key = {.tokens = static_cast<int32_t>(ids.size())};
  absl::StatusOr<Step> step = runtime().Begin(program, key, a(), options);
  EXPECT_THAT(step, IsOk());
  if (!step.ok()) return Why::kFailed;
  EXPECT_THAT(step->Stage(0, HostRows{ids.data(), DType::kI32, key.tokens}), IsOk());
  EXPECT_THAT(step->Run(&outputs_), IsOk());
  description_ = step->Describe();
  return step->why();
}

Ids RuntimeTest::LastOutput() { return outputs_.empty() ? Ids() : ReadIds(outputs_[0]); }

Ids RuntimeTest::ReadIds(const Value& value) {
  EXPECT_TRUE(value.is_tensor());
  if (!value.is_tensor()) return {};
  EXPECT_THAT(a().Synchronize(), IsOk());
  const absl::StatusOr<AddressRange> bytes = Tensor::From(value).bytes();
  EXPECT_THAT(bytes, IsOk());
  if (!bytes.ok()) return {};
  Ids ids;
  for (uint32_t word : Read(*bytes)) ids.push_back(static_cast<int32_t>(word));
  return ids;
}

void RuntimeTest::EndAfterHalfAMinute(const std::atomic<bool>& is_over) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!is_over) {
    GRAPHTREE_CHECK(std::chrono::steady_clock::now() < end) << "two bodies wait for one another";
    std::this_thread::yield();
  }
}

}  // namespace graphtree
