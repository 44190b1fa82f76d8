// Packs votes into their bytes, and agrees on them.
#include "runtime/shapes/vote.h"

#include <algorithm>
#include <bit>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "runtime/shapes/mix.h"

namespace graphtree {
namespace {

constexpr uint32_t kSizeBits = 40;
constexpr uint32_t kAlikeBits = 36;
constexpr uint32_t kProgramBits = 12;
constexpr int32_t kLargest = std::numeric_limits<int32_t>::max();

constexpr uint64_t LowBits(uint64_t word, uint32_t bits) {
  return word & ((uint64_t{1} << bits) - 1);
}

// What a vote says, unpacked.
struct Said {
  uint64_t sizes = 0;
  uint64_t alike = 0;
  uint32_t epoch = 0;
  uint32_t program = 0;
  uint32_t table = 0;
  Modes modes = Modes::None();
  bool is_vote = true;
};

Vote Pack(const Said& said) {
  const uint64_t words[] = {said.sizes | uint64_t{said.epoch} << 40 |
                                uint64_t{said.modes.bits()} << 56 | uint64_t{1} << 63,
                            said.alike | uint64_t{said.program} << 36 | uint64_t{said.table} << 48};
  Vote vote;
  for (size_t i = 0; i < vote.bytes.size(); ++i) {
    vote.bytes[i] = static_cast<uint8_t>(words[i / 8] >> (i % 8 * 8));
  }
  return vote;
}

Said Unpack(const Vote& vote) {
  uint64_t words[2] = {};
  for (size_t i = 0; i < vote.bytes.size(); ++i) {
    words[i / 8] |= uint64_t{vote.bytes[i]} << (i % 8 * 8);
  }
  return {.sizes = LowBits(words[0], kSizeBits),
          .alike = LowBits(words[1], kAlikeBits),
          .epoch = static_cast<uint32_t>(LowBits(words[0] >> 40, 16)),
          .program = static_cast<uint32_t>(LowBits(words[1] >> 36, kProgramBits)),
          .table = static_cast<uint32_t>(words[1] >> 48),
          .modes = Modes::FromBits(static_cast<uint8_t>(LowBits(words[0] >> 56, 2))),
          .is_vote = words[0] >> 58 == 32};
}

bool IsSize(const ShapeTable& table, KeyField field) {
  return field != KeyField::kExtra && table.Matters(field) &&
         RuleOf(table.rules(), field).covers != Covers::kEqual;
}

// The steps of one field: to which of them a call is rounded up, and what that means. At most: the
// numbers that occur, and one step above. Power of two: 0, and all powers up to two to the 31st.
class Steps {
 public:
  Steps(const ShapeTable& table, KeyField field)
      : rule_(RuleOf(table.rules(), field)), numbers_(table.NumbersOf(field)) {}

  uint64_t last() const { return IsPower() ? 32 : numbers_.size(); }
  uint32_t bits() const { return std::bit_width(last()); }
  uint64_t StepOf(int32_t call) const {
    if (IsPower()) return std::bit_width(static_cast<uint64_t>(LeastCovering(rule_, call)));
    return std::lower_bound(numbers_.begin(), numbers_.end(), call) - numbers_.begin();
  }
  int32_t NumberAt(uint64_t step) const {
    if (step == last()) return kLargest;
    if (!IsPower()) return numbers_[step];
    return step == 0 ? 0 : 1 << (step - 1);
  }

 private:
  bool IsPower() const { return rule_.covers == Covers::kPowerOfTwo; }

  const FieldRule& rule_;
  absl::Span<const int32_t> numbers_;
};

// Calls visit(field, steps, shift) for every field that is a size, with its place in the bits.
template <typename Visit>
void ForEachSize(const ShapeTable& table, Visit visit) {
  uint32_t shift = 0;
  for (size_t i = 0; i < kKeyNumberCount; ++i) {
    const auto field = static_cast<KeyField>(i);
    if (!IsSize(table, field)) continue;
    const Steps steps(table, field);
    visit(field, steps, shift);
    shift += steps.bits();
  }
}

uint64_t AlikeOf(const ShapeTable& table, const Ballot& ballot) {
  uint64_t alike = Mix(ballot.program, table.usable_digest());
  for (size_t i = 0; i < kKeyNumberCount; ++i) {
    const auto field = static_cast<KeyField>(i);
    if (!table.Matters(field) || IsSize(table, field)) continue;
    alike = Mix(alike, static_cast<uint32_t>(NumberOf(ballot.call, field)));
  }
  if (table.Matters(KeyField::kExtra)) alike = Mix(alike, ballot.call.extra);
  return alike;
}

// The most frequent value, of the lowest rank if there are several.
template <typename Get>
uint32_t Usual(absl::Span<const Vote> votes, Get get, uint32_t* count) {
  uint32_t usual = 0;
  *count = 0;
  for (const Vote& one : votes) {
    const uint32_t value = get(Unpack(one));
    const auto same = static_cast<uint32_t>(std::count_if(
        votes.begin(), votes.end(), [&](const Vote& vote) { return get(Unpack(vote)) == value; }));
    if (same <= *count) continue;
    usual = value;
    *count = same;
  }
  return usual;
}

// Fails where not all votes have the same value, and names the first rank that stands out.
template <typename Get>
absl::Status CheckSame(absl::Span<const Vote> votes, Get get, const char* what) {
  const uint32_t first = get(Unpack(votes.front()));
  if (std::all_of(votes.begin(), votes.end(),
                  [&](const Vote& vote) { return get(Unpack(vote)) == first; })) {
    return absl::OkStatus();
  }
  uint32_t count = 0;
  const uint32_t usual = Usual(votes, get, &count);
  const auto odd = std::find_if(votes.begin(), votes.end(),
                                [&](const Vote& vote) { return get(Unpack(vote)) != usual; });
  return absl::FailedPreconditionError(
      absl::StrCat("the vote of rank ", odd - votes.begin(), " has ", what, " ", get(Unpack(*odd)),
                   ", and ", count, " of ", votes.size(), " ranks have ", usual));
}

bool SameProgram(absl::Span<const Vote> votes) {
  const uint32_t first = Unpack(votes.front()).program;
  return std::all_of(votes.begin(), votes.end(),
                     [first](const Vote& vote) { return Unpack(vote).program == first; });
}

absl::Status CheckVotes(const ShapeTable& table, absl::Span<const Vote> votes) {
  if (votes.empty()) return absl::InvalidArgumentError("no rank has voted");
  for (size_t rank = 0; rank < votes.size(); ++rank) {
    if (Unpack(votes[rank]).is_vote) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("what came from rank ", rank, " is no vote: its 16 bytes lack the mark"));
  }
  GRAPHTREE_RETURN_IF_ERROR(CheckSame(
      votes, [](const Said& said) { return said.epoch; }, "epoch"));
  if (!SameProgram(votes)) return absl::OkStatus();
  GRAPHTREE_RETURN_IF_ERROR(CheckSame(
      votes, [](const Said& said) { return said.table; }, "a table of shapes with the digest"));
  for (size_t rank = 0; rank < votes.size(); ++rank) {
    const uint64_t sizes = Unpack(votes[rank]).sizes;
    bool is_fine = true;
    ForEachSize(table, [&](KeyField, const Steps& steps, uint32_t shift) {
      is_fine &= LowBits(sizes >> shift, steps.bits()) <= steps.last();
    });
    if (is_fine) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("what came from rank ", rank, " is no vote: it has a size beyond the table"));
  }
  return absl::OkStatus();
}

// Everything but the key.
Agreement OutcomeOf(absl::Span<const Vote> votes) {
  const Said first = Unpack(votes.front());
  Agreement agreement = {.modes = Modes::All()};
  const auto find = [&](VoteOutcome outcome, auto stands_against) {
    for (uint32_t rank = 0; rank < votes.size(); ++rank) {
      if (!stands_against(Unpack(votes[rank]))) continue;
      agreement = {.outcome = outcome, .rank = rank};
      return true;
    }
    return false;
  };
  const auto narrows_to_none = [&](const Said& said) {
    agreement.modes = agreement.modes & said.modes;
    return agreement.modes.empty();
  };
  const auto differs = [&](const Said& said) { return said.program != first.program; };
  const auto is_unlike = [&](const Said& said) { return said.alike != first.alike; };
  static_cast<void>(
      find(VoteOutcome::kOneIsEager, [](const Said& said) { return said.modes.empty(); }) ||
      find(VoteOutcome::kNoCommonMode, narrows_to_none) ||
      find(VoteOutcome::kOtherProgram, differs) || find(VoteOutcome::kOtherCall, is_unlike));
  return agreement;
}

}  // namespace

const char* VoteOutcomeSentence(VoteOutcome outcome) {
  switch (outcome) {
    case VoteOutcome::kAgreed:
      return "all ranks agree";
    case VoteOutcome::kOneIsEager:
      return "a rank may run no graph";
    case VoteOutcome::kNoCommonMode:
      return "no mode is allowed on all ranks";
    case VoteOutcome::kOtherProgram:
      return "the ranks run different programs";
    case VoteOutcome::kOtherCall:
      return "the ranks differ in a field that must be equal, or in which shapes are usable";
    case VoteOutcome::kNoGraph:
      return "the ranks agree on a call that no graph serves";
  }
  return "?";
}

absl::StatusOr<Vote> MakeVote(const ShapeTable& table, const Ballot& ballot) {
  GRAPHTREE_RETURN_IF_ERROR(CheckCall(ballot.call));
  Said said = {.alike = LowBits(AlikeOf(table, ballot), kAlikeBits),
               .epoch = static_cast<uint32_t>(LowBits(ballot.epoch, 16)),
               .program = static_cast<uint32_t>(LowBits(Mix(0, ballot.program), kProgramBits)),
               .table = static_cast<uint32_t>(LowBits(table.digest(), 16)),
               .modes = ballot.modes};
  uint32_t bits = 0;
  ForEachSize(table, [&](KeyField field, const Steps& steps, uint32_t shift) {
    bits = shift + steps.bits();
    if (bits <= kSizeBits) said.sizes |= steps.StepOf(NumberOf(ballot.call, field)) << shift;
  });
  if (bits > kSizeBits) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the sizes of a call take ", bits, " bits with these shapes, and a vote has room for ",
        kSizeBits, "; let fewer fields vary, or use fewer values"));
  }
  return Pack(said);
}

absl::StatusOr<Agreement> Agree(const ShapeTable& table, const Ballot& own,
                                absl::Span<const Vote> votes) {
  const absl::StatusOr<Vote> mine = MakeVote(table, own);
  if (!mine.ok()) return mine.status();
  GRAPHTREE_RETURN_IF_ERROR(CheckVotes(table, votes));
  if (std::find(votes.begin(), votes.end(), *mine) == votes.end()) {
    return absl::FailedPreconditionError(
        absl::StrCat("this rank's own vote is not among the ", votes.size(),
                     ": its call, its epoch or its shapes have changed since it voted"));
  }
  Agreement agreement = OutcomeOf(votes);
  agreement.key = own.call;
  if (agreement.outcome != VoteOutcome::kAgreed) return agreement;
  ForEachSize(table, [&](KeyField field, const Steps& steps, uint32_t shift) {
    uint64_t most = 0;
    for (const Vote& vote : votes) {
      most = std::max(most, LowBits(Unpack(vote).sizes >> shift, steps.bits()));
    }
    NumberOf(agreement.key, field) = steps.NumberAt(most);
  });
  return agreement;
}

}  // namespace graphtree
