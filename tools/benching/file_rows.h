// What rows about files share: a file that goes with the row, time of the processor alone, and how
// much memory reading takes.
#ifndef GRAPHTREE_TOOLS_BENCHING_FILE_ROWS_H_
#define GRAPHTREE_TOOLS_BENCHING_FILE_ROWS_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "tools/benching/row.h"

namespace graphtree::bench {

// The name of a file that nobody else has, which goes when the row is done.
class TemporaryFile {
 public:
  TemporaryFile();
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Of the processor in this process, so that neighbours count for nothing.
double ProcessorSeconds();

// The most memory that `read` takes at any time, against the file's size, of which at least
// `least_bytes` count. Skipped where the kernel does not say.
Outcome MemoryOfReading(const std::string& path, absl::FunctionRef<absl::Status()> read,
                        double least_bytes = 0);

}  // namespace graphtree::bench

#endif  // GRAPHTREE_TOOLS_BENCHING_FILE_ROWS_H_
