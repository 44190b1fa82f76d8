// A real library inside a body: matrix products of cuBLAS on the raw stream, in eager runs, in a
// recording and in replays whose inputs have moved. The same bytes in all of them.
#include <bit>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "device/cuda/native.h"
#include "tests/gpu/cublas.h"
#include "tests/tree/tree_fixture.h"

namespace graphtree {
namespace {

// Whole numbers small enough that every order of adding them gives the same float.
std::vector<float> Matrix(uint32_t seed, int64_t elements) {
  std::vector<float> matrix;
  for (const uint32_t word : Pattern(seed, static_cast<size_t>(elements))) {
    matrix.push_back(static_cast<float>(static_cast<int>(word % 7) - 3));
  }
  return matrix;
}

Words BitsOf(const std::vector<float>& floats) {
  Words words;
  for (const float value : floats) words.push_back(std::bit_cast<uint32_t>(value));
  return words;
}

std::vector<float> FloatsOf(const Words& words) {
  std::vector<float> floats;
  for (const uint32_t word : words) floats.push_back(std::bit_cast<float>(word));
  return floats;
}

class CublasTest : public TreeTest {
 protected:
  static constexpr int kM = 48, kN = 32, kK = 64;
  static constexpr uint64_t kWorkspaceBytes = 32 << 20;

  void SetUp() override {
    TreeTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    auto blas = Cublas::Load();
    if (!blas.ok()) GTEST_SKIP() << "needs cuBLAS: " << blas.status().message();
    blas_ = *std::move(blas);
    OpenTree({.patch_bytes = 1});
    ASSERT_OK_AND_ASSIGN(range_, memory().Reserve(kWorkspaceBytes, {}));
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<PhysicalMemory> physical,
                         memory().Create(kWorkspaceBytes));
    ASSERT_THAT(memory().Map(range_.base, *physical), IsOk());
    ASSERT_THAT(memory().SetAccess(range_, MemoryAccess::kReadWrite), IsOk());
    workspace_ = tree().RegisterWorkspace("cuBLAS", range_);
    eager_product_ = Register("eager", {.exclude = true}, Multiplying());
  }
  void TearDown() override {
    CloseTree();
    blas_.reset();
    if (!range_.empty()) {
      EXPECT_THAT(a().Synchronize(), IsOk());
      EXPECT_THAT(memory().Unmap(range_), IsOk());
      EXPECT_THAT(memory().Release(range_), IsOk());
    }
    TreeTest::TearDown();
  }

  // a, b -> a b; with three inputs the product is added to the third one, in place.
  Body Multiplying() {
    return [this](Launcher& on, Values& inputs) {
      const Tensor left = Tensor::From(inputs[0]), right = Tensor::From(inputs[1]);
      const bool adds = inputs.size() > 2;
      const Tensor out =
          adds ? Tensor::From(inputs[2]) : on.Empty(Layout::Of(DType::kF32, {kN, kM}));
      const AddressRange workspace = on.Workspace(workspace_);
      const auto stream = NativeOf(on.stream());
      on.Fail(stream.status());
      if (!on.ok()) return Values{};
      on.Reads(left);
      on.Reads(right);
      if (adds) on.Reads(out);
      on.Writes(out);
      on.Fail(blas_->Multiply(*stream, workspace,
                              {.m = kM, .n = kN, .k = kK, .a = left.word(), .b = right.word(),
                               .c = out.word(), .beta = adds ? 1.0f : 0.0f}));
      return Values{out};
    };
  }
  Tensor Left(uint32_t seed) { return GivenMatrix(Matrix(seed, kM * kK), {kK, kM}); }
  Tensor Right(uint32_t seed) { return GivenMatrix(Matrix(seed, kK * kN), {kN, kK}); }
  Tensor GivenMatrix(const std::vector<float>& matrix, std::vector<int64_t> sizes) {
    return Tensor::Foreign(NewWordsWith(BitsOf(matrix)).base, Layout::Of(DType::kF32, sizes));
  }
  static std::vector<float> Expected(uint32_t left_seed, uint32_t right_seed) {
    const std::vector<float> left = Matrix(left_seed, kM * kK), right = Matrix(right_seed, kK * kN);
    std::vector<float> product(kM * kN, 0);
    for (int column = 0; column < kN; ++column) {
      for (int i = 0; i < kK; ++i) {
        for (int row = 0; row < kM; ++row) {
          product[column * kM + row] += left[i * kM + row] * right[column * kK + i];
        }
      }
    }
    return product;
  }

  // A run that is never recorded. The library loads a kernel when it picks it first, which no
  // capture need allow: a program warms it up with whatever makes it pick another.
  Words Eagerly(const Tensor& left, const Tensor& right) {
    return Read(CallInSteps(1, eager_product_, {left, right})[0]);
  }

  std::unique_ptr<Cublas> blas_;
  WorkspaceId workspace_ = 0;
  AddressRange range_;
  FunctionId eager_product_ = 0;
};

// Only where there is a GPU: the library knows no other device.
std::vector<DeviceCase> CudaCases() {
  std::vector<DeviceCase> cases;
  for (const DeviceCase& device_case : DeviceCases()) {
    if (device_case.may_be_missing) cases.push_back(device_case);
  }
  return cases;
}
INSTANTIATE_TEST_SUITE_P(Devices, CublasTest, testing::ValuesIn(CudaCases()),
                         [](const testing::TestParamInfo<DeviceCase>& info) {
                           return info.param.name;
                         });

// The handle is made in the first run. Where the library's kernels take the inputs is found by
// recording twice, and a replay patches it.
TEST_P(CublasTest, AProductFollowsItsInputs) {
  const FunctionId product = Register("product", {}, Multiplying());
  const Tensor lefts[] = {Left(1), Left(2), Left(3)};
  const Tensor rights[] = {Right(4), Right(5), Right(6)};
  for (uint32_t turn = 0; turn < 9; ++turn) {
    const uint32_t left = turn % 3, right = turn / 3;
    const Words out = Read(CallInSteps(1, product, {lefts[left], rights[right]})[0]);
    EXPECT_EQ(out, Eagerly(lefts[left], rights[right])) << turn;
    EXPECT_EQ(FloatsOf(out), Expected(1 + left, 4 + right)) << turn;
  }
  EXPECT_EQ(blas_->handles(), 1);
  EXPECT_EQ(graphs(), 1u);
  EXPECT_EQ(replays(), 7u);
  EXPECT_EQ(eager(), 9u) << "the excluded one's: " << (warnings().empty() ? "" : warnings()[0]);
  EXPECT_EQ(tree().stats().patched_inputs, 2u);
}

// The library picks its kernels by how inputs are aligned: what was recorded with an aligned one is
// not launched with another, unless that one is copied to where the aligned one was.
TEST_P(CublasTest, AnInputThatIsLessAligned) {
  const FunctionId product = Register("product", {}, Multiplying());
  std::vector<float> memory = Matrix(1, kM * kK);
  memory.insert(memory.begin(), 0);  // one float in front, so that it starts behind 4 bytes
  const Layout* layout = Layout::Of(DType::kF32, {kK, kM});
  const Tensor aligned = Left(1);
  const Tensor crooked = Tensor::Foreign(NewWordsWith(BitsOf(memory)).base + 4, layout);
  const Tensor right = Right(4);
  const Words expected = Eagerly(crooked, right);
  EXPECT_EQ(FloatsOf(expected), Expected(1, 4));
  for (const bool is_crooked : {false, false, false, true, true, false, true}) {
    const Words out = Read(CallInSteps(1, product, {is_crooked ? crooked : aligned, right})[0]);
    EXPECT_EQ(out, expected) << (is_crooked ? "crooked" : "aligned");
  }
  EXPECT_EQ(reasons(Reason::kAlignmentDiffers), 1u);
  EXPECT_EQ(graphs(), 2u);
  EXPECT_EQ(eager(), 1u) << "the excluded one's: " << (warnings().empty() ? "" : warnings()[0]);
}

// The library writes to memory of the caller's, which moves.
TEST_P(CublasTest, AProductThatIsAddedInPlace) {
  const FunctionId product = Register("product", {}, Multiplying());
  const Tensor left = Left(1), right = Right(4);
  const std::vector<float> added = Expected(1, 4);
  for (uint32_t step = 0; step < 6; ++step) {
    std::vector<float> sum = Matrix(10 + step, kM * kN);
    const Tensor out = GivenMatrix(sum, {kN, kM});
    const Values made = CallInSteps(1, product, {left, right, out});
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += added[i];
    EXPECT_EQ(FloatsOf(Read(out)), sum) << step;
    EXPECT_EQ(made[0].word(), out.word());
  }
  EXPECT_EQ(replays(), 4u);
  EXPECT_EQ(eager(), 0u) << (warnings().empty() ? "" : warnings()[0]);
}

// The library is given a larger workspace: what points to the old one is recorded again.
TEST_P(CublasTest, AWorkspaceThatGrew) {
  const FunctionId product = Register("product", {}, Multiplying());
  const Tensor left = Left(1), right = Right(4);
  EXPECT_EQ(FloatsOf(Eagerly(left, right)), Expected(1, 4));
  ASSERT_THAT(tree().MoveWorkspace(workspace_, {range_.base, kWorkspaceBytes / 8}), IsOk());
  for (const uint64_t recordings : {1, 2}) {
    for (int step = 0; step < 3; ++step) {
      EXPECT_EQ(FloatsOf(Read(CallInSteps(1, product, {left, right})[0])), Expected(1, 4));
    }
    EXPECT_EQ(graphs(), recordings);
    ASSERT_THAT(tree().MoveWorkspace(workspace_, range_), IsOk());
  }
  EXPECT_EQ(reasons(Reason::kWorkspaceMoved), 1u);
  EXPECT_EQ(eager(), 1u) << "the excluded one's: " << (warnings().empty() ? "" : warnings()[0]);
}

}  // namespace
}  // namespace graphtree
