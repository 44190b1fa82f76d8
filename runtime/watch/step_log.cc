// Reads entries while others are written.
#include "runtime/watch/step_log.h"

#include <algorithm>

namespace graphtree {

LoggedStep StepLog::Unpack(uint64_t number, const Words& words) {
  LoggedStep step;
  step.number = number;
  step.at_ns = static_cast<int64_t>(words[0]);
  KeyWords key;
  for (size_t i = 0; i < KeyWords::kCount; ++i) key.words[i] = words[1 + i];
  key.CopyTo(&step.key);
  step.why = static_cast<Why>(words[6] & 0xff);
  const uint64_t field = words[6] >> 8 & 0xff;
  if (field != 0xff) step.field = static_cast<KeyField>(field);
  step.route = static_cast<CallRoute>(words[6] >> 16 & 0xff);
  const uint64_t reason = words[6] >> 24 & 0xff;
  if (reason != 0xff) step.reason = static_cast<Reason>(reason);
  step.program = static_cast<uint32_t>(words[7] >> 32);
  step.shape = static_cast<uint32_t>(words[7]);
  step.ran_ns = words[8];
  return step;
}

// The words are loaded with acquire, so the second look at the mark comes after them.
std::optional<StepLog::Words> StepLog::Copy(const Entry& entry, uint64_t number) {
  const uint64_t whole = 2 * number + 2;
  if (entry.mark.load(std::memory_order_acquire) != whole) return std::nullopt;
  Words words;
  for (size_t i = 0; i < kWords; ++i) words[i] = entry.words[i].load(std::memory_order_acquire);
  if (entry.mark.load(std::memory_order_relaxed) != whole) return std::nullopt;
  return words;
}

std::vector<LoggedStep> StepLog::Last(size_t most) const {
  const uint64_t end = count();
  const uint64_t wanted = std::min<uint64_t>({most, kKept, end});
  std::vector<LoggedStep> steps;
  steps.reserve(wanted);
  for (uint64_t number = end - wanted; number < end; ++number) {
    const std::optional<Words> words = Copy(entries_[number % kKept], number);
    if (words.has_value()) steps.push_back(Unpack(number, *words));
  }
  return steps;
}

}  // namespace graphtree
