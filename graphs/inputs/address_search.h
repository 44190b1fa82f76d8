// Looks, at each launch of a capture, for addresses of inputs where no slot has them: in memory
// that the body knows from elsewhere, and inside of structures that it passes by value.
//
//   launch   add(out, x, {7, 0x7f00'0040, ...})       input 2 lies at 0x7f00'0000
//                     |    '- 0x7f00'0040 is of input 2: hidden
//                     '- slot 1 is input 2's
//
// HiddenPointers (pointer_slots.h) finds the same in a graph, where it sees ops of libraries, too;
// but to list a graph the driver is asked a few questions for each op. So a section in which the
// launcher has launched every op needs no listing: EndSection says whether it was such a one.
//
// Arguments are read as they lie one after another, each at a multiple of four bytes. In the
// kernel's parameters some lie further apart, with nothing in between.
//
// Threads: the capture's thread. Cost: a load and a compare for every 4 bytes of arguments.
#ifndef GRAPHTREE_GRAPHS_INPUTS_ADDRESS_SEARCH_H_
#define GRAPHTREE_GRAPHS_INPUTS_ADDRESS_SEARCH_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "device/address.h"
#include "device/graph.h"
#include "device/kernel.h"
#include "graphs/inputs/pointer_slots.h"

namespace graphtree {

class AddressSearch {
 public:
  explicit AddressSearch(std::vector<InputRange> ranges) : ranges_(std::move(ranges)) {}

  // The next op; these of its arguments are slots.
  void Launched(Arguments arguments, absl::Span<const PointerSlot> slots);
  void Copied(const CopyParams& params, absl::Span<const PointerSlot> slots);
  void Filled(const FillParams& params, absl::Span<const PointerSlot> slots);
  void SetEvent() { ++ops_; }
  // Whether all ops of the section were told, of which it has `ops`, and the recorder itself has
  // launched `own`. If not, its graph has to be listed.
  bool EndSection(uint64_t ops, uint64_t own);

  // The inputs of which an address was found so far, each once.
  const std::vector<uint32_t>& hidden() const { return hidden_; }

 private:
  void Look(uint64_t word);
  void Append(const Argument& argument, bool is_slot);

  const std::vector<InputRange> ranges_;
  std::vector<uint32_t> halves_;   // of an op's arguments
  std::vector<bool> begins_slot_;  // by half: an argument that is a slot begins here
  std::vector<uint32_t> hidden_;
  uint64_t ops_ = 0;  // of this section
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_INPUTS_ADDRESS_SEARCH_H_
