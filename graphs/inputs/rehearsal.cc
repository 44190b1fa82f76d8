// Maps one small piece of memory again and again, under all addresses of a rehearsal.
#include "graphs/inputs/rehearsal.h"

#include <utility>

#include "device/base/insist.h"
#include "device/base/status_macros.h"

namespace graphtree {

absl::StatusOr<std::unique_ptr<Rehearsal>> Rehearsal::For(Memory& memory,
                                                          absl::Span<const Value> inputs,
                                                          const std::vector<bool>& sought) {
  std::unique_ptr<Rehearsal> rehearsal(new Rehearsal(memory));
  const uint64_t granularity = memory.granularity();
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    if (!sought[i]) continue;
    const AddressRange here = RangeOf(inputs[i]);
    const uint64_t into = here.base % granularity;
    const uint64_t bytes = (into + here.bytes + granularity - 1) / granularity * granularity;
    GRAPHTREE_ASSIGN_OR_RETURN(const AddressRange range, memory.Reserve(bytes, {}));
    rehearsal->reserved_.push_back(range);
    GRAPHTREE_RETURN_IF_ERROR(rehearsal->Fill(range));
    rehearsal->moved_.push_back({i, here, range.base + into});
  }
  return rehearsal;
}

absl::Status Rehearsal::Fill(AddressRange range) {
  if (piece_ == nullptr) {
    GRAPHTREE_ASSIGN_OR_RETURN(piece_, memory_.Create(memory_.granularity()));
  }
  for (uint64_t at = 0; at < range.bytes; at += piece_->bytes()) {
    GRAPHTREE_RETURN_IF_ERROR(memory_.Map(range.base + at, *piece_));
    mapped_.push_back({range.base + at, piece_->bytes()});
  }
  return memory_.SetAccess(range, MemoryAccess::kReadWrite);
}

void Rehearsal::Keep(std::unique_ptr<Graph> graph) {
  graph_ = std::move(graph);
  graph_->ops();
}

Rehearsal::~Rehearsal() {
  graph_ = nullptr;  // goes before the memory that it points to
  for (const AddressRange& range : mapped_) {
    Insist([&] { return memory_.Unmap(range); }).IgnoreError();
  }
  for (const AddressRange& range : reserved_) {
    Insist([&] { return memory_.Release(range); }).IgnoreError();
  }
}

Address Rehearsal::PlaceOf(uint32_t input, Address own) const {
  for (const MovedInput& moved : moved_) {
    if (moved.input == input) return moved.there;
  }
  return own;
}

}  // namespace graphtree
