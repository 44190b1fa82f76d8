// Compiled kernels on disk, so that a process does not compile what another one has.
//
//   folder/0123456789abcdef-0123456789abcdef.kernel
//
//   +---------+-----------+-------------+----------+-----+-------------+-------+
//   | magic 8 | key bytes | name bytes  | cubin    | sum | key, name, cubin    |
//   |         | 8         | 8           | bytes 8  | 8   |                     |
//   +---------+-----------+-------------+----------+-----+---------------------+
//
// The key is everything that the result depends on, spelled out: source, entry, options,
// architecture, compiler version. (Not so the files that a source includes: who changes one of
// those changes an option with it, or empties the folder.) Its hash names the file; the key itself
// is compared, so two keys with one hash cost a compilation and never a wrong kernel. The sum
// covers everything after it: an entry that was cut short or overwritten is found out and counts
// as missing.
//
// An entry is written beside its place and renamed, so a reader sees a whole one or none, and
// processes that write the same entry at once do no harm. A folder that cannot be made or written
// is no error: entries are then lost.
//
// Threads and processes: safe from all.
#ifndef GRAPHTREE_DEVICE_CUDA_NVRTC_COMPILE_CACHE_H_
#define GRAPHTREE_DEVICE_CUDA_NVRTC_COMPILE_CACHE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace graphtree {

struct CompiledSource {
  std::string cubin;
  std::string lowered_name;
};

// Everything that a compilation depends on, in one string that no other input makes.
std::string CompileKey(const std::string& text, const std::string& entry,
                       const std::vector<std::string>& options, const std::string& architecture,
                       const std::string& compiler_version);

class CompileCache {
 public:
  // An empty folder keeps nothing.
  explicit CompileCache(std::string folder) : folder_(std::move(folder)) {}

  // Nothing if there is no entry, or none that is whole.
  std::optional<CompiledSource> Find(absl::string_view key) const;
  // True if the entry is on disk now.
  bool Put(absl::string_view key, const CompiledSource& compiled) const;

  // Where the entry of a key lies.
  std::string PathOf(absl::string_view key) const;

 private:
  const std::string folder_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_CUDA_NVRTC_COMPILE_CACHE_H_
