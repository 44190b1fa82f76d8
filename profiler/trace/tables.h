// TraceTables: the texts and identities that a trace's records point to, each once.
//
// Both tables only grow, up to a limit each: a trace of a server that runs for days, or a file that
// was made to exhaust memory, then gets kTooMany for what is new, and the number of such texts is
// told in `overflowed`. What was interned before stays right.
//
// One thread interns; others may read what they were given before. A look-up costs a hash of the
// text, and a copy if it is new.
#ifndef GRAPHTREE_PROFILER_TRACE_TABLES_H_
#define GRAPHTREE_PROFILER_TRACE_TABLES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "profiler/trace/records.h"

namespace graphtree::trace {

struct TableLimits {
  size_t text_bytes = size_t{64} << 20;
  size_t texts = 1 << 20;
  size_t identities = 1 << 19;
};

class TraceTables {
 public:
  explicit TraceTables(TableLimits limits = {});
  TraceTables(const TraceTables&) = delete;
  TraceTables& operator=(const TraceTables&) = delete;

  TextId Text(absl::string_view text);
  IdentityId Intern(const Identity& identity);

  absl::string_view text(TextId id) const { return texts_[id]; }
  const Identity& identity(IdentityId id) const { return identities_[id]; }
  size_t text_count() const { return texts_.size(); }
  size_t identity_count() const { return identities_.size(); }
  // How often a text or an identity found its table full.
  uint64_t overflowed() const { return overflowed_; }
  size_t bytes() const;

  static constexpr absl::string_view kTooMany = "(more names than the trace has room for)";

 private:
  static absl::string_view BytesOf(const Identity& identity) {
    return {reinterpret_cast<const char*>(&identity), sizeof(identity)};
  }
  absl::string_view Copy(absl::string_view text);

  const TableLimits limits_;
  std::vector<absl::string_view> texts_;
  absl::flat_hash_map<absl::string_view, TextId> text_ids_;
  std::vector<Identity> identities_;
  absl::flat_hash_map<absl::string_view, IdentityId> identity_ids_;  // by its bytes, in chunks_
  std::vector<std::unique_ptr<char[]>> chunks_;
  char* free_ = nullptr;
  size_t free_bytes_ = 0;
  size_t chunk_bytes_ = 0;
  uint64_t overflowed_ = 0;
  TextId too_many_ = 0;
  IdentityId too_many_identity_ = 0;
};

}  // namespace graphtree::trace

#endif  // GRAPHTREE_PROFILER_TRACE_TABLES_H_
