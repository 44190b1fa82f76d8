// A toy server of a language model as its author would write it, from runtime.h and what it
// includes alone: two ranks that vote, sequences with a page each in a cache, decoding and
// prefilling, drafts, weights that are swapped. What a session checks is what its users see:
//
//   request --> ids, pages, offsets --> step --> row of the output, page of the cache
//        \----> the same, row by row on the host, without shapes ----/  equal, whatever the shape
//
// Nothing here knows which shape a step took or whether a graph was replayed: padded rows go to a
// page that is nobody's, and nobody looks at them. So it finds what leaks from padding into rows,
// what is run twice or not at all, and what is read from where weights were before.
#ifndef GRAPHTREE_TESTS_OUTSIDER_SERVING_SESSION_H_
#define GRAPHTREE_TESTS_OUTSIDER_SERVING_SESSION_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace graphtree::outsider {

enum class Deed : uint8_t {
  kDecode,   // some sequences get a token more
  kAgain,    // the same sequences, fed with the tokens that the step before made
  kPrefill,  // one sequence gets several tokens at once
  kDraft,    // a sequence's token is guessed, and a step that goes on checks the guess
  kSwap,     // the weights are others, and elsewhere
  kForget,   // a sequence is over, its page is another's
  kShape,    // a further shape for decoding
  kRecord,
  kWarm,     // another temperature, which later steps leave out
  kLeave,    // the program that prefills goes, and comes back
  kSleep,    // the memory of one of the lanes leaves, and comes back
};
constexpr uint32_t kDeeds = 11;
constexpr uint32_t kDrawnDeeds = 10;  // the last one takes the place of some others

struct Act {
  Deed deed = Deed::kDecode;
  uint32_t what = 0;     // for the first rank, and for both where they do the same
  uint32_t other = 0;    // for the second one
  uint32_t fault = 0;    // the n-th device call from here on fails; 0: none
};

struct Session {
  uint32_t seed = 0;
  bool records_while_serving = true;
  bool is_small = false;
  bool is_checked = false;
  std::vector<Act> acts;
};

Session MakeSession(uint32_t seed, bool has_faults);
std::string TextOf(const Session& session);

// How often what happened.
using Tally = std::map<std::string, uint64_t>;
// What a user saw and should not have; empty if nothing.
std::string WrongOf(const Session& session, Tally* tally);

}  // namespace graphtree::outsider

#endif  // GRAPHTREE_TESTS_OUTSIDER_SERVING_SESSION_H_
