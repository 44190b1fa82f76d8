// Opening, calling, reading.
#include "tests/tree/tree_fixture.h"

#include <utility>

#include "absl/types/span.h"
#include "tests/kernels/launches.h"

namespace graphtree {

void TreeTest::SetUp() {
  ConformanceTest::SetUp();
  if (IsSkipped() || HasFatalFailure()) return;
  OpenTree({});
}

void TreeTest::TearDown() {
  tree_.reset();
  ConformanceTest::TearDown();
}

void TreeTest::OpenTree(TreeOptions options) {
  if (options.pool_bytes == 0) options.pool_bytes = 64 << 20;
  if (!options.warn) {
    options.warn = [this](const std::string& text) { warnings_.push_back(text); };
  }
  tree_.reset();
  warnings_.clear();
  ASSERT_OK_AND_ASSIGN(tree_, Tree::Create(device(), options));
}

Values TreeTest::Call(FunctionId function, Values inputs) {
  Values outputs;
  const absl::Status status = tree_->Run(function, absl::MakeSpan(inputs), a(), &outputs);
  EXPECT_THAT(status, IsOk());
  if (!status.ok()) outputs.assign(kMostOutputs, Value());
  return outputs;
}

absl::Status TreeTest::Refusal(FunctionId function, Values inputs) {
  Values outputs;
  return tree_->Run(function, absl::MakeSpan(inputs), a(), &outputs);
}

Values TreeTest::CallInSteps(int steps, FunctionId function, const Values& inputs) {
  Values outputs;
  for (int step = 0; step < steps; ++step) {
    NewStep();
    outputs = Call(function, inputs);
  }
  return outputs;
}

Tensor TreeTest::Given(uint32_t seed, int64_t words) {
  return Tensor::Foreign(NewWordsWith(Pattern(seed, words)).base, WordsLayout(words));
}

Tensor TreeTest::TwiceOnSide(Launcher& on, const Value& x) {
  const Tensor in = Tensor::From(x);
  const Tensor out = on.Empty(in.layout());
  if (!on.ok()) return Tensor();
  on.Fail(on.stream().Record(event()));
  on.Fail(b().Wait(event()));
  on.Reads(in);
  on.Writes(out);
  on.Fail(Add(b(), out.raw_bytes(), in.raw_bytes(), in.raw_bytes()));
  return out;
}

void TreeTest::JoinSide(Launcher& on) {
  if (!on.ok()) return;
  on.Fail(b().Record(other_event()));
  on.Fail(on.stream().Wait(other_event()));
}

Words TreeTest::Read(const Value& value) {
  EXPECT_TRUE(value.is_tensor());
  if (!value.is_tensor()) return {};
  const absl::StatusOr<AddressRange> bytes = Tensor::From(value).bytes();
  EXPECT_THAT(bytes, IsOk());
  EXPECT_THAT(a().Synchronize(), IsOk());
  return bytes.ok() ? ConformanceTest::Read(*bytes) : Words();
}

}  // namespace graphtree
