// A pointer slot is an argument of a recorded op that holds an input's address. When the input has
// moved, a replay patches the ops that have slots of it, and need not copy the input.
//
//   inputs   x        y               x has moved: ops 3 and 7 are patched, op 5 is left alone
//            |        |
//   op 3  kernel (out, x + 0, 48)     slot {x, argument 1, offset 0}
//   op 5  kernel (out, y + 64)        slot {y, argument 1, offset 64}
//   op 7  copy   (target, x + 128)    slot {x, argument 1, offset 128}
//
// An address that stands anywhere else would not be patched, so a recording is searched for such
// addresses (HiddenPointers) before one of its inputs counts as patched. The search cannot see an
// address that lies in memory and not in an argument: a body must not put it there.
//
// An output that outlives its step is patched in the same way: each run puts it at another place,
// and the ops that make it and read it are patched. Its slots have input numbers from kFirstKept
// on.
//
// Each section has a table. The table says what the executable should have; an op whose patch
// failed is remembered and patched with the next replay.
//
// Thread rule: like a container. Cost: a replay at which nothing moved compares one word for each
// patched input; nothing here allocates after a recording.
#ifndef GRAPHTREE_GRAPHS_INPUTS_POINTER_SLOTS_H_
#define GRAPHTREE_GRAPHS_INPUTS_POINTER_SLOTS_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "device/address.h"
#include "device/graph.h"
#include "device/kernel.h"
#include "graphs/inputs/op_words.h"
#include "graphs/tensor.h"

namespace graphtree {

constexpr uint32_t kFirstKept = uint32_t{1} << 31;
constexpr uint32_t kNobody = ~uint32_t{0};  // no input: memory of the recording, which stays

struct PointerSlot {
  uint32_t input = 0;
  uint32_t argument = 0;  // its number; of an op that is known by its bytes, the first byte's place
  uint64_t offset = 0;  // of the address from the input's address
};

// One op that takes addresses of inputs, with all of its arguments.
class PointerOp {
 public:
  // Copies the arguments' bytes. `kernel` must outlive the op.
  PointerOp(const Kernel& kernel, const LaunchShape& shape, Arguments arguments);
  // A kernel that somebody else launched: all that is known are its argument bytes.
  explicit PointerOp(std::vector<uint8_t> argument_bytes)
      : kind_(OpKind::kKernel), bytes_(std::move(argument_bytes)) {}
  explicit PointerOp(const CopyParams& copy) : kind_(OpKind::kCopy), copy_(copy) {}
  explicit PointerOp(const FillParams& fill) : kind_(OpKind::kFill), fill_(fill) {}
  PointerOp(const PointerOp& other);
  PointerOp(PointerOp&&) = default;
  PointerOp& operator=(PointerOp&&) = default;

  OpId id() const { return id_; }
  void set_id(OpId id) { id_ = id; }
  OpKind kind() const { return kind_; }
  bool is_by_bytes() const { return kind_ == OpKind::kKernel && kernel_ == nullptr; }
  std::vector<PointerSlot>& slots() { return slots_; }
  const std::vector<PointerSlot>& slots() const { return slots_; }

  // From now on the slots of `input` point to `address`; the executable is not patched yet.
  void Follow(uint32_t input, Address address);
  bool unpatched() const { return unpatched_; }
  void set_unpatched() { unpatched_ = true; }
  absl::Status Patch(Executable& executable);

 private:
  void OwnLargeValues();

  OpKind kind_;
  OpId id_ = 0;
  bool unpatched_ = false;
  const Kernel* kernel_ = nullptr;  // null: bytes_ are the arguments
  LaunchShape shape_;
  std::vector<Argument> arguments_;
  std::vector<uint8_t> large_values_;  // the bytes of arguments that are larger than a word
  std::vector<uint8_t> bytes_;
  CopyParams copy_;
  FillParams fill_;
  std::vector<PointerSlot> slots_;
};

// Finds one of these ops by its id in the graph. The ops outlive this object.
class KnownOps {
 public:
  explicit KnownOps(absl::Span<const PointerOp> ops);
  // Null if none is.
  const PointerOp* Find(OpId id) const { return id < by_id_.size() ? by_id_[id] : nullptr; }

 private:
  std::vector<const PointerOp*> by_id_;
};

// The ops of a section that take patched inputs or kept outputs, and where each of these is now.
class PointerTable {
 public:
  PointerTable() = default;
  // `patched` are numbers of inputs, which were recorded at their addresses in `inputs`; `kept` are
  // the addresses at which the kept outputs were recorded.
  PointerTable(std::vector<PointerOp> ops, absl::Span<const uint32_t> patched,
               absl::Span<const Value> inputs, absl::Span<const Address> kept = {});

  bool empty() const { return patched_.empty(); }
  size_t inputs() const { return patched_.size() - kept_; }
  absl::Span<const PointerOp> ops() const { return ops_; }

  // Whether one of the patched inputs is at another address than at the last replay.
  bool Moved(absl::Span<const Value> inputs) const {
    for (const PatchedInput& patched : patched_) {
      if (patched.input >= kFirstKept) break;
      if (inputs[patched.input].word() != patched.now) return true;
    }
    return false;
  }
  // The same, also for kept outputs, which are at `places` now.
  bool Moved(absl::Span<const Value> inputs, absl::Span<const Value> places) const {
    for (const PatchedInput& patched : patched_) {
      if (AddressOf(patched, inputs, places) != patched.now) return true;
    }
    return false;
  }
  // Notes where everything is now. True if ops must be patched before the next launch.
  bool Follow(absl::Span<const Value> inputs, absl::Span<const Value> places = {}) {
    bool moved = false;
    bool back = true;
    for (PatchedInput& patched : patched_) {
      const Address address = AddressOf(patched, inputs, places);
      if (address == patched.now) continue;
      moved = true;
      back &= address == patched.before;
      Follow(patched, address);
    }
    if (moved) returns_ = back ? returns_ + 1 : 0;
    return unpatched_;
  }
  // In how many moves in a row everything that moved went back to where it was before.
  uint64_t returns() const { return returns_; }
  void ForgetReturns() { returns_ = 0; }
  // Patches what Follow changed, and what an earlier call failed to patch.
  absl::Status Patch(Executable& executable);
  // The executable has just been made from its graph: it has the recorded addresses.
  void ForgetPatches();

 private:
  struct PatchedInput {
    uint32_t input = 0;
    Address now = 0;
    Address before = 0;  // where it was before its last move
    std::vector<uint32_t> ops;
  };

  static Address AddressOf(const PatchedInput& patched, absl::Span<const Value> inputs,
                           absl::Span<const Value> places) {
    return patched.input >= kFirstKept ? places[patched.input - kFirstKept].word()
                                       : inputs[patched.input].word();
  }
  void Follow(PatchedInput& patched, Address address);

  std::vector<PointerOp> ops_;
  std::vector<PatchedInput> patched_;  // inputs before kept outputs
  size_t kept_ = 0;
  uint64_t returns_ = 0;
  bool unpatched_ = false;
};

// Memory of an input, as a recording had it.
struct InputRange {
  uint32_t input = 0;
  AddressRange range;
};

// The inputs among `ranges` of which an address may stand in `ops` and not in a slot of `known`.
// Ops in `skipped` are not looked at, nor are known ops that FindMovedWords found. An op whose
// arguments cannot be seen may have the address of any input.
std::vector<uint32_t> HiddenPointers(const std::vector<Op>& ops, absl::Span<const PointerOp> known,
                                     absl::Span<const OpId> skipped,
                                     absl::Span<const InputRange> ranges);

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_INPUTS_POINTER_SLOTS_H_
