// Exchanges the generator's state, as the installed torch keeps it.
#include "runtime/torch/generator.h"

#include <mutex>

#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <ATen/ops/from_blob.h>
#include <c10/cuda/CUDAGraphsC10Utils.h>

#include "runtime/torch/layouts.h"

namespace graphtree::torch_adaptor {
namespace {

at::CUDAGeneratorImpl& GeneratorOf(c10::DeviceIndex device) {
  return *static_cast<at::CUDAGeneratorImpl*>(
      at::cuda::detail::getDefaultCUDAGenerator(device).unsafeGetGeneratorImpl());
}

at::Tensor WordAt(uint64_t word, c10::DeviceIndex device) {
  const c10::Device on(at::kCUDA, device);
  return at::from_blob(AddressOf(word), {1}, [](void*) {},
                       at::TensorOptions().dtype(at::kLong).device(on), on);
}

}  // namespace

RandomPlace TorchRandomPlace(c10::DeviceIndex device) {
  at::CUDAGeneratorImpl& generator = GeneratorOf(device);
  const std::lock_guard<std::mutex> lock(generator.mutex_);
  return {generator.current_seed(), generator.philox_offset_per_thread()};
}

void SetTorchRandomOffset(c10::DeviceIndex device, uint64_t offset) {
  at::CUDAGeneratorImpl& generator = GeneratorOf(device);
  const std::lock_guard<std::mutex> lock(generator.mutex_);
  generator.set_philox_offset_per_thread(offset);
}

#if defined(GRAPHTREE_TORCH_HAS_capture_states_)

// The member that has the states is private, and an explicit instantiation may name it.
struct GeneratorMember {
  using type = c10::intrusive_ptr<at::CUDAGeneratorState> at::CUDAGeneratorImpl::*;
  friend type MemberOf(GeneratorMember);
};
template <typename Tag, typename Tag::type member>
struct Opened {
  friend typename Tag::type MemberOf(Tag) { return member; }
};
template struct Opened<GeneratorMember, &at::CUDAGeneratorImpl::state_>;

struct CapturedRandom::State {
  c10::intrusive_ptr<at::CUDAGeneratorState> whole;
  c10::intrusive_ptr<at::CUDAGeneratorCaptureState> capture;
  unsigned long long id = 0;
};

CapturedRandom::CapturedRandom(c10::DeviceIndex device, uint64_t words, uint64_t offset,
                               c10::cuda::CUDAStream stream)
    : device_(device), offset_(offset), state_(std::make_unique<State>()) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  C10_CUDA_CHECK(cudaStreamGetCaptureInfo(stream.stream(), &status, &state_->id));
  state_->capture = c10::make_intrusive<at::CUDAGeneratorCaptureState>();
  state_->capture->rng_state_seed_extragraph_ = WordAt(words, device);
  state_->capture->rng_state_offset_extragraph_ = WordAt(words + 8, device);
  state_->capture->offset_intragraph_ = offset;
  at::CUDAGeneratorImpl& generator = GeneratorOf(device);
  const std::lock_guard<std::mutex> lock(generator.mutex_);
  state_->whole = generator.*MemberOf(GeneratorMember());
  const std::lock_guard<std::mutex> states(state_->whole->capture_states_mutex_);
  state_->whole->capture_states_[state_->id] = state_->capture;
}

uint64_t CapturedRandom::End() {
  if (state_ == nullptr) return 0;
  const std::unique_ptr<State> state = std::move(state_);
  const std::lock_guard<std::mutex> states(state->whole->capture_states_mutex_);
  state->whole->capture_states_.erase(state->id);
  return state->capture->offset_intragraph_ - offset_;
}

#else

struct CapturedRandom::State {
  c10::intrusive_ptr<c10::GeneratorImpl> before;
  c10::intrusive_ptr<at::CUDAGeneratorState> capture;
};

CapturedRandom::CapturedRandom(c10::DeviceIndex device, uint64_t words, uint64_t offset,
                               c10::cuda::CUDAStream)
    : device_(device), offset_(offset), state_(std::make_unique<State>()) {
  state_->capture = c10::make_intrusive<at::CUDAGeneratorState>();
  state_->capture->capturing_ = true;
  state_->capture->offset_intragraph_ = offset;
  state_->capture->seed_extragraph_ = WordAt(words, device);
  state_->capture->offset_extragraph_ = WordAt(words + 8, device);
  at::CUDAGeneratorImpl& generator = GeneratorOf(device);
  const std::lock_guard<std::mutex> lock(generator.mutex_);
  state_->before = generator.graphsafe_get_state();
  generator.graphsafe_set_state(
      c10::make_intrusive<at::CUDAGeneratorImpl>(device, state_->capture));
}

uint64_t CapturedRandom::End() {
  if (state_ == nullptr) return 0;
  const std::unique_ptr<State> state = std::move(state_);
  at::CUDAGeneratorImpl& generator = GeneratorOf(device_);
  const std::lock_guard<std::mutex> lock(generator.mutex_);
  state->capture->capturing_ = false;
  generator.graphsafe_set_state(state->before);
  return state->capture->offset_intragraph_ - offset_;
}

#endif

CapturedRandom::~CapturedRandom() { End(); }

}  // namespace graphtree::torch_adaptor
