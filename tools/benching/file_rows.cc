// Asks the kernel.
#include "tools/benching/file_rows.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "device/base/status_macros.h"

namespace graphtree::bench {
namespace {

// "VmHWM" and the like, of this process; negative where the kernel does not say.
double StatusBytes(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind(field + ":", 0) != 0) continue;
    uint64_t kibibytes = 0;
    absl::string_view number = absl::string_view(line).substr(field.size() + 1);
    absl::ConsumeSuffix(&number, "kB");
    return absl::SimpleAtoi(number, &kibibytes) ? 1024.0 * static_cast<double>(kibibytes) : -1;
  }
  return -1;
}

}  // namespace

TemporaryFile::TemporaryFile() {
  const char* folder = std::getenv("TEST_TMPDIR");
  path_ = absl::StrCat(folder != nullptr ? folder : "/tmp", "/graphtree-bench-", getpid());
}

TemporaryFile::~TemporaryFile() { unlink(path_.c_str()); }

double ProcessorSeconds() {
  timespec now = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

Outcome MemoryOfReading(const std::string& path, absl::FunctionRef<absl::Status()> read,
                        double least_bytes) {
  const double before = StatusBytes("VmRSS");
  if (!(std::ofstream("/proc/self/clear_refs") << "5") || before < 0) {
    return Skipped("the kernel does not say how much memory was used at most");
  }
  GRAPHTREE_RETURN_IF_ERROR(read());
  std::ifstream size(path, std::ios::ate | std::ios::binary);
  return Measurement{.ours = StatusBytes("VmHWM") - before,
                     .baseline = std::max(least_bytes, static_cast<double>(size.tellg()))};
}

}  // namespace graphtree::bench
