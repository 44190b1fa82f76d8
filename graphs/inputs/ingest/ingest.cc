// Fills tables from copies and scalars, and pairs the kernels' bodies.
#include "graphs/inputs/ingest/ingest.h"

#include <algorithm>
#include <array>
#include <string>

#include "absl/strings/str_cat.h"
#include "graphs/inputs/ingest/ingest_shape.h"
#include "graphs/inputs/ingest/ingest_symbols.h"

namespace graphtree {
namespace {

// A block of 256 threads with four units in flight each. A large input gets larger shares once the
// grid would have more blocks than any GPU holds at a time.
constexpr uint64_t kUnitsPerBlock = 4 * ingest::kThreads;
constexpr uint64_t kManyBlocks = 2048;

constexpr std::array<uint32_t, 3> kTableWords = {kSmallTableWords, kMiddleTableWords,
                                                 kLargeTableWords};

uint32_t WordsOf(const ingest::CopyShape& shape) {
  return 1 + ingest::kRecordWords + 2 * shape.dims;
}

template <uint32_t kWords>
void IngestOnHost(const HostCall& call) {
  const auto table = call.Get<ingest::Table<kWords>>(0);
  for (uint32_t block = 0; block < call.shape().grid.x; ++block) {
    ingest::IngestThread(table.words, block, 0, 1);
  }
}

template <uint32_t kWords>
const Kernel* NewIngestKernel(const void* symbol) {
  return new Kernel(absl::StrCat("graphtree_ingest_", kWords * sizeof(uint64_t)),
                    Params<ingest::Table<kWords>>(), IngestOnHost<kWords>,
                    symbol == nullptr ? CudaBody() : CudaSymbol{symbol}, KernelOwner::kLibrary);
}

}  // namespace

absl::Span<const Kernel* const> IngestKernels() {
  static const auto* kernels = new std::array<const Kernel*, kTableWords.size()>{
      NewIngestKernel<kSmallTableWords>(LinkedIngestKernels().small_table),
      NewIngestKernel<kMiddleTableWords>(LinkedIngestKernels().middle_table),
      NewIngestKernel<kLargeTableWords>(LinkedIngestKernels().large_table),
  };
  return *kernels;
}

// Collects what fits into one op, then lays the table out.
class IngestPlanBuilder {
 public:
  IngestPlanBuilder(size_t first_copy, size_t first_scalar)
      : first_copy_(first_copy), first_scalar_(first_scalar) {}

  // False if the op is full.
  bool Add(const IngestCopy& copy) {
    const ingest::CopyShape shape = ingest::ShapeOf(*copy.layout);
    if (used_ + WordsOf(shape) > kLargeTableWords) return false;
    used_ += WordsOf(shape);
    copies_.push_back({copy, shape});
    return true;
  }
  bool Add(const IngestScalar& scalar) {
    GRAPHTREE_CHECK(scalar.target % sizeof(uint64_t) == 0)
        << "a scalar at address " << scalar.target << ", which is no multiple of 8";
    if (used_ + 2 > kLargeTableWords) return false;
    used_ += 2;
    scalars_.push_back(scalar);
    return true;
  }

  IngestPlan Build() const;

 private:
  struct Copy {
    IngestCopy copy;
    ingest::CopyShape shape;
  };

  uint64_t UnitsPerBlock() const;
  uint32_t PlaceCopies(uint64_t units_per_block, std::vector<uint64_t>& words) const;

  const size_t first_copy_;
  const size_t first_scalar_;
  uint32_t used_ = ingest::kHeaderWords;
  std::vector<Copy> copies_;
  std::vector<IngestScalar> scalars_;
};

uint64_t IngestPlanBuilder::UnitsPerBlock() const {
  uint64_t units = 0;
  for (const Copy& copy : copies_) units += copy.shape.units();
  const uint64_t share = (units + kManyBlocks - 1) / kManyBlocks;
  const uint64_t rounds = (share + kUnitsPerBlock - 1) / kUnitsPerBlock;
  return std::max<uint64_t>(rounds, 1) * kUnitsPerBlock;
}

// Writes index words and records; returns the blocks that all copies take together.
uint32_t IngestPlanBuilder::PlaceCopies(uint64_t units_per_block,
                                        std::vector<uint64_t>& words) const {
  uint64_t blocks = 0;
  size_t record = ingest::kHeaderWords + copies_.size() + 2 * scalars_.size();
  for (size_t i = 0; i < copies_.size(); ++i) {
    const ingest::CopyShape& shape = copies_[i].shape;
    words[ingest::kHeaderWords + i] = blocks | static_cast<uint64_t>(record) << 32 |
                                      static_cast<uint64_t>(shape.dims) << 48 |
                                      static_cast<uint64_t>(__builtin_ctz(shape.width)) << 56;
    words[record++] = copies_[i].copy.source;
    words[record++] = copies_[i].copy.target;
    words[record++] = shape.amount;
    for (uint32_t d = 0; d < shape.dims; ++d) {
      words[record++] = shape.dim[d].size;
      words[record++] = shape.dim[d].stride;
    }
    blocks += (shape.units() + units_per_block - 1) / units_per_block;
  }
  return static_cast<uint32_t>(blocks);
}

IngestPlan IngestPlanBuilder::Build() const {
  IngestPlan plan;
  plan.first_copy_ = first_copy_;
  plan.first_scalar_ = first_scalar_;
  size_t size = 0;
  while (kTableWords[size] < used_) ++size;
  plan.kernel_ = IngestKernels()[size];
  plan.words_.resize(kTableWords[size]);
  const uint64_t units_per_block = UnitsPerBlock();
  const uint32_t blocks = PlaceCopies(units_per_block, plan.words_);
  plan.words_[0] = ingest::PackHeader(static_cast<uint32_t>(copies_.size()),
                                      static_cast<uint32_t>(scalars_.size()), blocks);
  plan.words_[1] = units_per_block;
  size_t at = ingest::kHeaderWords + copies_.size();
  for (const IngestScalar& scalar : scalars_) {
    plan.words_[at++] = scalar.target;
    plan.words_[at++] = scalar.value;
  }
  // A grid must have at least one block, also when every copy is empty.
  plan.shape_.grid.x = std::max(blocks + (scalars_.empty() ? 0 : 1), 1u);
  plan.shape_.block.x = ingest::kThreads;
  return plan;
}

std::vector<IngestPlan> IngestPlan::For(absl::Span<const IngestCopy> copies,
                                        absl::Span<const IngestScalar> scalars) {
  std::vector<IngestPlan> plans;
  size_t copy = 0;
  size_t scalar = 0;
  while (copy < copies.size() || scalar < scalars.size()) {
    IngestPlanBuilder builder(copy, scalar);
    while (scalar < scalars.size() && builder.Add(scalars[scalar])) ++scalar;
    while (copy < copies.size() && builder.Add(copies[copy])) ++copy;
    plans.push_back(builder.Build());
  }
  return plans;
}

}  // namespace graphtree
