// Draws, prints, shrinks.
#include "tests/simulation/together.h"

#include <algorithm>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/simulation/shrink.h"

namespace graphtree::simulation {
namespace {

constexpr uint32_t kThreads = 3;
constexpr uint32_t kActions = 24;
constexpr uint32_t kOneFailsIn = 12;
constexpr uint32_t kMostDeviceCalls = 24;  // of one call that may fail
constexpr uint32_t kTurnsOfCall = 9;  // before it, and before each of so many ops

using Fails = std::function<bool(const Together&)>;

// The same without thread `gone`: who was to hand on to it goes on instead.
Together Without(const Together& together, uint32_t gone) {
  Together fewer = together;
  fewer.programs.erase(fewer.programs.begin() + gone);
  for (uint32_t t = 0; t < fewer.programs.size(); ++t) {
    for (Action& action : fewer.programs[t].actions) {
      for (uint32_t& turn : action.turns) {
        turn = turn == gone ? t : turn - (turn > gone ? 1 : 0);
      }
    }
  }
  return fewer;
}

bool DropThreads(Together* together, const Fails& fails) {
  bool any = false;
  for (uint32_t t = 0; t < together->programs.size() && together->programs.size() > 1;) {
    Together fewer = Without(*together, t);
    if (!fails(fewer)) {
      ++t;
      continue;
    }
    *together = std::move(fewer);
    any = true;
  }
  return any;
}

bool ShrinkEach(Together* together, const Fails& fails, int tries) {
  bool any = false;
  for (size_t t = 0; t < together->programs.size(); ++t) {
    const size_t before = ToString(together->programs[t]).size();
    const auto with = [&](const Program& program) {
      Together other = *together;
      other.programs[t] = program;
      return other;
    };
    const Program small = Shrink(
        together->programs[t], [&](const Program& tried) { return fails(with(tried)); }, tries);
    *together = with(small);
    any |= ToString(small).size() < before;
  }
  return any;
}

// All of a thread's, then those of half of its actions, down to those of single ones.
bool DropTurns(Together* together, const Fails& fails) {
  bool any = false;
  for (size_t t = 0; t < together->programs.size(); ++t) {
    const size_t actions = together->programs[t].actions.size();
    for (size_t run = actions; run > 0; run /= 2) {
      for (size_t at = 0; at < actions; at += run) {
        Together calmer = *together;
        bool had_some = false;
        for (size_t i = at; i < std::min(at + run, actions); ++i) {
          std::vector<uint32_t>& turns = calmer.programs[t].actions[i].turns;
          had_some |= !turns.empty();
          turns.clear();
        }
        if (!had_some || !fails(calmer)) continue;
        *together = std::move(calmer);
        any = true;
      }
    }
  }
  return any;
}

// Of what is left each turn that may stay where it is; those at an end say nothing then.
bool CalmTurns(Together* together, const Fails& fails) {
  bool any = false;
  for (uint32_t t = 0; t < together->programs.size(); ++t) {
    for (size_t i = 0; i < together->programs[t].actions.size(); ++i) {
      for (size_t n = together->programs[t].actions[i].turns.size(); n > 0; --n) {
        Together calmer = *together;
        std::vector<uint32_t>& turns = calmer.programs[t].actions[i].turns;
        const bool last = n == turns.size();
        if (turns[n - 1] == t && !last) continue;
        turns[n - 1] = t;
        if (last) turns.pop_back();
        if (!fails(calmer)) continue;
        *together = std::move(calmer);
        any = true;
      }
    }
  }
  return any;
}

}  // namespace

Together MakeTogether(uint32_t seed) {
  Together together;
  together.seed = seed;
  std::mt19937 random(seed);
  const uint32_t failing = random() % (kThreads + 2);
  for (uint32_t t = 0; t < kThreads; ++t) {
    // Trees that meet have enough to show without bodies that store.
    Program program = MakeProgram(kThreads * seed + t, kActions * (t + 1), false);
    const bool fails = failing == t || failing == kThreads + 1;
    for (Action& action : program.actions) {
      action.fail_at = fails && random() % kOneFailsIn == 0 ? 1 + random() % kMostDeviceCalls : 0;
      // More is under way at a time, on more streams, than one caller alone has.
      const bool restreams = random() % 2 == 0;
      if (action.kind == ActionKind::kDrop && restreams) action.kind = ActionKind::kRestream;
      action.look &= random() % 2 == 0;
      const uint32_t turns = action.kind == ActionKind::kCall ? kTurnsOfCall : 1;
      for (uint32_t n = 0; n < turns; ++n) action.turns.push_back(random() % kThreads);
    }
    together.programs.push_back(std::move(program));
  }
  return together;
}

std::string ToString(const Together& together) {
  std::string text = absl::StrCat("seed ", together.seed, ", ", together.programs.size(),
                                  together.in_turns ? " threads in turns\n" : " threads\n");
  for (size_t t = 0; t < together.programs.size(); ++t) {
    absl::StrAppend(&text, "thread ", t, " runs ", ToString(together.programs[t]));
  }
  return text;
}

Together Shrink(Together together, const Fails& fails, int tries) {
  const Fails counted = [&fails, &tries](const Together& tried) {
    return tries-- > 0 && fails(tried);
  };
  while (tries > 0) {
    const bool fewer_threads = DropThreads(&together, counted);
    const bool smaller = ShrinkEach(&together, counted, tries);
    const bool fewer_turns = DropTurns(&together, counted);
    const bool calmer = CalmTurns(&together, counted);
    if (!fewer_threads && !smaller && !fewer_turns && !calmer) break;
  }
  return together;
}

std::string ToString(const std::vector<Moment>& order) {
  std::string text;
  for (size_t i = 0; i < order.size(); ++i) {
    const Moment& moment = order[i];
    if (i == 0 || order[i - 1].thread != moment.thread) {
      absl::StrAppend(&text, i == 0 ? "" : "; ", "thread ", moment.thread, ":");
    }
    absl::StrAppend(&text, " ", moment.action);
    if (moment.op > 0) absl::StrAppend(&text, "+", moment.op);
  }
  return text;
}

}  // namespace graphtree::simulation
