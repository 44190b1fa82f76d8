// Simulations that are made to crash, in processes of their own: what they leave on stderr.
#include "tests/simulation/crash_note.h"

#include <sys/mman.h>

#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>

#include "device/base/check.h"
#include "tests/simulation/program.h"
#include "tests/simulation/run_program.h"
#include "tests/simulation/run_together.h"
#include "tests/simulation/together.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace graphtree::simulation {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::KilledBySignal;

constexpr uint32_t kSeed = 17;
constexpr uint32_t kActions = 40;
constexpr uint64_t kCrashesIn = 5;

// A page that nobody may touch: sanitizers look for null on their own.
void WriteNowhere() {
  void* const page = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  *static_cast<volatile char*>(page) = 1;
}

template <void (*Crash)()>
void CrashLate(uint64_t number) {
  if (number == kCrashesIn) Crash();
}
void Abort() { std::abort(); }
void FailACheck() { GRAPHTREE_CHECK(kActions == 0) << "planted"; }
void FaultElsewhere() { std::thread(WriteNowhere).join(); }

// The whole way: a handler, then a device with its own, then a program that dies in its sixth
// action.
template <void (*Crash)()>
void RunIntoACrash() {
  InstallCrashHandler();
  CrashNote::set_at_action(CrashLate<Crash>);
  FailureOnHost(MakeProgram(kSeed, kActions));
}

testing::Matcher<const std::string&> TellsAll() {
  return AllOf(HasSubstr("the simulation crashed in action 5 of:\n" +
                         ToString(MakeProgram(kSeed, kActions))),
               HasSubstr("which runs again with GRAPHTREE_SIMULATION_FROM=17 "
                         "GRAPHTREE_SIMULATION_SEEDS=1 tests/simulation/simulation_test\n"));
}

TEST(CrashNoteDeathTest, AFaultInTheMiddleOfAProgram) {
  EXPECT_EXIT(RunIntoACrash<WriteNowhere>(), KilledBySignal(SIGSEGV), TellsAll());
}

TEST(CrashNoteDeathTest, AnAbort) {
  EXPECT_EXIT(RunIntoACrash<Abort>(), KilledBySignal(SIGABRT), TellsAll());
}

TEST(CrashNoteDeathTest, ACheckThatFailsTellsItsOwnStoryToo) {
  EXPECT_EXIT(RunIntoACrash<FailACheck>(), KilledBySignal(SIGABRT),
              AllOf(HasSubstr("planted"), TellsAll()));
}

TEST(CrashNoteDeathTest, AFaultOnAnotherThread) {
  EXPECT_EXIT(RunIntoACrash<FaultElsewhere>(), KilledBySignal(SIGSEGV), TellsAll());
}

// Programs of threads have their own way to run again.
TEST(CrashNoteDeathTest, AFaultOfProgramsThatRunTogether) {
  const auto run = [] {
    InstallCrashHandler();
    CrashNote::set_at_action(CrashLate<WriteNowhere>);
    FailureOf(Together{6, true, {MakeProgram(kSeed, kActions), MakeProgram(kSeed + 1, kActions)}});
  };
  EXPECT_EXIT(run(), KilledBySignal(SIGSEGV),
              AllOf(HasSubstr("the simulation crashed in action 5 of:\n"
                              "seed 6, 2 threads in turns\nthread 0 runs seed 17"),
                    HasSubstr("thread 1 runs seed 18"),
                    HasSubstr("which runs again with GRAPHTREE_SIMULATION_FROM=6 "
                              "GRAPHTREE_SIMULATION_SEEDS=1 tests/simulation/together_test\n")));
}

TEST(CrashNoteDeathTest, NoteByNoteAndNothingBehindTheLast) {
  const auto crash = [](int notes) {
    InstallCrashHandler();
    {
      const CrashNote first("first", [] { return "program one\n"; });
      CrashNote::AtAction(123456789);
      if (notes == 1) Abort();
    }
    Abort();
  };
  EXPECT_EXIT(crash(1), KilledBySignal(SIGABRT),
              HasSubstr("in action 123456789 of:\nprogram one\nwhich runs again with first\n"));
  EXPECT_EXIT(crash(2), KilledBySignal(SIGABRT), testing::Not(HasSubstr("program one")));
}

TEST(CrashNoteTest, WithoutAHandlerNoTextIsMade) {
  bool is_made = false;
  const CrashNote note("nothing", [&is_made] {
    is_made = true;
    return "";
  });
  EXPECT_FALSE(is_made);
}

}  // namespace
}  // namespace graphtree::simulation
