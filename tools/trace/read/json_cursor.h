// JsonCursor: walks over JSON that lies in memory, as fast as a million events a second need.
//
//   ... {"ph":"X","name":"attend" ...
//           ^ p                      end ^
//
// Every function moves over one token and returns true, or returns false and leaves why: `more` is
// set where the memory ends too early (the caller reads more and begins the event again), `bad`
// where it is no JSON. Texts are views of the memory with their escapes. Nothing is copied, nothing
// recurses, and nesting has a limit.
//
// It takes more than JSON allows where files in the wild do: control characters and backslashes in
// texts, NaN and Infinity as numbers. AppendClean makes JSON of such a value again.
#ifndef GRAPHTREE_TOOLS_TRACE_READ_JSON_CURSOR_H_
#define GRAPHTREE_TOOLS_TRACE_READ_JSON_CURSOR_H_

#include <cstdint>
#include <cstring>
#include <string>

#include "absl/strings/string_view.h"

namespace graphtree::trace {

struct JsonText {
  absl::string_view raw;  // between its quotes
  bool is_escaped = false;
};

class JsonCursor {
 public:
  JsonCursor(const char* p, const char* end) : p_(p), end_(end) {}

  const char* p() const { return p_; }
  bool more() const { return more_; }
  // Why it is no JSON; null where it is.
  const char* bad() const { return bad_; }

  // The next character that is no space, which it does not pass.
  bool Peek(char& c) {
    while (p_ != end_) {
      c = *p_;
      if (c != ' ' && c != '\n' && c != '\t' && c != '\r') return true;
      ++p_;
    }
    more_ = true;
    return false;
  }
  bool Expect(char wanted, const char* missing) {
    char c;
    if (!Peek(c)) return false;
    if (c != wanted) return Fail(missing);
    ++p_;
    return true;
  }
  // After the `{` of an object, or a value in it: the next key with its colon. `at_end` where the
  // object ends instead.
  bool NextKey(bool& is_first, absl::string_view& key, bool& at_end) {
    JsonText text;
    if (!NextItem(is_first, at_end)) return false;
    if (at_end) return true;
    if (!Text(text) || !Expect(':', "a colon after a key is missing")) return false;
    key = text.raw;
    return true;
  }
  // After the `[` of an array, or a value in it: is there another?
  bool NextItem(bool& is_first, bool& at_end) {
    char c;
    if (!Peek(c)) return false;
    at_end = c == ']' || c == '}';
    if (at_end) {
      ++p_;
      return true;
    }
    if (!is_first && !Expect(',', "a comma is missing")) return false;
    is_first = false;
    return true;
  }
  bool Text(JsonText& text) {
    if (!Expect('"', "a text in quotes is missing")) return false;
    const char* const begin = p_;
    p_ = EndOfPlain(p_, end_);
    if (p_ == end_ || *p_ != '"') return RestOfText(begin, text);
    text.raw = {begin, static_cast<size_t>(p_ - begin)};
    text.is_escaped = false;
    ++p_;
    return true;
  }
  bool Skip();                         // any value
  bool Value(absl::string_view& raw);  // any value, as it stands there
  // The same, quicker where it is a whole or decimal number.
  bool NumberOrValue(absl::string_view& raw) {
    char c;
    if (!Peek(c)) return false;
    const char* p = p_;
    int dots = 0;
    for (; p != end_ && ((*p >= '0' && *p <= '9') || *p == '.'); ++p) dots += *p == '.' ? 1 : 0;
    const bool is_whole = p != end_ && p != p_ && (*p == ',' || *p == '}');
    const bool is_plain = is_whole && dots < 2 && c != '.' && c != '0' && p[-1] != '.';
    if (!is_plain) return Value(raw);
    raw = {p_, static_cast<size_t>(p - p_)};
    p_ = p;
    return true;
  }
  // A number, or a word such as null or NaN, as it stands there.
  bool Word(absl::string_view& raw);
  bool Fail(const char* why) {
    bad_ = why;
    return false;
  }

 private:
  // The first quote or backslash.
  static const char* EndOfPlain(const char* p, const char* end) {
    constexpr uint64_t kOnes = 0x0101010101010101u;
    constexpr uint64_t kHighs = 0x8080808080808080u;
    // Marks bytes that have the value, and maybe some behind the first that has.
    const auto equal = [](uint64_t bytes, char value) {
      const uint64_t zero = bytes ^ (kOnes * static_cast<uint8_t>(value));
      return (zero - kOnes) & ~zero & kHighs;
    };
    for (; end - p >= 8; p += 8) {
      uint64_t bytes;
      std::memcpy(&bytes, p, sizeof(bytes));
      const uint64_t found = equal(bytes, '"') | equal(bytes, '\\');
      if (found != 0) return p + (__builtin_ctzll(found) >> 3);
    }
    while (p != end && *p != '"' && *p != '\\') ++p;
    return p;
  }
  bool RestOfText(const char* begin, JsonText& text);
  bool SkipContainer();
  bool SkipScalar(char c);

  const char* p_;
  const char* const end_;
  bool more_ = false;
  const char* bad_ = nullptr;
};

// Appends a value that Skip has passed, as JSON that every reader takes: a backslash that escapes
// nothing becomes a slash, a control character a space, and what is not UTF-8 U+FFFD.
void AppendClean(absl::string_view raw, std::string& to);

// The text without its escapes; what is ill-formed of them becomes U+FFFD.
std::string Unescaped(absl::string_view raw);

// A number of microseconds as nanoseconds, exactly, at most 2^60 of either sign; 0 where it is no
// number.
int64_t NanosecondsOf(absl::string_view microseconds);
// A whole number, or the whole part of one; clamped. 0 where it is none.
int64_t IntegerOf(absl::string_view word);
uint64_t UnsignedOf(absl::string_view word);
double DoubleOf(absl::string_view word);

}  // namespace graphtree::trace

#endif  // GRAPHTREE_TOOLS_TRACE_READ_JSON_CURSOR_H_
