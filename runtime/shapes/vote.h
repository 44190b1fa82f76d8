// Several ranks agree on one graph. The caller moves the bytes, with whatever it has: 16 from each
// rank to all ranks.
//
//   rank 0   tokens=5   -\                       /->  Choose(tokens=16 ...): the same index
//   rank 1   tokens=12  --> all gather 16 bytes -->   on every rank, as all have the same key,
//   rank 2   tokens=9   -/    Agree(...)         \->  the same modes and the same table
//
// A vote says how large the call is, not in numbers but in steps of the rank's own table, where
// alone differences matter: 12 tokens among shapes of 8, 16 and 32 are step 1. All pad to the
// largest step. A rank with nothing to do votes with sizes of 0, and is padded like any other.
//
//   bytes 0-7    sizes, field by field: 40 bits | epoch 16   | modes 2 | 5 times 0 | 1
//   bytes 8-15   alike 36 bits                  | program 12 | table 16
//
// All of `alike` must be the same, or all run eagerly: it is a hash of the program, of the fields
// that are compared for equality, and of which shapes are usable, since ranks that differ there
// would choose differently. A rank that may run no graph votes without modes, which makes all run
// eagerly; else what all allow is allowed, so the lowest mode wins.
//
// Each word stands with its lowest byte first, so the bytes are the same on every machine. Padding
// is limited against what was agreed: a small rank is padded as far as the largest needs. Pure,
// without heap where all is well.
#ifndef GRAPHTREE_RUNTIME_SHAPES_VOTE_H_
#define GRAPHTREE_RUNTIME_SHAPES_VOTE_H_

#include <array>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/shapes/key.h"
#include "runtime/shapes/mode.h"
#include "runtime/shapes/shape_table.h"
#include "runtime/why.h"

namespace graphtree {

// What a rank says of its call before it votes.
struct Ballot {
  uint64_t program = 0;  // the same number on all ranks, such as a hash of its name
  uint32_t epoch = 0;    // the caller's; its low 16 bits travel
  Key call = {};
  Modes modes = Modes::All();  // none: this rank runs eagerly
};

struct Vote {
  std::array<uint8_t, 16> bytes = {};
  friend bool operator==(const Vote&, const Vote&) = default;
};
static_assert(sizeof(Vote) == 16 && std::is_trivially_copyable_v<Vote>);

// InvalidArgument for a call with a negative number or any. FailedPrecondition where the steps of
// the table need more than 40 bits: a table of 4,000 shapes may differ in three fields, one of 500
// in four.
absl::StatusOr<Vote> MakeVote(const ShapeTable& table, const Ballot& ballot);

enum class VoteOutcome : uint8_t {
  kAgreed,
  kOneIsEager,    // `rank` runs eagerly
  kNoCommonMode,  // no mode is allowed on all ranks up to `rank`
  kOtherProgram,  // `rank` runs another program than rank 0
  kOtherCall,     // `rank` differs from rank 0 in a field that must be equal, or in what is usable
  kNoGraph,       // all ranks agree, on what no graph serves; said by Runtime::Agree
};

// "all ranks agree", for people.
const char* VoteOutcomeSentence(VoteOutcome outcome);

struct Agreement {
  VoteOutcome outcome = VoteOutcome::kAgreed;
  uint32_t rank = 0;  // the first that stands against a graph, where there is one
  // What every rank chooses with. The key covers every rank's call; where a size is above all
  // shapes it is the largest number. Fields that must be equal are the own call's.
  Modes modes = Modes::None();
  Key key = {};

  // kVotedDown where all ranks run eagerly.
  Why why() const { return outcome == VoteOutcome::kAgreed ? Why::kHit : Why::kVotedDown; }
};

// The votes of all ranks, the own among them. `own` and the table are what the own vote was made
// of. Every rank comes to the same outcome, modes and sizes, in whatever order the votes stand; the
// ranks that are named are places in `votes`. Errors, which all ranks get alike:
//   InvalidArgument      no votes, or bytes that are no vote
//   FailedPrecondition   a vote of another epoch, or made with another table for the same program,
//                        with the rank and what the others have
// and on one rank alone
//   FailedPrecondition   its own vote is not among them
absl::StatusOr<Agreement> Agree(const ShapeTable& table, const Ballot& own,
                                absl::Span<const Vote> votes);

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_SHAPES_VOTE_H_
