// Writes a snapshot as JSON: what Python's json.dump makes of the pickle.
//
// Tuples become arrays, and every stack is written in full wherever it is used, so that any tool
// can read the text; it is many times the size of the pickle. Raw bytes, and keys that are bytes or
// tuples, which json.dump refuses, become an object with one key, "(bytes)" or "(dict)"
// (json_marks.h).
#ifndef GRAPHTREE_ALLOCATOR_SNAPSHOT_JSON_FORMAT_H_
#define GRAPHTREE_ALLOCATOR_SNAPSHOT_JSON_FORMAT_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "allocator/snapshot/byte_sink.h"
#include "allocator/snapshot/snapshot.h"

namespace graphtree::snapshot {

// Does not commit the sink.
absl::Status WriteJson(const Snapshot& snapshot, ByteSink& sink);

// Roughly the bytes that the stacks will take in JSON, for a program that asks before it writes.
uint64_t JsonStackBytes(const Snapshot& snapshot);

// One value of an unknown part, its tuples marked as json_marks.h says.
absl::StatusOr<std::string> JsonOf(const Snapshot& snapshot, Value value);

}  // namespace graphtree::snapshot

#endif  // GRAPHTREE_ALLOCATOR_SNAPSHOT_JSON_FORMAT_H_
