// JsonReader: a snapshot written as JSON, read in one pass into the same rows as a pickle.
//
// The JSON is the pickle's structure as Python's json.dump writes it: tuples are arrays, and NaN
// and Infinity are accepted. There is no document tree: a finished object goes straight to the
// RecordBuilder, so a library's parser, which builds one, would only add a copy of everything.
//
// Nothing recurses; nesting has a limit. Not safe for concurrent use. One pass.
#ifndef GRAPHTREE_TOOLS_SNAPSHOT_READ_JSON_READER_H_
#define GRAPHTREE_TOOLS_SNAPSHOT_READ_JSON_READER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "allocator/snapshot/growing_array.h"
#include "allocator/snapshot/snapshot.h"
#include "tools/snapshot/read/byte_source.h"
#include "tools/snapshot/read/record_builder.h"

namespace graphtree::snapshot {

class JsonReader {
 public:
  JsonReader(ByteSource& source, const char* p, RecordBuilder& builder, Snapshot& snapshot);

  // The one value that the text is; only white space may follow it.
  absl::StatusOr<Value> Run();
  void ExpectTuples() { with_tuples_ = true; }

 private:
  struct Level {
    size_t first;  // of the container's items on the stack
    bool is_object;
  };

  // False at the end of the input or with status_ set.
  bool Peek(char& c);
  bool SkipSpace(char& c);
  bool StepInto(char c);
  bool Close(char c);
  bool IsTuple(const Value* items, size_t count, Value& tuple);
  bool IsBytes(const Value* items, size_t count, Value& bytes);
  bool IsDict(const Value* items, size_t count, Value& dict);
  Value TupleOf(const std::vector<Value>& parts);
  Value HashableKey(Value key);
  bool Marked(const Level& level, Value& value);
  bool AfterValue(char c);
  bool Scalar(char c);
  bool String(std::string& text);
  bool Escape(std::string& text);
  bool HexDigits(uint32_t& unit);
  bool Number();
  bool Literal(absl::string_view rest, Value value);
  bool Key();
  bool CheckMemory();
  bool Fail(absl::string_view what);
  bool CutOff();

  ByteSource& source_;
  RecordBuilder& builder_;
  Snapshot& snapshot_;
  const char* p_;
  const char* end_;
  GrowingArray<Value> stack_;
  GrowingArray<Level> levels_;
  std::string scratch_;
  size_t marks_ = 0;  // on the stack, in the place of keys
  bool with_tuples_ = false;
  absl::Status status_;
};

// A JSON text that stands alone, such as a user's metadata or a column of SQLite, as a value.
absl::StatusOr<Value> ParseJsonValue(absl::string_view text, RecordBuilder& builder,
                                     Snapshot& snapshot, bool with_tuples = false);

}  // namespace graphtree::snapshot

#endif  // GRAPHTREE_TOOLS_SNAPSHOT_READ_JSON_READER_H_
