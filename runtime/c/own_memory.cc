// Compiled with exceptions, alone of this folder.
#include "runtime/c/own_memory.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <new>

namespace graphtree::c {
namespace {

// Takes nothing from the heap.
[[noreturn]] void EndWithoutMemory(const char* call) {
  char words[128];
  const int length =
      std::snprintf(words, sizeof(words), "graphtree: out of host memory in %s\n", call);
  const size_t bytes = std::min(static_cast<size_t>(std::max(length, 0)), sizeof(words) - 1);
  // Where nobody hears it, it ends all the same.
  if (write(STDERR_FILENO, words, bytes) < 0) std::abort();
  std::abort();
}

}  // namespace

bool TryOwn(absl::FunctionRef<void()> make) {
  try {
    make();
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

void ActOrEnd(const char* call, absl::FunctionRef<void()> act) {
  try {
    act();
  } catch (const std::bad_alloc&) {
    EndWithoutMemory(call);
  }
}

}  // namespace graphtree::c
