// Prints a failed check and stops the process.
#include "device/base/check.h"

#include <cstdio>
#include <cstdlib>
#include <string>

namespace graphtree::check_internal {

Failure::Failure(const char* file, int line, const char* condition) {
  message_ << file << ":" << line << ": check failed: " << condition << " ";
}

Failure::~Failure() {
  const std::string text = message_.str();
  std::fprintf(stderr, "%s\n", text.c_str());
  std::fflush(stderr);
  std::abort();
}

}  // namespace graphtree::check_internal
