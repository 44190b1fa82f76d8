// A rehearsal is a recording that is made only to be compared with the next one: the inputs that a
// library takes are elsewhere in it, so that the two show where the library puts their addresses.
//
//   rehearsal   inputs at addresses of their own: one small piece of memory, mapped many times
//               |[piece][piece][piece] ...
//   recording   inputs where they are; FindMovedWords (moved_words.h) compares
//
// A capture launches nothing, so the bytes at those addresses do not matter; but memory must be
// mapped there, as libraries and the driver ask what kind of memory an address is.
//
// The two recordings differ in nothing else, as the pool's books are put back between them and the
// same requests give the same addresses. An input's address in a rehearsal has the low bits of its
// own address, because libraries choose their kernels by alignment.
//
// Thread rule: the tree's caller.
#ifndef GRAPHTREE_GRAPHS_INPUTS_REHEARSAL_H_
#define GRAPHTREE_GRAPHS_INPUTS_REHEARSAL_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "device/address.h"
#include "device/graph.h"
#include "device/memory.h"
#include "graphs/inputs/moved_words.h"
#include "graphs/tensor.h"

namespace graphtree {

class Rehearsal {
 public:
  // Finds other addresses for the inputs in `sought`. `memory` must outlive the rehearsal.
  static absl::StatusOr<std::unique_ptr<Rehearsal>> For(Memory& memory,
                                                        absl::Span<const Value> inputs,
                                                        const std::vector<bool>& sought);
  Rehearsal(const Rehearsal&) = delete;
  Rehearsal& operator=(const Rehearsal&) = delete;
  ~Rehearsal();

  // The address at which the rehearsal has an input: another one, or the input's own where no
  // library takes it.
  Address PlaceOf(uint32_t input, Address own) const;
  // Keeps the graph that was recorded, and lists its ops now, while all memory exists that they
  // name.
  void Keep(std::unique_ptr<Graph> graph);
  bool done() const { return graph_ != nullptr && graph_->op_count() > 0; }

  // REQUIRES: done.
  const std::vector<Op>& ops() const { return graph_->ops(); }
  absl::Span<const MovedInput> moved() const { return moved_; }

 private:
  explicit Rehearsal(Memory& memory) : memory_(memory) {}
  absl::Status Fill(AddressRange range);

  Memory& memory_;
  std::unique_ptr<PhysicalMemory> piece_;
  std::vector<AddressRange> reserved_;
  std::vector<AddressRange> mapped_;
  std::vector<MovedInput> moved_;
  std::unique_ptr<Graph> graph_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_INPUTS_REHEARSAL_H_
