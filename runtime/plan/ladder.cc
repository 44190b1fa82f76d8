// Fills the table of ladders from the largest rung down, and reads the best one back.
#include "runtime/plan/ladder.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "runtime/plan/frontier.h"

namespace graphtree {
namespace {

constexpr uint64_t kNone = std::numeric_limits<uint64_t>::max();
constexpr uint64_t kMostCost = uint64_t{1} << 63;

// A ladder with this rung as its smallest.
struct Partial {
  uint64_t bytes = 0;
  uint64_t cost = 0;
  size_t above = 0;          // the next rung of the ladder; its own index where there is none
  size_t above_partial = 0;  // which of that rung's ladders goes on here
};

absl::Status CheckRungs(absl::Span<const Rung> rungs) {
  for (size_t i = 0; i < rungs.size(); ++i) {
    if (rungs[i].size <= 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("a rung of the ladder has size ", rungs[i].size));
    }
    if (i == 0) continue;
    if (rungs[i].size <= rungs[i - 1].size) {
      return absl::InvalidArgumentError(absl::StrCat("a rung of size ", rungs[i].size,
                                                     " stands after one of ", rungs[i - 1].size,
                                                     "; rungs are in ascending order"));
    }
    if (rungs[i].shared_bytes < rungs[i - 1].shared_bytes) {
      return absl::InvalidArgumentError(
          absl::StrCat("the rung of size ", rungs[i].size, " has ", rungs[i].shared_bytes,
                       " shared bytes, and the smaller one of ", rungs[i - 1].size, " has ",
                       rungs[i - 1].shared_bytes));
    }
  }
  return absl::OkStatus();
}

class Chooser {
 public:
  Chooser(absl::Span<const Rung> rungs, const LadderLimits& limits)
      : rungs_(rungs),
        limits_(limits),
        byte_limit_(limits.bytes == 0 ? kNone : limits.bytes) {}

  absl::Status Add(absl::Span<const SizeCount> calls) {
    for (const SizeCount& one : calls) {
      if (one.size <= 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("the histogram has ", one.calls, " calls of size ", one.size));
      }
      calls_[one.size] += one.calls;
      total_calls_ += one.calls;
    }
    const int32_t greatest = rungs_.empty() ? 0 : rungs_.back().size;
    const uint64_t dearest = std::max<uint64_t>(limits_.eager_rows, greatest);
    if (dearest > 0 && total_calls_ >= kMostCost / dearest) {
      return absl::InvalidArgumentError(
          absl::StrCat(total_calls_, " calls that may cost ", dearest, " rows each are too many"));
    }
    return absl::OkStatus();
  }

  Ladder Choose() {
    SumUp();
    Fill();
    return ReadBack();
  }

 private:
  // Prefix sums by size, so that what lies between two sizes is two subtractions.
  void SumUp() {
    uint64_t count = 0, rows = 0;
    for (const auto& [size, calls] : calls_) {
      count += calls;
      rows += calls * static_cast<uint64_t>(size);
      sizes_.push_back(size);
      counts_.push_back(count);
      rows_.push_back(rows);
    }
  }
  struct Sums {
    uint64_t calls = 0;
    uint64_t rows = 0;
  };
  Sums UpTo(int64_t size) const {
    const auto end = std::upper_bound(sizes_.begin(), sizes_.end(), size);
    if (end == sizes_.begin()) return {};
    const size_t last = static_cast<size_t>(end - sizes_.begin()) - 1;
    return {counts_[last], rows_[last]};
  }

  // The least call that may be padded up to the rung.
  int64_t LeastServed(int32_t rung) const {
    int64_t low = 1, high = rung;
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      if (MostCovering(limits_.padding, static_cast<int32_t>(middle)) >= rung) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }
  // What calls above `below` and up to the rung cost, where nothing stands between these two.
  Ladder Between(int64_t below, size_t rung) const {
    const int32_t size = rungs_[rung].size;
    const Sums from = UpTo(below);
    const Sums served_from = UpTo(std::max(below, LeastServed(size) - 1));
    const Sums all = UpTo(size);
    const uint64_t served = all.calls - served_from.calls;
    Ladder part;
    part.eager_calls = served_from.calls - from.calls;
    part.padded_rows = served * static_cast<uint64_t>(size) - (all.rows - served_from.rows);
    part.cost = part.padded_rows + part.eager_calls * limits_.eager_rows;
    return part;
  }

  void Fill() {
    partials_.resize(rungs_.size());
    for (size_t i = rungs_.size(); i-- > 0;) {
      std::vector<Partial>& here = partials_[i];
      const uint64_t above = total_calls_ - UpTo(rungs_[i].size).calls;
      AddOwn(i, {{rungs_[i].shared_bytes, above * limits_.eager_rows, i, 0}}, 0, &here);
      for (size_t j = i + 1; j < rungs_.size(); ++j) {
        std::vector<Partial> more = partials_[j];
        for (size_t p = 0; p < more.size(); ++p) {
          more[p].above = j;
          more[p].above_partial = p;
        }
        AddOwn(i, std::move(more), Between(rungs_[i].size, j).cost, &here);
      }
      ThinOut(byte_limit_, limits_.most_ladders, &here);
    }
  }
  // Adds what these become with the rung below them, as far as they fit.
  void AddOwn(size_t rung, std::vector<Partial> more, uint64_t cost,
              std::vector<Partial>* here) const {
    const uint64_t own = rungs_[rung].own_bytes;
    size_t fit = 0;
    while (fit < more.size() && more[fit].bytes <= byte_limit_ &&
           own <= byte_limit_ - more[fit].bytes) {
      more[fit].bytes += own;
      more[fit].cost += cost;
      ++fit;
    }
    more.resize(fit);
    MergeInto(more, here);
  }

  Ladder ReadBack() const {
    Ladder best;
    best.calls = best.eager_calls = total_calls_;
    best.cost = total_calls_ * limits_.eager_rows;
    size_t rung = rungs_.size(), partial = 0;
    uint64_t best_bytes = 0;
    for (size_t i = 0; i < rungs_.size(); ++i) {
      const uint64_t below = Between(0, i).cost;
      for (size_t p = 0; p < partials_[i].size(); ++p) {
        const uint64_t cost = partials_[i][p].cost + below;
        const uint64_t bytes = partials_[i][p].bytes;
        if (cost > best.cost || (cost == best.cost && bytes >= best_bytes)) continue;
        best.cost = cost;
        best_bytes = bytes;
        rung = i;
        partial = p;
      }
    }
    if (rung < rungs_.size()) Follow(rung, partial, &best);
    return best;
  }
  // Writes out the ladder from its smallest rung up.
  void Follow(size_t rung, size_t partial, Ladder* ladder) const {
    ladder->eager_calls = ladder->padded_rows = 0;
    int64_t below = 0;
    while (true) {
      const Ladder part = Between(below, rung);
      ladder->eager_calls += part.eager_calls;
      ladder->padded_rows += part.padded_rows;
      ladder->sizes.push_back(rungs_[rung].size);
      ladder->bytes += rungs_[rung].own_bytes;
      below = rungs_[rung].size;
      const Partial& here = partials_[rung][partial];
      if (here.above == rung) break;
      rung = here.above;
      partial = here.above_partial;
    }
    ladder->bytes += rungs_[rung].shared_bytes;
    ladder->eager_calls += total_calls_ - UpTo(below).calls;
  }

  const absl::Span<const Rung> rungs_;
  const LadderLimits& limits_;
  const uint64_t byte_limit_;
  std::map<int32_t, uint64_t> calls_;
  uint64_t total_calls_ = 0;
  std::vector<int32_t> sizes_;  // that occur, ascending; and up to each of them:
  std::vector<uint64_t> counts_;
  std::vector<uint64_t> rows_;
  std::vector<std::vector<Partial>> partials_;  // by rung
};

}  // namespace

absl::StatusOr<Ladder> ChooseLadder(absl::Span<const SizeCount> calls,
                                    absl::Span<const Rung> rungs, const LadderLimits& limits) {
  GRAPHTREE_RETURN_IF_ERROR(CheckRungs(rungs));
  if (limits.padding.covers != Covers::kAtMost) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a ladder was asked for under the rule '", CoversName(limits.padding.covers),
        "'; calls are padded up to the next rung under 'at most' alone"));
  }
  GRAPHTREE_RETURN_IF_ERROR(CheckRules({.tokens = limits.padding}));
  if (limits.most_ladders == 0) {
    return absl::InvalidArgumentError("a ladder was asked for of the best 0 of each rung");
  }
  Chooser chooser(rungs, limits);
  GRAPHTREE_RETURN_IF_ERROR(chooser.Add(calls));
  return chooser.Choose();
}

}  // namespace graphtree
