// What the error of a stale output is made of: who made the output, which step ended, who wrote
// over it.
//
//   always          names of functions, and which of them ran last: one store for each call
//   checked mode    the stacks of all three, and which call used which bytes last
//
// The history outlives the tree, for as long as the tree's storages do.
//
// Threads: any thread may ask; only the tree's caller notes something.
#ifndef GRAPHTREE_GRAPHS_HISTORY_STEP_HISTORY_H_
#define GRAPHTREE_GRAPHS_HISTORY_STEP_HISTORY_H_

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

#include "absl/types/span.h"
#include "device/address.h"
#include "graphs/history/call_stack.h"
#include "graphs/history/range_uses.h"
#include "graphs/storage.h"

namespace graphtree {

class StepHistory {
 public:
  // Names the function with the next number. The string lives as long as the history, also when the
  // function is gone; equal names share one.
  const std::string& AddFunction(const std::string& name);
  // Null if there is none of that number.
  const std::string* FindName(uint32_t function) const;
  // The name in quotes; "the function" if there is none of that number. On any thread.
  std::string NameOf(uint32_t function) const;
  void SetStep(uint64_t step) { step_.store(step, std::memory_order_relaxed); }
  void SetLastRun(uint32_t function) { last_run_.store(function, std::memory_order_relaxed); }

  // Checked mode: a call has written to these bytes of the steps' memory.
  void NoteWrites(absl::Span<const AddressRange> ranges, const RangeUse& use);
  // Checked mode: bytes of the caller's were alive when a call brought them.
  void NoteAlive(AddressRange range, const RangeUse& use);
  // "\n  it was alive in step 3, when ...:" with a stack; empty if nothing is known.
  std::string ToldAlive(AddressRange range) const;

  // Why the storage may not be used.
  std::string Explain(const Storage& storage) const;
  CallStacks& stacks() { return stacks_; }
  const CallStacks& stacks() const { return stacks_; }

 private:
  std::string Advice(const Storage& storage, const std::string& name) const;
  std::string ToldOverwritten(const Storage& storage) const;  // with mutex_ held

  CallStacks stacks_;
  std::atomic<uint32_t> last_run_{0};
  std::atomic<uint64_t> step_{1};  // now
  mutable std::mutex mutex_;
  std::unordered_set<std::string> known_names_;  // guarded by mutex_; they stay where they are
  std::vector<const std::string*> names_;         // guarded by mutex_
  RangeUses writes_;                 // guarded by mutex_
  RangeUses alive_;                  // guarded by mutex_
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_HISTORY_STEP_HISTORY_H_
