// Where a recording's random numbers start: two words of device memory for each generator that the
// function is known to draw from. The first op of every run writes them.
//
//   | seed 0 | offset 0 | seed 1 | offset 1 | ...
//
// The memory is held while the function is recorded, so that nothing else of the recording lies
// there; functions that run after it may use the memory. How many generators there are is learned
// from earlier runs, because the op that writes the words is recorded before the body asks for
// them.
//
// Threads: the tree's caller only.
#ifndef GRAPHTREE_GRAPHS_INPUTS_RANDOM_WORDS_H_
#define GRAPHTREE_GRAPHS_INPUTS_RANDOM_WORDS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "device/address.h"
#include "device/base/status_macros.h"
#include "device/stream.h"
#include "graphs/inputs/ingest/ingest.h"
#include "graphs/launcher.h"
#include "graphs/layout.h"
#include "graphs/tensor.h"

namespace graphtree {

class RandomWords {
 public:
  // `generators`: the most that a section of the body draws from. All sections use the same words,
  // one section after the other.
  explicit RandomWords(size_t generators) : generators_(generators) {}
  RandomWords(const RandomWords&) = delete;
  RandomWords& operator=(const RandomWords&) = delete;

  absl::Status Allocate(BodyAllocator* allocator, Stream& stream) {
    if (generators_ == 0) return absl::OkStatus();
    const uint64_t bytes = generators_ * 2 * sizeof(uint64_t);
    GRAPHTREE_ASSIGN_OR_RETURN(Storage * storage, allocator->Allocate(bytes, stream));
    base_ = storage->range().base;
    held_ = Tensor::Over(storage, Layout::Of(DType::kU8, {static_cast<int64_t>(bytes)}), base_);
    return absl::OkStatus();
  }

  // Called after the recording.
  void Release() { held_ = Tensor(); }

  // The words that the first op of a section with so many generators writes: seed, offset, seed,
  // ...
  std::vector<IngestScalar> Scalars(size_t generators) const {
    std::vector<IngestScalar> scalars;
    for (size_t i = 0; i < 2 * generators; ++i) {
      scalars.push_back({base_ + i * sizeof(uint64_t), 0});
    }
    return scalars;
  }

  void BeginSection(size_t generators) {
    given_ = 0;
    in_section_ = generators;
  }
  // The next generator's words.
  absl::StatusOr<Address> Next() {
    if (given_ == in_section_) {
      return absl::FailedPreconditionError(
          absl::StrCat("it draws from more generators than in the runs before (", in_section_,
                       "); draw from the same ones in every run"));
    }
    return base_ + given_++ * 2 * sizeof(uint64_t);
  }

 private:
  const size_t generators_;
  size_t in_section_ = 0;
  size_t given_ = 0;
  Address base_ = 0;
  Tensor held_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_INPUTS_RANDOM_WORDS_H_
