// Lends idle memory of lanes (lending.h): a block of the pool's lasting region, which no restore
// touches, made without mapping more than is mapped.
//
//   Lend    takes the lane ---- a block, within what is mapped ---- gives the lane back
//   Begin   ends the loans that last until then
//
// Threads: Lend by one that could begin a step in the lane; the rest by the one that has it.
#ifndef GRAPHTREE_RUNTIME_CORE_LENDER_H_
#define GRAPHTREE_RUNTIME_CORE_LENDER_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "device/stream.h"
#include "runtime/core/lane.h"
#include "runtime/core/lanes.h"
#include "runtime/core/programs.h"
#include "runtime/lending.h"

namespace graphtree {

class Lender {
 public:
  // Both outlive it.
  Lender(Lanes& lanes, const Programs& programs) : lanes_(lanes), programs_(programs) {}
  Lender(const Lender&) = delete;
  Lender& operator=(const Lender&) = delete;

  absl::StatusOr<Loan> Lend(const LoanOptions& options, Stream& stream);
  // A step of the lane begins.
  static void EndForStep(Lane& lane);
  // For the runtime's end.
  void EndAll();

 private:
  static absl::Status Check(const Lane& lane, const LoanOptions& options, const Stream& stream);
  static absl::StatusOr<Loan> LendOf(Lane& lane, const LoanOptions& options, Stream& stream);

  Lanes& lanes_;
  const Programs& programs_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_CORE_LENDER_H_
