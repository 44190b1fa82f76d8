// Runs something in a process of its own, since a planted bug may also be found by a check of the
// library's, which ends the process.
#ifndef GRAPHTREE_TESTS_SIMULATION_IN_CHILD_H_
#define GRAPHTREE_TESTS_SIMULATION_IN_CHILD_H_

#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <functional>
#include <string>

namespace graphtree::simulation {

// What `run` returned, as far as it fits; "a check of the library's" if its process ended in
// another way.
inline std::string FailureInChild(const std::function<std::string()>& run) {
  constexpr size_t kMostText = 1000;
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    const std::string failure = run().substr(0, kMostText);
    const bool told = write(ends[1], failure.data(), failure.size()) ==
                      static_cast<ssize_t>(failure.size());
    _exit(told ? 0 : 1);
  }
  close(ends[1]);
  char text[kMostText];
  const ssize_t length = read(ends[0], text, kMostText);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (length > 0) return std::string(text, length);
  return status == 0 ? "" : "a check of the library's";
}

}  // namespace graphtree::simulation

#endif  // GRAPHTREE_TESTS_SIMULATION_IN_CHILD_H_
