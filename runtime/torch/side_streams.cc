// A list of streams, by tree.
#include "runtime/torch/side_streams.h"

#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

#include <c10/core/Event.h>

namespace graphtree::torch_adaptor {
namespace {

struct Noted {
  std::atomic<bool> any{false};
  std::mutex mutex;
  std::vector<std::pair<const HoldList*, c10::cuda::CUDAStream>> streams;
};
Noted& All() {
  static Noted* const noted = new Noted;  // never destroyed: storages may go at exit
  return *noted;
}

}  // namespace

void NoteSideStream(const HoldList* tree, c10::cuda::CUDAStream side) {
  const std::lock_guard<std::mutex> lock(All().mutex);
  All().any.store(true);
  for (const auto& [of, stream] : All().streams) {
    if (of == tree && stream == side) return;
  }
  All().streams.emplace_back(tree, side);
}

void AwaitSideStreams(const HoldList* tree, c10::cuda::CUDAStream stream) {
  if (!All().any.load(std::memory_order_relaxed)) return;
  const std::lock_guard<std::mutex> lock(All().mutex);
  std::vector<std::pair<const HoldList*, c10::cuda::CUDAStream>> others;
  for (const auto& [of, side] : All().streams) {
    if (of != tree) {
      others.emplace_back(of, side);
    } else if (side != stream) {
      c10::Event event(c10::DeviceType::CUDA);
      event.record(side.unwrap());
      event.block(stream.unwrap());
    }
  }
  All().any.store(!others.empty());
  All().streams = std::move(others);
}

}  // namespace graphtree::torch_adaptor
