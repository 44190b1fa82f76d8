// An ordered map of byte runs with equal history, split and joined as ops touch them.
#include "device/host/checks/race_check.h"

#include <algorithm>
#include <iterator>

namespace graphtree::host {

bool RaceCheck::Before(const Touched& earlier, const Moment& now) {
  if (earlier.ticket.slot != now.ticket.slot) {
    return now.clock->At(earlier.ticket.slot) >= earlier.ticket.sequence ||
           now.clock->HasPart(earlier.ticket, earlier.chain, earlier.index);
  }
  if (earlier.ticket.sequence != now.ticket.sequence) return true;
  if (now.place.before == nullptr) return true;
  // Also an op's own first touch: arguments may name the same bytes twice.
  if (earlier.chain == now.place.chain && earlier.index == now.place.index) return true;
  return now.place.before[earlier.chain] > earlier.index;
}

const RaceCheck::Touched* RaceCheck::FirstUnordered(const History& history, bool write,
                                                    const Moment& now) {
  if (history.writer.ticket.sequence != 0 && !Before(history.writer, now)) return &history.writer;
  if (!write) return nullptr;
  for (const Touched& reader : history.readers) {
    if (!Before(reader, now)) return &reader;
  }
  return nullptr;
}

RaceCheck::Touched RaceCheck::TouchOf(const Moment& now) {
  return {now.ticket, now.place.chain, now.place.index, now.op};
}

void RaceCheck::Apply(History& history, bool write, const Moment& now) {
  if (write) {
    history.writer = TouchOf(now);
    history.readers.clear();
    return;
  }
  for (Touched& reader : history.readers) {
    if (Before(reader, now)) {
      reader = TouchOf(now);
      return;
    }
  }
  history.readers.push_back(TouchOf(now));
}

uint32_t RaceCheck::NewHistory() {
  if (!free_histories_.empty()) {
    const uint32_t index = free_histories_.back();
    free_histories_.pop_back();
    histories_[index].writer = Touched{};
    histories_[index].readers.clear();
    return index;
  }
  histories_.emplace_back();
  return static_cast<uint32_t>(histories_.size() - 1);
}

void RaceCheck::Split(Address at) {
  auto next = runs_.lower_bound(at);
  if (next == runs_.begin() || (next != runs_.end() && next->first == at)) return;
  const auto before = std::prev(next);
  if (before->second.end <= at) return;
  const Address end = before->second.end;
  before->second.end = at;
  const uint32_t from = before->second.history;
  const uint32_t copy = NewHistory();
  histories_[copy] = histories_[from];
  runs_.emplace(at, Run{end, copy});
}

void RaceCheck::FillGaps(AddressRange range) {
  Address at = range.base;
  while (at < range.end()) {
    const auto run = runs_.lower_bound(at);
    if (run != runs_.end() && run->first == at) {
      at = run->second.end;
      continue;
    }
    const Address end = run == runs_.end() ? range.end() : std::min(run->first, range.end());
    runs_.emplace(at, Run{end, NewHistory()});
    at = end;
  }
}

std::optional<Race> RaceCheck::TouchRuns(AddressRange range, bool write, const Moment& now) {
  Split(range.base);
  Split(range.end());
  FillGaps(range);
  std::optional<Race> race;
  auto run = runs_.find(range.base);
  for (; run != runs_.end() && run->first < range.end(); ++run) {
    History& history = histories_[run->second.history];
    const Touched* unordered = race.has_value() ? nullptr : FirstUnordered(history, write, now);
    if (unordered != nullptr) {
      race = Race{{run->first, run->second.end - run->first}, *unordered->op,
                  unordered->ticket.slot, unordered == &history.writer};
    }
    Apply(history, write, now);
  }
  if (!write) return race;
  // All of the range has one history now.
  run = runs_.find(range.base);
  run->second.end = range.end();
  for (++run; run != runs_.end() && run->first < range.end(); run = runs_.erase(run)) {
    free_histories_.push_back(run->second.history);
  }
  return race;
}

std::optional<Race> RaceCheck::Touch(AddressRange range, bool write, const Moment& now) {
  if (range.empty()) return std::nullopt;
  const auto run = runs_.find(range.base);
  if (run == runs_.end() || run->second.end != range.end()) return TouchRuns(range, write, now);
  History& history = histories_[run->second.history];
  const Touched* unordered = FirstUnordered(history, write, now);
  std::optional<Race> race;
  if (unordered != nullptr) {
    race = Race{range, *unordered->op, unordered->ticket.slot, unordered == &history.writer};
  }
  Apply(history, write, now);
  return race;
}

void RaceCheck::Forget(AddressRange range) {
  if (range.empty()) return;
  Split(range.base);
  Split(range.end());
  auto run = runs_.lower_bound(range.base);
  while (run != runs_.end() && run->first < range.end()) {
    free_histories_.push_back(run->second.history);
    run = runs_.erase(run);
  }
}

void RaceCheck::Prune(const VectorClock& done) {
  if (runs_.size() <= prune_above_) return;
  const auto is_done = [&](const Touched& touched) {
    return done.At(touched.ticket.slot) >= touched.ticket.sequence;
  };
  for (auto run = runs_.begin(); run != runs_.end();) {
    const History& history = histories_[run->second.history];
    if (is_done(history.writer) &&
        std::all_of(history.readers.begin(), history.readers.end(), is_done)) {
      free_histories_.push_back(run->second.history);
      run = runs_.erase(run);
    } else {
      ++run;
    }
  }
  prune_above_ = std::max<size_t>(4096, 2 * runs_.size());
}

}  // namespace graphtree::host
