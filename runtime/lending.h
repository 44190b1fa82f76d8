// Lending: idle bytes of a lane's pool, for eager work of the caller's that would otherwise take
// memory of its own beside it.
//
//   GRAPHTREE_ASSIGN_OR_RETURN(Loan loan, runtime->Lend({.bytes = 64 << 20}, stream));
//   Sample(loan.range(), stream);      // between two steps
//   loan.GiveBack();                   // or it ends by itself when the lane's next step begins
//
// What is idle: memory that is mapped, and that nothing needs to be replayed:
//
//   step region      |recordings, and what a step may restore|  no recording's  |
//   lasting region   |kept outputs, held by bodies|     free                    |
//                                                 |<---------- idle ----------->|
//
// What a recording has allocated is free in the pool's books and written by every replay, so it is
// never lent: a loan that would take it is refused, with how much is idle. A loan takes no new
// memory of the device's. Its bytes are anything at first.
//
//   kNextStep    the loan ends when a step of its lane begins, at the latest: the step may use the
//                bytes again, after the work that was issued on the loan's streams until then. Work
//                that is issued there later, or on streams that nobody named, is wrong
//   kGivenBack   the loan stays, and steps run beside it: its bytes are not there for them, so a
//                step that takes new memory may find less
//
// A lane whose memory is lent is not parked. Threads: Lend by one that could begin a step in the
// lane; a loan by one thread at a time, which may be any. Cost: an allocation.
#ifndef GRAPHTREE_RUNTIME_LENDING_H_
#define GRAPHTREE_RUNTIME_LENDING_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "device/address.h"
#include "device/stream.h"

namespace graphtree {

struct LoanState;

enum class LoanUntil : uint8_t { kNextStep, kGivenBack };

struct LoanOptions {
  uint64_t bytes = 0;
  LoanUntil until = LoanUntil::kNextStep;
  uint32_t lane = 0;
  uint32_t device = 0;
};

class Loan {
 public:
  Loan() = default;  // of nothing
  Loan(Loan&&) = default;
  Loan& operator=(Loan&& other) {
    if (this == &other) return *this;
    GiveBack();
    state_ = std::move(other.state_);
    return *this;
  }
  ~Loan() { GiveBack(); }

  // Nothing once the loan is over: it was given back, a step has begun, or the runtime was closed.
  AddressRange range() const;
  bool is_over() const { return range().empty(); }
  // Work on this stream, too, uses the bytes. Not needed for the stream that Lend was given. An
  // error if the loan is over.
  absl::Status UseOn(Stream& stream);
  // Whoever has the bytes next comes after the work on the loan's streams so far.
  void GiveBack();

 private:
  friend class Lender;
  explicit Loan(std::shared_ptr<LoanState> state) : state_(std::move(state)) {}

  std::shared_ptr<LoanState> state_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_LENDING_H_
