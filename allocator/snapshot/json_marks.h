// Values that JSON cannot express are written as an object with one key:
//
//   {"(bytes)": "AP8="}      raw bytes, in base64
//   {"(tuple)": [1, 2]}      a tuple, in the texts inside an SQLite file only
//   {"(dict)": [[[1, 2], 3]]}  a dictionary with keys that are no texts, as pairs; where tuples are
//                              not marked a key's lists are tuples, since no key is a list
//
// So that a file's own keys are never taken for these marks, a key that looks like one gets another
// kEscape in front when it is written, and loses it when it is read.
#ifndef GRAPHTREE_ALLOCATOR_SNAPSHOT_JSON_MARKS_H_
#define GRAPHTREE_ALLOCATOR_SNAPSHOT_JSON_MARKS_H_

#include "absl/strings/string_view.h"

namespace graphtree::snapshot {

inline constexpr absl::string_view kEscape = "(";
inline constexpr absl::string_view kBytesKey = "(bytes)";
inline constexpr absl::string_view kTupleKey = "(tuple)";
inline constexpr absl::string_view kDictKey = "(dict)";
// With tuples all keys that begin with kEscape are escaped; without, only those of bytes and
// dictionaries.
bool IsEscapedKey(absl::string_view key, bool with_tuples);

}  // namespace graphtree::snapshot

#endif  // GRAPHTREE_ALLOCATOR_SNAPSHOT_JSON_MARKS_H_
