// The last thousand steps of a lane: what ran and why, in fixed memory.
//
//   entry    0        1        2      ...    1023
//          step 2048 step 2049 step 1026   step 2047      the next step takes entry 2
//
//   an entry   [ mark | when | key, 5 words | why, field, route, reason | shape | how long ]
//
// Each entry is a seqlock of its own. Its mark is odd while the step is written, and then says
// which step the entry has, so that a reader takes an entry only if the mark was the same before
// and after the entry was copied:
//
//   mark of step n:   2n + 1 while it is written, 2n + 2 after that
//
// All words are atomic. Stores of the entry are releases and loads acquires, which are plain moves
// on x86: so none of them passes the mark, and no fence is needed (the thread sanitizer knows
// none).
//
// Threads: the lane's thread notes, any thread reads. A reader makes nobody wait, and misses the
// steps that are written over while it reads. Cost of a note: eleven stores.
#ifndef GRAPHTREE_RUNTIME_WATCH_STEP_LOG_H_
#define GRAPHTREE_RUNTIME_WATCH_STEP_LOG_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "graphs/reason.h"
#include "graphs/tree_stats.h"
#include "runtime/shapes/key.h"
#include "runtime/why.h"

namespace graphtree {

// A step as the log has it.
struct LoggedStep {
  uint64_t number = 0;  // steps of a lane count from 0
  int64_t at_ns = 0;    // when the lane last looked at the clock, before or in the step
  Key key = {};         // as the caller gave it
  Why why = Why::kHit;
  // Of kAboveCeiling, kUncovered and kPadding: the field that stands against every shape.
  std::optional<KeyField> field = std::nullopt;
  CallRoute route = CallRoute::kNone;           // kNone: it failed
  std::optional<Reason> reason = std::nullopt;  // the tree's, of what was no replay
  uint32_t program = 0;                         // its number among the watched (watch.h)
  // Which of the program's shapes served it, or would have (ShapeWatch::id); all ones: none.
  uint32_t shape = ~uint32_t{0};
  uint64_t ran_ns = 0;  // the host's time in Step::Run; 0: not timed

  friend bool operator==(const LoggedStep&, const LoggedStep&) = default;
};

class StepLog {
 public:
  static constexpr uint64_t kKept = 1024;

  StepLog() : entries_(kKept) {}
  StepLog(const StepLog&) = delete;
  StepLog& operator=(const StepLog&) = delete;

  // `step.number` is not looked at: it is the number of steps noted before.
  void Note(const LoggedStep& step);

  uint64_t count() const { return count_.load(std::memory_order_acquire); }
  // The last `most` of those that are kept, the oldest first.
  std::vector<LoggedStep> Last(size_t most = kKept) const;

 private:
  static constexpr size_t kWords = 9;
  using Words = std::array<uint64_t, kWords>;

  struct Entry {
    std::atomic<uint64_t> mark{0};
    std::array<std::atomic<uint64_t>, kWords> words = {};
  };

  static uint64_t PackCodes(const LoggedStep& step);
  static LoggedStep Unpack(uint64_t number, const Words& words);
  // Nothing if the entry has another step by now.
  static std::optional<Words> Copy(const Entry& entry, uint64_t number);

  std::vector<Entry> entries_;
  std::atomic<uint64_t> count_{0};
};

// In every step, so it is to be inlined there.
inline uint64_t StepLog::PackCodes(const LoggedStep& step) {
  const auto field = step.field.has_value() ? static_cast<uint64_t>(*step.field) : 0xff;
  const auto reason = step.reason.has_value() ? static_cast<uint64_t>(*step.reason) : 0xff;
  return static_cast<uint64_t>(step.why) | field << 8 |
         static_cast<uint64_t>(step.route) << 16 | reason << 24;
}

inline void StepLog::Note(const LoggedStep& step) {
  const uint64_t number = count_.load(std::memory_order_relaxed);
  const KeyWords key = KeyWords::Of(step.key);
  Entry& entry = entries_[number % kKept];
  const auto put = [&entry](size_t word, uint64_t value) {
    entry.words[word].store(value, std::memory_order_release);
  };
  entry.mark.store(2 * number + 1, std::memory_order_relaxed);
  put(0, static_cast<uint64_t>(step.at_ns));
  KeyWords::ForEach([&](size_t i) { put(1 + i, key.words[i]); });
  put(6, PackCodes(step));
  put(7, uint64_t{step.program} << 32 | step.shape);
  put(8, step.ran_ns);
  entry.mark.store(2 * number + 2, std::memory_order_release);
  count_.store(number + 1, std::memory_order_release);
}

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_WATCH_STEP_LOG_H_
