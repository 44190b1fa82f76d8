// PartFile: the name under which a file is written until it is whole.
//
//   out.pickle.part-1234   --Move-->   out.pickle
//
// A part that is not moved is removed: by the destructor, or by RemoveAll, which a program calls
// from its handler of the signals that end it. The names of all parts lie in a fixed table of
// atomics, so that RemoveAll is safe in a handler: it takes no lock and no memory.
//
// One part belongs to one thread; any number of threads may have parts, of which the first sixteen
// are known to RemoveAll.
#ifndef GRAPHTREE_ALLOCATOR_SNAPSHOT_PART_FILE_H_
#define GRAPHTREE_ALLOCATOR_SNAPSHOT_PART_FILE_H_

#include <memory>
#include <string>

#include "absl/status/status.h"

namespace graphtree::snapshot {

class PartFile {
 public:
  // A name for the part of the file `whole`; creates nothing.
  explicit PartFile(const std::string& whole);
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;
  ~PartFile();

  const std::string& path() const { return *path_; }
  // Moves the part to its place, over whatever is there.
  absl::Status Move();

  // For signal handlers.
  static void RemoveAll();

 private:
  void Forget();

  const std::string whole_;
  std::unique_ptr<const std::string> path_;
  int slot_ = -1;
  bool moved_ = false;
};

}  // namespace graphtree::snapshot

#endif  // GRAPHTREE_ALLOCATOR_SNAPSHOT_PART_FILE_H_
