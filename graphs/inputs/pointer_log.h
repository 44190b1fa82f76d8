// Finds, while a body is captured, which arguments of which ops point to its inputs.
//
// An input that may be patched is given to the body as a tensor over a storage of its own, a mark.
// A tensor that the body derives from that tensor carries the mark, so an argument is known to be
// the input's even where two inputs share bytes, or where the body knows the same memory from
// elsewhere.
//
// Which storages are kept outputs is known only at the body's end. For these the log can list all
// ops, with the storage that each argument points into; the arguments that point into a kept output
// are claimed at the end (Claim).
//
// Where the body breaks, the ops so far belong to a graph of their own, a section; the tensors of
// the part that point to inputs are noted like the arguments of an op.
//
// An address that the body has from elsewhere is looked for at each launch (address_search.h), so
// that only a section with ops of a library has to be listed for that (EndSection, hidden).
//
// Thread rule: the capture's thread. Cost: the stream is asked for its last op at launches that
// take a marked input, and at all launches if all ops are listed.
#ifndef GRAPHTREE_GRAPHS_INPUTS_POINTER_LOG_H_
#define GRAPHTREE_GRAPHS_INPUTS_POINTER_LOG_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "device/graph.h"
#include "device/stream.h"
#include "graphs/inputs/access_log.h"
#include "graphs/inputs/address_search.h"
#include "graphs/launcher.h"
#include "graphs/inputs/pointer_slots.h"
#include "graphs/tensor.h"

namespace graphtree {

// An input and its mark.
struct MarkedInput {
  uint32_t input = 0;
  Tensor mark;
};

class PointerLog : public AccessLog {
 public:
  // `stream` is being captured; `inputs` are those that the body is given. `list_all`: for Claim.
  PointerLog(Stream& stream, absl::Span<const Value> inputs, std::vector<MarkedInput> marked,
             bool list_all)
      : AccessLog(inputs),
        stream_(stream),
        marked_(std::move(marked)),
        list_all_(list_all),
        search_(RangesOf(marked_)) {}

  void Accessed(Access access, const Tensor& tensor, int argument) override;
  void Launched(const Kernel& kernel, const LaunchShape& shape, Arguments arguments) override;
  void Copied(const CopyParams& params) override;
  void Filled(const FillParams& params) override;
  void SetsEvent() override { search_.SetEvent(); }
  void Broke(absl::string_view why) override;

  // Slots that point into the storage of this serial, which begins at `base`, are `input`'s.
  void Claim(uint64_t serial, Address base, uint32_t input);

  // The ops since the last section ended were captured into `graph`, with `own` ops of the
  // recorder's that bring inputs in.
  absl::Status EndSection(const Graph& graph, uint64_t own);
  // Whether each op of the section was told. If not, its graph may have addresses that are not in
  // hidden().
  bool has_seen_all(size_t section) const { return seen_all_[section]; }
  // The marked inputs of which an op that was told has an address in no slot.
  const std::vector<uint32_t>& hidden() const { return search_.hidden(); }

  // By section, the ops that take marked inputs, or all ops, with their ids in its graph. Called
  // once, after the end of the last section.
  std::vector<std::vector<PointerOp>> Take();
  // By break, the slots of its part's tensors.
  const std::vector<std::vector<PointerSlot>>& breaks() const { return breaks_; }

 private:
  static std::vector<InputRange> RangesOf(const std::vector<MarkedInput>& marked);
  void Add(PointerOp op);
  void Forget();

  Stream& stream_;
  const std::vector<MarkedInput> marked_;
  const bool list_all_;
  AddressSearch search_;
  std::vector<bool> seen_all_;  // by section
  std::vector<PointerSlot> pending_;  // of the op that is launched next
  std::vector<uint64_t> pending_serials_;
  std::vector<PointerOp> ops_;
  std::vector<std::vector<uint64_t>> serials_;  // of each op's slots; 0 for a marked input's
  std::vector<OpToken> tokens_;  // of each op
  std::vector<size_t> ends_;     // of the sections, as places in ops_
  std::vector<std::vector<PointerSlot>> breaks_;
  std::vector<std::vector<uint64_t>> break_serials_;
  absl::Status status_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_INPUTS_POINTER_LOG_H_
