// Ends loans.
#include "runtime/lending.h"

#include <memory>
#include <mutex>
#include <utility>

#include "allocator/pool.h"
#include "graphs/tree.h"
#include "runtime/loan_state.h"

namespace graphtree {

// The pool's next call frees the block, and orders who has the bytes next after its streams.
void LoanState::End() {
  const std::lock_guard<std::mutex> lock(mutex);
  Tree* const ended = std::exchange(tree, nullptr);
  if (ended == nullptr) return;
  ended->pool().FreeLater(block).IgnoreError();
  watch->lent_bytes.fetch_sub(range.bytes, std::memory_order_relaxed);
}

bool LoanState::is_over() {
  const std::lock_guard<std::mutex> lock(mutex);
  return tree == nullptr;
}

AddressRange Loan::range() const {
  return state_ == nullptr || state_->is_over() ? AddressRange() : state_->range;
}

absl::Status Loan::UseOn(Stream& stream) {
  Tree* tree = nullptr;
  if (state_ != nullptr) {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    tree = state_->tree;
  }
  if (tree == nullptr) {
    return absl::FailedPreconditionError("a loan was to be used on a stream, and it is over");
  }
  absl::Status status;
  tree->Inspect([&] { status = tree->pool().UseOn(state_->block, stream); });
  return status;
}

void Loan::GiveBack() {
  if (state_ != nullptr) state_->End();
  state_ = nullptr;
}

}  // namespace graphtree
