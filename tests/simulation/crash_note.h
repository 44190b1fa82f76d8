// What a crash of the simulation leaves behind: which seed ran, how to run it again, how far it had
// come, and the program.
//
//   InstallCrashHandler();                    before the first device is opened
//   ...
//   const CrashNote note(RerunOf(...), [&] { return ToString(program); });
//   CrashNote::AtAction(17);
//       SIGSEGV, or an abort by a check  ->  stderr:  "crashed in action 17 of: ..."
//
// A program that fails is told by the test itself; one that kills the process cannot be, so its
// note is made before it runs. The handler calls nothing but write, and then lets the signal do
// what it would have done. Without the handler a note does nothing, and no text is made.
//
// The host device catches faults of its kernels on its own, and passes on those that are not: hence
// the order.
#ifndef GRAPHTREE_TESTS_SIMULATION_CRASH_NOTE_H_
#define GRAPHTREE_TESTS_SIMULATION_CRASH_NOTE_H_

#include <cstdint>
#include <functional>
#include <string>

namespace graphtree::simulation {

// Again, it does nothing. Not for two threads at once.
void InstallCrashHandler();

// "GRAPHTREE_SIMULATION_FROM=17 GRAPHTREE_SIMULATION_SEEDS=1 TEST".
std::string RerunOf(const std::string& test, uint32_t from);

// One at a time; the last one made counts.
class CrashNote {
 public:
  CrashNote(const std::string& rerun, const std::function<std::string()>& program);
  ~CrashNote();
  CrashNote(const CrashNote&) = delete;
  CrashNote& operator=(const CrashNote&) = delete;

  // On any thread: this action begins.
  static void AtAction(uint64_t number);
  // For tests of the note: called where an action begins; null: nothing is.
  static void set_at_action(void (*hook)(uint64_t number));

 private:
  const std::string text_;
};

}  // namespace graphtree::simulation

#endif  // GRAPHTREE_TESTS_SIMULATION_CRASH_NOTE_H_
