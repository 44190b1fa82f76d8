// Writes JSON into a string, one value after the other. It places commas, quotes and escapes; the
// caller opens and closes objects and arrays, and a wrong nesting is a bug that stops the process.
//
//   JsonWriter json;
//   json.BeginObject().Key("name").String(name).Key("bytes").Integer(bytes).EndObject();
//   console.out << json.text() << "\n";
//
// The text is always valid JSON: bytes that are not UTF-8 become U+FFFD, and numbers that JSON
// cannot express (nan, inf) become null. Not thread-safe; costs an append for each value.
#ifndef GRAPHTREE_DEVICE_BASE_JSON_WRITER_H_
#define GRAPHTREE_DEVICE_BASE_JSON_WRITER_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace graphtree {

class JsonWriter {
 public:
  JsonWriter& BeginObject() { return Open('{'); }
  JsonWriter& EndObject() { return Close('{', '}'); }
  JsonWriter& BeginArray() { return Open('['); }
  JsonWriter& EndArray() { return Close('[', ']'); }

  // Only in an object; the next call gives its value.
  JsonWriter& Key(absl::string_view key);

  JsonWriter& String(absl::string_view value);
  JsonWriter& Integer(int64_t value) { return Word(std::to_string(value)); }
  JsonWriter& Unsigned(uint64_t value) { return Word(std::to_string(value)); }
  JsonWriter& Number(double value);
  JsonWriter& Bool(bool value) { return Word(value ? "true" : "false"); }
  JsonWriter& Null() { return Word("null"); }

  // A value that is JSON already.
  JsonWriter& Raw(absl::string_view json) { return Word(json); }

  // What was written; complete once everything that was opened is closed.
  const std::string& text() const { return text_; }
  bool complete() const { return open_.empty() && !text_.empty(); }

 private:
  JsonWriter& Open(char bracket);
  JsonWriter& Close(char opened, char bracket);
  JsonWriter& Word(absl::string_view word);
  void BeforeValue();

  std::string text_;
  std::string open_;   // brackets that are open, outermost first
  bool first_ = true;  // nothing yet inside the innermost bracket
  bool after_key_ = false;
};

// The text in quotes, escaped as JSON wants it.
std::string JsonQuoted(absl::string_view text);

// Whether JSON can express the whole text.
bool IsUtf8(absl::string_view text);

// The text as JSON can express it: each byte that is not UTF-8 becomes U+FFFD.
std::string Utf8Of(absl::string_view text);

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_BASE_JSON_WRITER_H_
