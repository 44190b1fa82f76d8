// Kernels of all three kinds on a GPU: linked, image, source; and images that are no good.
#include <thread>
#include <vector>

#include "device/cuda/gpu_fixture.h"
#include "device/error.h"

namespace graphtree {
namespace {

constexpr char kPtx[] = R"(
.version 8.0
.target sm_80
.address_size 64
.visible .entry add_ptx(.param .u64 word, .param .u32 by)
{
  .reg .u64 %address;
  .reg .u32 %a, %b;
  ld.param.u64 %address, [word];
  ld.param.u32 %b, [by];
  ld.global.u32 %a, [%address];
  add.u32 %a, %a, %b;
  st.global.u32 [%address], %a;
  ret;
}
)";

constexpr char kSource[] = R"(
namespace deep {
template <typename T>
__global__ void AddTwice(T* word, T by) { *word += 2 * by; }
}
)";

KernelParams WordAndNumber() { return Params<uint32_t*, uint32_t>(); }

class KernelsTest : public GpuTest {
 protected:
  bool HasCompiler() const {
    for (const CapabilityState& state : device_->capabilities()) {
      if (state.capability == Capability::kCompileSource) return state.present;
    }
    return false;
  }
  absl::Status Run(const Kernel& kernel, uint32_t by) {
    return stream_->Launch(kernel, {}, WordArguments(0, by));
  }
};

TEST_F(KernelsTest, Ptx) {
  const Kernel kernel("from ptx", WordAndNumber(), nullptr, CudaImage{kPtx, "add_ptx"});
  EXPECT_THAT(device_->Load(kernel), IsOk());
  EXPECT_THAT(Run(kernel, 7), IsOk());
  EXPECT_EQ(ValueOf(0), 7u);
}

TEST_F(KernelsTest, PtxThatDoesNotAssembleNamesTheLine) {
  std::string broken = kPtx;
  broken.replace(broken.find("add.u32"), 7, "bad.u32");
  const Kernel kernel("broken", WordAndNumber(), nullptr, CudaImage{broken, "add_ptx"});
  const absl::Status status = device_->Load(kernel);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("bad"));
  EXPECT_THAT(AddTo(*stream_, 0, 1), IsOk());
  EXPECT_EQ(ValueOf(0), 1u);
}

TEST_F(KernelsTest, AnEntryThatIsNotThereIsNamed) {
  const Kernel kernel("absent", WordAndNumber(), nullptr, CudaImage{kPtx, "no_such_entry"});
  EXPECT_THAT(device_->Load(kernel), FailsWith(absl::StatusCode::kNotFound, "no_such_entry"));
}

TEST_F(KernelsTest, SourceWithATemplate) {
  if (!HasCompiler()) GTEST_SKIP() << "needs NVRTC; name its folder in GRAPHTREE_NVRTC";
  const Kernel kernel("from source", WordAndNumber(), nullptr,
                      CudaSource{kSource, "deep::AddTwice<unsigned>", {"--std=c++17"}});
  EXPECT_THAT(Run(kernel, 7), IsOk());
  EXPECT_EQ(ValueOf(0), 14u);
}

TEST_F(KernelsTest, SourceIsCompiledAndLoadedInsideACapture) {
  if (!HasCompiler()) GTEST_SKIP() << "needs NVRTC; name its folder in GRAPHTREE_NVRTC";
  const Kernel kernel("in capture", WordAndNumber(), nullptr,
                      CudaSource{kSource, "deep::AddTwice<unsigned>", {}});
  const auto graph = Captured([&] { EXPECT_THAT(Run(kernel, 3), IsOk()); });
  ASSERT_NE(graph, nullptr);
  EXPECT_EQ(graph->ops()[0].name, "in capture");
  auto executable = graph->Instantiate();
  ASSERT_THAT(executable, IsOk());
  EXPECT_THAT((*executable)->PatchKernel(0, kernel, {}, WordArguments(0, 4)), IsOk());
  EXPECT_THAT((*executable)->Launch(*stream_), IsOk());
  EXPECT_EQ(ValueOf(0), 8u);
}

TEST_F(KernelsTest, SourceThatDoesNotCompileCarriesTheCompilersLines) {
  if (!HasCompiler()) GTEST_SKIP() << "needs NVRTC; name its folder in GRAPHTREE_NVRTC";
  const Kernel kernel("typo", WordAndNumber(), nullptr,
                      CudaSource{"__global__ void f(int* p) { *p = undefined_thing; }", "f", {}});
  const absl::Status status = Run(kernel, 1);
  EXPECT_THAT(status, FailsWith(absl::StatusCode::kInvalidArgument, "undefined_thing"));
  EXPECT_THAT(status, FailsWith(absl::StatusCode::kInvalidArgument, "typo.cu(1)"));
}

TEST_F(KernelsTest, ImagesThatAreNoGoodAreRefused) {
  for (const std::string& bytes : {std::string(), std::string("nonsense"), std::string(4096, 'x'),
                                   std::string("\177ELF") + std::string(200, '\0')}) {
    const Kernel kernel("corrupt", WordAndNumber(), nullptr, CudaImage{bytes, "f"});
    EXPECT_THAT(device_->Load(kernel), FailsWith(absl::StatusCode::kInvalidArgument, "corrupt"));
  }
  EXPECT_THAT(AddTo(*stream_, 0, 1), IsOk());
}

TEST_F(KernelsTest, MoreThan48KiBOfSharedMemory) {
  const Kernel kernel("use_shared", Params<uint32_t*>(), nullptr, CudaSymbol{kUseSharedSymbol});
  const std::vector<Argument> arguments = {Argument::Out(Word(0))};
  LaunchShape shape;
  for (uint32_t bytes : {1024u, 65536u, 98304u, 512u}) {
    shape.shared_bytes = bytes;
    EXPECT_THAT(stream_->Launch(kernel, shape, arguments), IsOk());
    EXPECT_EQ(ValueOf(0), bytes);
  }
  shape.shared_bytes = 64 << 20;
  EXPECT_FALSE(stream_->Launch(kernel, shape, arguments).ok());
}

TEST_F(KernelsTest, AKernelAtTheAddressOfADeadOneIsNotTakenForIt) {
  for (int i = 0; i < 3; ++i) {
    const Kernel dead("dead", WordAndNumber(), nullptr, CudaImage{kPtx, "add_ptx"});
    EXPECT_THAT(Run(dead, 1), IsOk());
  }
  const Kernel shared("use_shared", Params<uint32_t*>(), nullptr, CudaSymbol{kUseSharedSymbol});
  LaunchShape shape;
  shape.shared_bytes = 256;
  EXPECT_THAT(stream_->Launch(shared, shape, std::vector<Argument>{Argument::Out(Word(1))}),
              IsOk());
  EXPECT_EQ(ValueOf(0), 3u);
  EXPECT_EQ(ValueOf(1), 256u);
}

TEST_F(KernelsTest, ManyThreadsLoadOneKernel) {
  const Kernel kernel("shared kernel", WordAndNumber(), nullptr, CudaImage{kPtx, "add_ptx"});
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) EXPECT_THAT(Run(kernel, 1), IsOk());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ValueOf(0), 400u);
}

}  // namespace
}  // namespace graphtree
