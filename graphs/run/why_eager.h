// Writes the details of why a call runs eagerly, which follow the sentence of its reason: the
// input, by number and name; the op that wrote to it, and where that op was launched if that is
// known; the option that decided, and its value. Called only if the text is going to be read.
//
// Threads: the tree's caller.
#ifndef GRAPHTREE_GRAPHS_RUN_WHY_EAGER_H_
#define GRAPHTREE_GRAPHS_RUN_WHY_EAGER_H_

#include <string>

#include "absl/types/span.h"
#include "graphs/check/body_check.h"
#include "graphs/inputs/access_log.h"
#include "graphs/match/input_roles.h"
#include "graphs/reason.h"
#include "graphs/run/books.h"
#include "graphs/run/call.h"
#include "graphs/run/functions.h"
#include "graphs/run/ground.h"
#include "graphs/run/matcher.h"

namespace graphtree {

class WhyEager {
 public:
  // All outlive it.
  WhyEager(const Ground& ground, Books& books, Functions& functions, Matcher& matcher)
      : ground_(ground), books_(books), functions_(functions), matcher_(matcher) {}
  WhyEager(const WhyEager&) = delete;
  WhyEager& operator=(const WhyEager&) = delete;

  // The details; empty if the reason's sentence says it all. `roles`: how a recording would have
  // taken each input; may be empty.
  std::string Told(const Call& call, Reason reason, absl::Span<const RoleChoice> roles);

 private:
  std::string Input(const Call& call, size_t input) const;
  std::string Writer(const Call& call, size_t input) const;
  std::string Written(const Call& call, absl::Span<const RoleChoice> roles) const;
  std::string Overlap(const Call& call) const;
  std::string Mismatch(const Call& call);

  const Ground& ground_;
  Books& books_;
  Functions& functions_;
  Matcher& matcher_;
};

// Notes in the variant which ops write to inputs, and where they were launched if `check` knows.
void LearnWriters(const AccessLog& log, const BodyCheck* check, absl::Span<const Value> inputs,
                  Variant* variant);

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RUN_WHY_EAGER_H_
