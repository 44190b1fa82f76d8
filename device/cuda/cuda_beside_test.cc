// Beside other users of the GPU in the same process: code that calls the Runtime directly, as
// PyTorch and cuBLAS do.
#include <atomic>
#include <thread>
#include <vector>

#include "device/cuda/gpu_fixture.h"
#include "device/error.h"

namespace graphtree {
namespace {

// A stream of somebody else's.
class Foreign {
 public:
  Foreign() { EXPECT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess); }
  ~Foreign() { EXPECT_EQ(cudaStreamDestroy(stream_), cudaSuccess) << "it was destroyed before"; }
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

class BesideTest : public GpuTest {};

TEST_F(BesideTest, RawWorkAndOursShareAStreamsOrder) {
  Foreign foreign;
  auto adopted = device_->AdoptStream(foreign.get());
  ASSERT_THAT(adopted, IsOk());
  EXPECT_EQ(*NativeOf(**adopted), foreign.get());
  EXPECT_EQ(RawAddWord(Raw(0), 1, foreign.get()), cudaSuccess);
  EXPECT_THAT(AddTo(**adopted, 0, 10), IsOk());
  EXPECT_EQ(RawAddWord(Raw(0), 100, foreign.get()), cudaSuccess);
  EXPECT_THAT((*adopted)->Synchronize(), IsOk());
  EXPECT_EQ(ValueOf(0), 111u);
}

TEST_F(BesideTest, OurLaunchesGoIntoTheCallersCapture) {
  Foreign foreign;
  auto adopted = device_->AdoptStream(foreign.get());
  ASSERT_THAT(adopted, IsOk());
  ASSERT_EQ(cudaStreamBeginCapture(foreign.get(), cudaStreamCaptureModeThreadLocal), cudaSuccess);
  auto info = (*adopted)->Capture();
  ASSERT_THAT(info, IsOk());
  EXPECT_EQ(info->state, CaptureState::kActive);
  EXPECT_FALSE(info->ours);
  EXPECT_NE(info->id, 0u);
  EXPECT_EQ(device_->open_captures(), 0);
  EXPECT_EQ(RawAddWord(Raw(0), 1, foreign.get()), cudaSuccess);
  EXPECT_THAT(AddTo(**adopted, 0, 10), IsOk());
  auto ops = (*adopted)->CapturedOps();
  ASSERT_THAT(ops, IsOk());
  ASSERT_EQ(ops->size(), 2u);
  EXPECT_EQ((*ops)[1].name, "add_word");
  ASSERT_EQ((*ops)[0].parameters.size(), 2u);
  auto frontier = (*adopted)->CaptureFrontier();
  ASSERT_THAT(frontier, IsOk());
  EXPECT_EQ(frontier->size(), 1u);
  const absl::Status refused = (*adopted)->EndCapture().status();
  EXPECT_EQ(ErrorCodeOf(refused), ErrorCode::kCaptureUnmatched) << refused;
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(foreign.get(), &graph), cudaSuccess) << "the refusal spoilt it";
  cudaGraphExec_t exec = nullptr;
  ASSERT_EQ(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(exec, foreign.get()), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(foreign.get()), cudaSuccess);
  EXPECT_EQ(ValueOf(0), 11u);
  EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
}

TEST_F(BesideTest, RawLaunchesGoIntoOurCaptureAndCanBePatched) {
  const auto graph = Captured([&] {
    EXPECT_EQ(RawAddWord(Raw(0), 1, RawStream()), cudaSuccess);
    EXPECT_THAT(AddTo(*stream_, 0, 10), IsOk());
  });
  ASSERT_NE(graph, nullptr);
  ASSERT_EQ(graph->ops().size(), 2u);
  ASSERT_EQ(graph->ops()[0].argument_bytes.size(), 12u);
  auto executable = graph->Instantiate();
  ASSERT_THAT(executable, IsOk());
  EXPECT_THAT((*executable)->PatchKernel(0, add_, {}, WordArguments(0, 2)), IsOk());
  EXPECT_THAT((*executable)->Launch(*stream_), IsOk());
  EXPECT_EQ(ValueOf(0), 12u);
}

TEST_F(BesideTest, TheCurrentDeviceIsLeftAsItWas) {
  int before = -1;
  ASSERT_EQ(cudaGetDevice(&before), cudaSuccess);
  EXPECT_THAT(AddTo(*stream_, 0, 1), IsOk());
  const auto graph = Captured([&] { EXPECT_THAT(AddTo(*stream_, 0, 1), IsOk()); });
  int after = -1;
  EXPECT_EQ(cudaGetDevice(&after), cudaSuccess);
  EXPECT_EQ(after, before);
}

TEST_F(BesideTest, AThreadWithoutAContextHasNoneAfterwards) {
  const auto graph = Captured([&] { EXPECT_THAT(AddTo(*stream_, 0, 1), IsOk()); });
  auto executable = graph->Instantiate();
  ASSERT_THAT(executable, IsOk());
  std::thread([&] {
    const auto current = [] {
      void* entry = nullptr;
      cudaDriverEntryPointQueryResult found;
      EXPECT_EQ(cudaGetDriverEntryPointByVersion("cuCtxGetCurrent", &entry, 12000,
                                                 cudaEnableLegacyStream, &found),
                cudaSuccess);
      CUcontext context = nullptr;
      reinterpret_cast<CUresult (*)(CUcontext*)>(entry)(&context);
      return context;
    };
    const CUcontext before = current();
    EXPECT_THAT((*executable)->Launch(*stream_), IsOk());
    EXPECT_THAT((*executable)->PatchKernel(0, add_, {}, WordArguments(0, 5)), IsOk());
    EXPECT_THAT(AddTo(*stream_, 0, 1), IsOk());
    EXPECT_THAT(stream_->Synchronize(), IsOk());
    EXPECT_THAT(device_->memory().Info(), IsOk());
    EXPECT_EQ(current(), before);
  }).join();
  EXPECT_EQ(ValueOf(0), 2u);
}

TEST_F(BesideTest, OurFailuresLeaveNoErrorForOthersToFind) {
  EXPECT_FALSE(device_->memory().Create(uint64_t{1} << 50).ok());
  EXPECT_FALSE(device_->memory().AllocateHost(uint64_t{1} << 60).ok());
  auto one = device_->NewEvent({});
  auto two = device_->NewEvent({});
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_FALSE((*one)->NanosecondsSince(**two).ok()) << "neither has timing";
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

// In global mode CUDA forbids "unsafe" calls to every thread of the process. Ours still work, and
// do not break the other's capture.
TEST_F(BesideTest, AnotherUsersGlobalCaptureStopsNothing) {
  Foreign foreign;
  ASSERT_EQ(cudaStreamBeginCapture(foreign.get(), cudaStreamCaptureModeGlobal), cudaSuccess);
  std::thread([&] {
    auto event = device_->NewEvent({});
    ASSERT_THAT(event, IsOk());
    EXPECT_THAT(stream_->Record(**event), IsOk());
    EXPECT_THAT((*event)->Synchronize(), IsOk());
    EXPECT_THAT((*event)->IsDone(), IsOk());
    EXPECT_THAT(device_->memory().AllocateHost(4096), IsOk());
    const Kernel fresh("fresh", Params<uint32_t*, uint32_t>(), nullptr,
                       CudaSymbol{kAddWordSymbol});
    EXPECT_THAT(device_->Load(fresh), IsOk());
    auto other = device_->NewStream();
    ASSERT_THAT(other, IsOk());
    EXPECT_THAT((*other)->BeginCapture(CaptureMode::kThreadLocal), IsOk());
    EXPECT_THAT(AddTo(**other, 0, 1), IsOk());
    auto graph = (*other)->EndCapture();
    ASSERT_THAT(graph, IsOk());
    auto executable = (*graph)->Instantiate();
    ASSERT_THAT(executable, IsOk());
    EXPECT_THAT((*executable)->Launch(*stream_), IsOk());
    EXPECT_THAT(stream_->Synchronize(), IsOk());
  }).join();
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(foreign.get(), &graph), cudaSuccess) << "we broke it";
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  EXPECT_EQ(ValueOf(0), 1u);
}

TEST_F(BesideTest, TheLegacyStreamCanBeAdopted) {
  auto legacy = device_->AdoptStream(nullptr);
  ASSERT_THAT(legacy, IsOk());
  EXPECT_THAT(AddTo(**legacy, 0, 3), IsOk());
  EXPECT_THAT((*legacy)->Synchronize(), IsOk());
  EXPECT_EQ(ValueOf(0), 3u);
}

TEST_F(BesideTest, AStreamOfAnotherGpuIsRefused) {
  int count = 0;
  ASSERT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
  if (count < 2) GTEST_SKIP() << "needs two GPUs, this machine has " << count;
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  {
    Foreign foreign;
    const absl::Status status = device_->AdoptStream(foreign.get()).status();
    EXPECT_EQ(ErrorCodeOf(status), ErrorCode::kInvalidHandle) << status;
    EXPECT_THAT(AddTo(*stream_, 0, 3), IsOk()) << "while another device is current";
    int current = -1;
    EXPECT_EQ(cudaGetDevice(&current), cudaSuccess);
    EXPECT_EQ(current, 1);
  }
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
}

}  // namespace
}  // namespace graphtree
