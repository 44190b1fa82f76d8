// Ingest is the first op of a recorded graph: one kernel that copies every input that must be
// copied to the place where the recording reads it, and writes changed scalars and random-number
// offsets.
//
//   before a replay                 the graph
//   plan.Retarget(0, new address)   [ingest: x -> slot 0, y -> slot 1, offset -> word] -> op -> op
//   plan.SetScalar(0, offset)          ^
//   PatchKernel(op, plan...)  ---------'  the whole table is one argument, passed by value
//
// Why this way: a copy launched by itself costs about 4.4 us of host time, a patch of one op 0.3 us
// whatever it changes. Passing the table by value needs no staging memory and no ordering: a launch
// in flight keeps the table it was launched with.
//
// One op takes at most 4000 bytes of table (kernels may take 4096 on every GPU): 124 dense copies,
// or 248 scalars, or any mix where a dense copy costs 32 bytes, a strided one 32 + 16 for each dim
// that is left after merging, a scalar 16. What does not fit goes into further ops: IngestPlan::For
// returns one plan for each. Small tables have kernels of their own, so that a patch moves 512
// bytes where those are enough.
//
// Thread rule: like a container. Cost: Retarget and SetScalar are two or three loads and stores and
// never allocate; making a plan allocates.
#ifndef GRAPHTREE_GRAPHS_INPUTS_INGEST_INGEST_H_
#define GRAPHTREE_GRAPHS_INPUTS_INGEST_INGEST_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "device/address.h"
#include "device/base/check.h"
#include "device/kernel.h"
#include "graphs/inputs/ingest/ingest_table.h"
#include "graphs/layout.h"

namespace graphtree {

// Source and target have the same layout. The target overlaps no other entry's memory.
struct IngestCopy {
  Address target = 0;
  Address source = 0;
  const Layout* layout = nullptr;
};

// Eight bytes. REQUIRES: target is a multiple of 8.
struct IngestScalar {
  Address target = 0;
  uint64_t value = 0;
};

// One ingest op.
class IngestPlan {
 public:
  // The fewest ops, in order; none if there is nothing to do.
  static std::vector<IngestPlan> For(absl::Span<const IngestCopy> copies,
                                     absl::Span<const IngestScalar> scalars);

  // The op's share of what For was given: [first_copy, first_copy + copies), likewise the scalars.
  size_t first_copy() const { return first_copy_; }
  size_t copies() const { return ingest::Copies(words_.data()); }
  size_t first_scalar() const { return first_scalar_; }
  size_t scalars() const { return ingest::Scalars(words_.data()); }

  // Numbers count from 0 in this op.
  void Retarget(size_t copy, Address source) {
    GRAPHTREE_DCHECK(copy < copies()) << "copy " << copy << " of " << copies();
    words_[ingest::RecordOf(words_[ingest::kHeaderWords + copy])] = source;
  }
  Address source(size_t copy) const {
    return words_[ingest::RecordOf(words_[ingest::kHeaderWords + copy])];
  }
  // Another place for a copy, as well aligned as the one that the plan was made with.
  void SetTarget(size_t copy, Address target) {
    GRAPHTREE_DCHECK(copy < copies()) << "copy " << copy << " of " << copies();
    words_[ingest::RecordOf(words_[ingest::kHeaderWords + copy]) + 1] = target;
  }
  Address target(size_t copy) const {
    return words_[ingest::RecordOf(words_[ingest::kHeaderWords + copy]) + 1];
  }
  void SetScalar(size_t scalar, uint64_t value) {
    GRAPHTREE_DCHECK(scalar < scalars()) << "scalar " << scalar << " of " << scalars();
    words_[ingest::kHeaderWords + copies() + 2 * scalar + 1] = value;
  }

  // The launch. The argument refers to the plan and is good until the plan goes.
  const Kernel& kernel() const { return *kernel_; }
  const LaunchShape& shape() const { return shape_; }
  Argument Table() const {
    return Argument::Bytes(words_.data(), static_cast<uint32_t>(words_.size() * sizeof(uint64_t)));
  }

 private:
  IngestPlan() = default;
  friend class IngestPlanBuilder;

  const Kernel* kernel_ = nullptr;
  LaunchShape shape_;
  size_t first_copy_ = 0;
  size_t first_scalar_ = 0;
  std::vector<uint64_t> words_;  // see ingest_table.h
};

// One kernel for each size of table, smallest first.
absl::Span<const Kernel* const> IngestKernels();

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_INPUTS_INGEST_INGEST_H_
