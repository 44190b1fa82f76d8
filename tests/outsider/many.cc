// Children, and what they leave in the memory that they share with this process.
#include "tests/outsider/many.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cctype>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <new>
#include <utility>

#include "absl/base/config.h"
#include "absl/strings/str_cat.h"
#include "graphs/reason.h"
#include "tests/outsider/shrink.h"

#ifdef ABSL_HAVE_ADDRESS_SANITIZER
#include <sanitizer/lsan_interface.h>
#endif

namespace graphtree::outsider {
namespace {

constexpr unsigned kSecondsEach = 30;

// What a child tells: where it is, what it did, what was wrong.
struct Told {
  uint64_t seed = 0;
  Coverage coverage;
  char wrong[4000] = {};
};

class Shared {
 public:
  Shared()
      : memory_(mmap(nullptr, sizeof(Told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                     0)),
        told_(new (memory_) Told()) {}
  ~Shared() { munmap(memory_, sizeof(Told)); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  Told& told() { return *told_; }

 private:
  void* const memory_;
  Told* const told_;
};

void Tell(const std::string& wrong, Told* told) {
  std::snprintf(told->wrong, sizeof(told->wrong), "%s", wrong.c_str());
}

#ifdef ABSL_HAVE_ADDRESS_SANITIZER
bool Leaks() { return __lsan_do_recoverable_leak_check() != 0; }
#else
bool Leaks() { return false; }
#endif

// True if the child came to its end; else `told` has what was wrong.
bool InChild(const std::function<void()>& work, Told* told) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    work();
    if (told->wrong[0] == 0 && Leaks()) Tell("the heap has leaks", told);
    _exit(told->wrong[0] == 0 ? 0 : 3);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) {
    Tell(WTERMSIG(status) == SIGALRM ? "it hangs" : strsignal(WTERMSIG(status)), told);
  } else if (WEXITSTATUS(status) != 0 && told->wrong[0] == 0) {
    Tell(absl::StrCat("the process ends with ", WEXITSTATUS(status)), told);
  }
  return told->wrong[0] == 0;
}

// A failure's kind: its words without its numbers.
std::string KindOf(const std::string& wrong) {
  std::string kind;
  for (const char c : wrong) {
    if (std::isxdigit(static_cast<unsigned char>(c)) == 0 && kind.size() < 40) kind += c;
  }
  return kind;
}

}  // namespace

Coverage RunMany(const Range& range, const Taste& taste, const Before& before,
                 const std::function<void(const Find&)>& found) {
  Shared shared;
  Told& told = shared.told();
  const uint64_t end = range.first + range.seeds;
  int finds = 0;
  for (uint64_t next = range.first; next < end && finds < range.most; next = told.seed + 1) {
    told.wrong[0] = 0;
    told.seed = next;
    const bool well = InChild(
        [&] {
          if (before) before();
          for (; told.seed < end; ++told.seed) {
            alarm(kSecondsEach);
            const Verdict verdict = RunProgram(Generate(told.seed, taste));
            told.coverage.Add(verdict.coverage);
            if (verdict.wrong.empty()) continue;
            return Tell(verdict.wrong, &told);
          }
        },
        &told);
    if (well) break;
    ++finds;
    found({told.seed, told.wrong});
  }
  return told.coverage;
}

std::string RunApart(const Program& program, const Before& before) {
  Shared shared;
  InChild(
      [&] {
        if (before) before();
        alarm(kSecondsEach);
        Tell(RunProgram(program).wrong, &shared.told());
      },
      &shared.told());
  return shared.told().wrong;
}

Program ShrinkApart(const Program& program, const std::string& wrong, const Before& before,
                    int most) {
  const std::string kind = KindOf(wrong);
  return Shrink(
      program,
      [&](const Program& smaller) {
        const std::string again = RunApart(smaller, before);
        return !again.empty() && KindOf(again) == kind;
      },
      most);
}

std::string FindText(const Find& find, const Taste& taste, const Program& shrunk) {
  return absl::StrCat("seed ", find.seed, ": ", find.wrong, "\n  again: --first=", find.seed,
                      " --seeds=1", taste.faults ? " --faults" : "", "\n", TextOf(shrunk), "\n");
}

std::string CoverageText(const Coverage& c) {
  std::string text = absl::StrCat(
      c.programs, " programs, ", c.calls, " calls: ", c.replays, " replays, ", c.recordings,
      " recordings, ", c.warm_ups, " warm-ups, ", c.eager, " eager\n", c.sections, " sections, ",
      c.parts, " parts, ", c.copied, " inputs copied, ", c.patched, " patched, ", c.spares,
      " spares, ", c.again, " made again, ");
  absl::StrAppend(&text, c.restores, " restores\n", c.wrong_calls, " wrong calls, ",
                  c.failed_calls, " failed, ", c.faults, " faults, ", c.lost, " lost, ",
                  c.kept_held, " kept seen, ", c.stale_seen, " stale seen, ", c.outlived,
                  " outlived\n");
  for (size_t i = 0; i < kActCount; ++i) {
    absl::StrAppend(&text, NameOf(static_cast<Act>(i)), " ", c.acts[i], "  ");
  }
  text += "\n";
  for (size_t i = 0; i < kDoCount; ++i) {
    absl::StrAppend(&text, NameOf(static_cast<Do>(i)), " ", c.done[i], "  ");
  }
  text += "\n";
  for (size_t i = 0; i < kReasonCount; ++i) {
    absl::StrAppend(&text, ReasonName(static_cast<Reason>(i)), " ", c.reasons[i], "  ");
  }
  return text + "\n";
}

}  // namespace graphtree::outsider
