// Memory for eager steps: one block, dealt out from the front and started over at every step. It is
// the cheapest allocator there can be, so that eager runs are held to their launches and not to
// their allocator.
//
//   | x | norm | qkv | mixed | ...            | free
//   0                                  used
//
// Storages are kept and used again, so a step in its stride allocates nothing. Thread rule: one
// thread, like the launcher that it serves.
#ifndef GRAPHTREE_TOOLS_DEMO_MODEL_STEP_ARENA_H_
#define GRAPHTREE_TOOLS_DEMO_MODEL_STEP_ARENA_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "device/address.h"
#include "device/stream.h"
#include "graphs/launcher.h"
#include "graphs/storage.h"

namespace graphtree::demo {

// Enough for the largest step of the model.
inline constexpr uint64_t kStepArenaBytes = 16 << 20;

class StepArena : public BodyAllocator, private StorageOwner {
 public:
  explicit StepArena(AddressRange range) : range_(range) {}
  // REQUIRES: no tensor from it is held.
  ~StepArena() override;

  absl::StatusOr<Storage*> Allocate(uint64_t bytes, Stream& stream) override;
  // Nothing is placed again within a step.
  absl::StatusOr<Storage*> Scratch(uint64_t bytes, Stream& stream) override {
    return Allocate(bytes, stream);
  }
  void EndScratch(Storage*) override {}
  absl::Status UseOn(Storage*, Stream&) override { return absl::OkStatus(); }

  // REQUIRES: no tensor from it is held, and the stream's order keeps what ran before apart from
  // what runs next.
  void StartOver();

 private:
  absl::StatusOr<AddressRange> Place(uint64_t bytes);
  void Unreferenced(Storage* storage) override;
  std::string WhyStale(const Storage& storage) const override;

  const AddressRange range_;
  uint64_t used_ = 0;
  uint64_t held_ = 0;
  std::vector<std::unique_ptr<Storage>> storages_;
  std::vector<Storage*> spare_;
};

}  // namespace graphtree::demo

#endif  // GRAPHTREE_TOOLS_DEMO_MODEL_STEP_ARENA_H_
