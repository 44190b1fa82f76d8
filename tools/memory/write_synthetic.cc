// Writes a synthetic snapshot, for tests of large files, and prints its totals:
//   write_synthetic FILE PROTOCOL STEPS [STACKS DEPTH SEGMENTS]      PROTOCOL cpp: PyTorch's own
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "allocator/snapshot/byte_sink.h"
#include "tools/snapshot/synthetic.h"

namespace graphtree::memory {
namespace {

int Main(const std::vector<std::string>& words) {
  snapshot::SyntheticOptions options;
  const auto number = [&](size_t at, auto& to) {
    return words.size() <= at || absl::SimpleAtoi(words[at], &to);
  };
  options.cpp_writer = words.size() > 1 && words[1] == "cpp";
  if (options.cpp_writer) options.protocol = 2;
  const bool known_protocol = options.cpp_writer || number(1, options.protocol);
  if (words.size() < 3 || !known_protocol || !number(2, options.steps) ||
      !number(3, options.stacks) || !number(4, options.depth) || !number(5, options.segments)) {
    std::cerr << "write_synthetic FILE PROTOCOL|cpp STEPS [STACKS DEPTH SEGMENTS]\n";
    return 2;
  }
  auto sink = snapshot::ByteSink::Create(words[0]);
  if (!sink.ok()) {
    std::cerr << sink.status().message() << "\n";
    return 1;
  }
  const snapshot::SyntheticTotals totals = WriteSynthetic(options, **sink);
  const absl::Status done = (*sink)->Commit();
  if (!done.ok()) {
    std::cerr << done.message() << "\n";
    return 1;
  }
  std::cout << totals.segments << " " << totals.blocks << " " << totals.entries << " "
            << totals.reserved << " " << totals.requested << "\n";
  return 0;
}

}  // namespace
}  // namespace graphtree::memory

int main(int argc, char** argv) { return graphtree::memory::Main({argv + 1, argv + argc}); }
