// Commas, quotes, escapes, and the check that brackets nest.
#include "device/base/json_writer.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "device/base/check.h"

namespace graphtree {
namespace {

// The length of the UTF-8 character at the start, or 0 where the bytes are not one.
size_t Utf8Length(absl::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  const size_t length = lead < 0x80                   ? 1
                        : lead >= 0xC2 && lead < 0xE0 ? 2
                        : lead >= 0xE0 && lead < 0xF0 ? 3
                        : lead >= 0xF0 && lead < 0xF5 ? 4
                                                      : 0;
  if (length == 0 || length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  // Longer than needed, a surrogate half, or beyond the last code point.
  if (lead == 0xE0 && byte(1) < 0xA0) return 0;
  if (lead == 0xED && byte(1) > 0x9F) return 0;
  if (lead == 0xF0 && byte(1) < 0x90) return 0;
  if (lead == 0xF4 && byte(1) > 0x8F) return 0;
  return length;
}

void AppendEscaped(char c, std::string& quoted) {
  switch (c) {
    case '"':
      quoted += "\\\"";
      return;
    case '\\':
      quoted += "\\\\";
      return;
    case '\n':
      quoted += "\\n";
      return;
    case '\t':
      quoted += "\\t";
      return;
    case '\r':
      quoted += "\\r";
      return;
    default:
      break;
  }
  if (static_cast<unsigned char>(c) >= 0x20) {
    quoted += c;
    return;
  }
  char escape[8];
  std::snprintf(escape, sizeof(escape), "\\u%04x", c);
  quoted += escape;
}

}  // namespace

std::string JsonQuoted(absl::string_view text) {
  std::string quoted = "\"";
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    if (length == 1) {
      AppendEscaped(text[0], quoted);
    } else if (length == 0) {
      quoted += "\\ufffd";
    } else {
      quoted.append(text.data(), length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  quoted += '"';
  return quoted;
}

bool IsUtf8(absl::string_view text) {
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string Utf8Of(absl::string_view text) {
  std::string utf8;
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    if (length == 0) {
      utf8 += "\xEF\xBF\xBD";
    } else {
      utf8.append(text.data(), length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return utf8;
}

void JsonWriter::BeforeValue() {
  if (open_.empty()) {
    GRAPHTREE_CHECK(text_.empty()) << "a second value after " << text_;
    return;
  }
  GRAPHTREE_CHECK(open_.back() == '[' || after_key_) << "a value without a key after " << text_;
  if (open_.back() == '[' && !first_) text_ += ',';
  first_ = false;
  after_key_ = false;
}

JsonWriter& JsonWriter::Open(char bracket) {
  BeforeValue();
  text_ += bracket;
  open_ += bracket;
  first_ = true;
  return *this;
}

JsonWriter& JsonWriter::Close(char opened, char bracket) {
  GRAPHTREE_CHECK(!open_.empty() && open_.back() == opened && !after_key_)
      << "cannot close with " << bracket << " after " << text_;
  open_.pop_back();
  text_ += bracket;
  first_ = false;
  return *this;
}

JsonWriter& JsonWriter::Key(absl::string_view key) {
  GRAPHTREE_CHECK(!open_.empty() && open_.back() == '{' && !after_key_)
      << "no place for the key " << key << " after " << text_;
  if (!first_) text_ += ',';
  first_ = false;
  after_key_ = true;
  text_ += JsonQuoted(key) + ":";
  return *this;
}

JsonWriter& JsonWriter::String(absl::string_view value) { return Word(JsonQuoted(value)); }

JsonWriter& JsonWriter::Number(double value) {
  if (!std::isfinite(value)) return Null();
  char word[32];
  // Seventeen digits bring every double back; fewer are tried first, for the reader's sake.
  for (int digits : {6, 15, 17}) {
    std::snprintf(word, sizeof(word), "%.*g", digits, value);
    if (std::strtod(word, nullptr) == value) break;
  }
  return Word(word);
}

JsonWriter& JsonWriter::Word(absl::string_view word) {
  BeforeValue();
  text_.append(word.data(), word.size());
  return *this;
}

}  // namespace graphtree
