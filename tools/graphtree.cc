// The command line `graphtree`: `graphtree --help` lists what it can do.
#include <signal.h>

#include <iostream>

#include "allocator/snapshot/part_file.h"
#include "tools/all_verbs.h"

namespace {

// An interrupted program leaves no half-written file behind, and then ends as it would have.
void OnInterrupt(int signal) {
  graphtree::snapshot::PartFile::RemoveAll();
  raise(signal);  // SA_RESETHAND has put the default back; it comes through when this returns
}

}  // namespace

int main(int argc, char** argv) {
  struct sigaction action = {};
  action.sa_handler = OnInterrupt;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before = {};
    sigaction(signal, nullptr, &before);
    if (before.sa_handler != SIG_IGN) sigaction(signal, &action, nullptr);  // nohup stays nohup
  }
  return graphtree::AllVerbs().Run({argv + 1, argv + argc}, {std::cin, std::cout, std::cerr});
}
