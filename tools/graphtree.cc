// The command line `graphtree`: `graphtree --help` lists what it can do.
#include <iostream>

#include "tools/all_verbs.h"

int main(int argc, char** argv) {
  return graphtree::AllVerbs().Run({argv + 1, argv + argc}, {std::cin, std::cout, std::cerr});
}
