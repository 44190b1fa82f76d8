// Tokens, and what they mean.
#include "tools/trace/read/json_cursor.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "device/base/json_writer.h"
#include "tools/snapshot/read/json_escapes.h"

namespace graphtree::trace {
namespace {

using snapshot::AppendUtf8;
using snapshot::HexValue;

constexpr int kMostNesting = 256;
constexpr size_t kMostWord = 400;
constexpr int64_t kMostNs = int64_t{1} << 60;

bool IsWordCharacter(char c) {
  return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || (c >= 'a' && c <= 'z') ||
         (c >= 'A' && c <= 'Z');
}

// The four hexadecimal digits at i, or -1.
int32_t UnitAt(absl::string_view raw, size_t i) {
  if (i + 4 > raw.size()) return -1;
  int32_t unit = 0;
  for (size_t k = i; k < i + 4; ++k) {
    const int value = HexValue(raw[k]);
    if (value < 0) return -1;
    unit = unit * 16 + value;
  }
  return unit;
}

// The escape whose `u` stands at i; returns the last character of it.
size_t AppendUnit(absl::string_view raw, size_t i, std::string& text) {
  constexpr uint32_t kReplacement = 0xfffd;
  const int32_t unit = UnitAt(raw, i + 1);
  if (unit < 0) {
    AppendUtf8(kReplacement, text);
    return i;
  }
  const bool is_high = unit >= 0xd800 && unit < 0xdc00;
  if (is_high && i + 6 < raw.size() && raw[i + 5] == '\\' && raw[i + 6] == 'u') {
    const int32_t low = UnitAt(raw, i + 7);
    if (low >= 0xdc00 && low < 0xe000) {
      AppendUtf8(0x10000u + (static_cast<uint32_t>(unit - 0xd800) << 10) +
                     static_cast<uint32_t>(low - 0xdc00),
                 text);
      return i + 10;
    }
  }
  const bool is_half = unit >= 0xd800 && unit < 0xe000;
  AppendUtf8(is_half ? kReplacement : static_cast<uint32_t>(unit), text);
  return i + 4;
}

size_t DigitsAt(absl::string_view word, size_t i) {
  size_t digits = 0;
  while (i + digits < word.size() && absl::ascii_isdigit(word[i + digits])) ++digits;
  return digits;
}

// As JSON writes numbers: -12.5e+3, and no zero in front.
bool IsNumber(absl::string_view word) {
  size_t i = word[0] == '-' ? 1 : 0;
  const size_t whole = DigitsAt(word, i);
  if (whole == 0 || (whole > 1 && word[i] == '0')) return false;
  i += whole;
  if (i < word.size() && word[i] == '.') {
    const size_t digits = DigitsAt(word, i + 1);
    if (digits == 0) return false;
    i += 1 + digits;
  }
  if (i < word.size() && (word[i] == 'e' || word[i] == 'E')) {
    i += i + 1 < word.size() && (word[i + 1] == '+' || word[i + 1] == '-') ? 2 : 1;
    const size_t digits = DigitsAt(word, i);
    if (digits == 0) return false;
    i += digits;
  }
  return i == word.size();
}

// JSON's three, and those that Python writes.
bool IsLiteral(absl::string_view word) {
  return word == "true" || word == "false" || word == "null" || word == "NaN" ||
         word == "Infinity" || word == "-Infinity";
}

// A whole number of so few digits that it fits, as nearly all are.
bool IsPlain(absl::string_view word, int64_t& value) {
  constexpr size_t kFits = 18;
  if (word.empty() || word.size() > kFits) return false;
  for (const char c : word) {
    if (!absl::ascii_isdigit(c)) return false;
    value = value * 10 + (c - '0');
  }
  return true;
}

int64_t Clamped(double value) {
  if (std::isnan(value)) return 0;
  constexpr double kMost = 9.2e18;
  return static_cast<int64_t>(std::clamp(value, -kMost, kMost));
}

}  // namespace

bool JsonCursor::RestOfText(const char* begin, JsonText& text) {
  text.is_escaped = false;
  for (;; p_ = EndOfPlain(p_, end_)) {
    if (p_ == end_) break;
    if (*p_ == '"') {
      text.raw = {begin, static_cast<size_t>(p_ - begin)};
      ++p_;
      return true;
    }
    text.is_escaped = true;
    if (end_ - p_ < 2) break;
    p_ += 2;
  }
  more_ = true;
  return false;
}

bool JsonCursor::Word(absl::string_view& raw) {
  char c;
  if (!Peek(c)) return false;
  const char* const begin = p_;
  while (p_ != end_ && IsWordCharacter(*p_)) ++p_;
  if (p_ == end_) {
    more_ = true;
    return false;
  }
  raw = {begin, static_cast<size_t>(p_ - begin)};
  if (raw.empty()) return Fail("a value is missing");
  if (raw.size() > kMostWord) return Fail("a number that never ends");
  return true;
}

bool JsonCursor::SkipScalar(char c) {
  JsonText text;
  absl::string_view word;
  if (c == '"') return Text(text);
  if (!Word(word)) return false;
  return IsNumber(word) || IsLiteral(word) || Fail("a word that JSON does not have");
}

// What may stand next: in a list "value , value", in an object "key : value , key : value".
bool JsonCursor::SkipContainer() {
  enum class Due { kValue, kFirst, kKey, kColon, kComma };
  bool is_object[kMostNesting];
  int depth = 0;
  Due due = Due::kValue;
  do {
    char c;
    if (!Peek(c)) return false;
    const bool in_object = depth > 0 && is_object[depth - 1];
    const bool is_key = due == Due::kKey || (due == Due::kFirst && in_object);
    if (c == '}' || c == ']') {
      if (due != Due::kFirst && due != Due::kComma) return Fail("a value is missing");
      if (in_object != (c == '}')) return Fail("a bracket that closes nothing");
      --depth;
      ++p_;
      due = Due::kComma;
    } else if (due == Due::kComma || due == Due::kColon) {
      if (!Expect(due == Due::kColon ? ':' : ',', "a comma or colon is missing")) return false;
      due = due == Due::kComma && in_object ? Due::kKey : Due::kValue;
    } else if (is_key) {
      JsonText key;
      if (!Text(key)) return false;
      due = Due::kColon;
    } else if (c == '{' || c == '[') {
      if (depth == kMostNesting) return Fail("lists and objects nested too deep");
      is_object[depth++] = c == '{';
      ++p_;
      due = Due::kFirst;
    } else {
      if (!SkipScalar(c)) return false;
      due = Due::kComma;
    }
  } while (depth > 0);
  return true;
}

bool JsonCursor::Skip() {
  char c;
  if (!Peek(c)) return false;
  return c == '{' || c == '[' ? SkipContainer() : SkipScalar(c);
}

bool JsonCursor::Value(absl::string_view& raw) {
  char c;
  if (!Peek(c)) return false;
  const char* const begin = p_;
  if (!Skip()) return false;
  raw = {begin, static_cast<size_t>(p_ - begin)};
  return true;
}

void AppendClean(absl::string_view raw, std::string& to) {
  const size_t begin = to.size();
  bool is_ascii = true;
  for (size_t i = 0; i < raw.size(); ++i) {
    const char c = raw[i];
    is_ascii = is_ascii && static_cast<uint8_t>(c) < 0x80;
    if (static_cast<uint8_t>(c) < ' ') {
      to.push_back(' ');
    } else if (c != '\\') {
      to.push_back(c);
    } else {
      constexpr absl::string_view kEscapes = "\"\\/bfnrt";
      const char next = i + 1 < raw.size() ? raw[i + 1] : ' ';
      const bool is_unit = next == 'u' && UnitAt(raw, i + 2) >= 0;
      const bool is_escape = is_unit || kEscapes.find(next) != kEscapes.npos;
      to.push_back(is_escape ? c : '/');
      if (!is_escape) continue;
      to.push_back(next);
      ++i;
    }
  }
  if (is_ascii) return;
  const absl::string_view written = absl::string_view(to).substr(begin);
  if (!IsUtf8(written)) to.replace(begin, to.npos, Utf8Of(written));
}

std::string Unescaped(absl::string_view raw) {
  std::string text;
  text.reserve(raw.size());
  for (size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\\' || i + 1 == raw.size()) {
      text.push_back(raw[i]);
      continue;
    }
    ++i;
    switch (raw[i]) {
      case 'b': text.push_back('\b'); break;
      case 'f': text.push_back('\f'); break;
      case 'n': text.push_back('\n'); break;
      case 'r': text.push_back('\r'); break;
      case 't': text.push_back('\t'); break;
      case 'u': i = AppendUnit(raw, i, text); break;
      default: text.push_back(raw[i]);
    }
  }
  return text;
}

int64_t NanosecondsOf(absl::string_view microseconds) {
  constexpr size_t kMostDigits = 15;  // times a thousand still fit in 2^60
  size_t i = !microseconds.empty() && microseconds[0] == '-' ? 1 : 0;
  const bool negative = i == 1;
  int64_t ns = 0;
  size_t digits = 0;
  for (; i < microseconds.size() && absl::ascii_isdigit(microseconds[i]); ++i, ++digits) {
    if (digits == kMostDigits) break;
    ns = ns * 10 + (microseconds[i] - '0');
  }
  int64_t scale = 1000;
  if (i < microseconds.size() && microseconds[i] == '.' && digits > 0) {
    for (++i; i < microseconds.size() && absl::ascii_isdigit(microseconds[i]); ++i) {
      if (scale == 1) continue;  // finer than a nanosecond
      ns = ns * 10 + (microseconds[i] - '0');
      scale /= 10;
    }
  }
  if (i == microseconds.size() && digits > 0) return negative ? -ns * scale : ns * scale;
  double value;
  if (!absl::SimpleAtod(microseconds, &value) || std::isnan(value)) return 0;
  constexpr double kMost = static_cast<double>(kMostNs);
  return static_cast<int64_t>(std::clamp(std::round(value * 1000), -kMost, kMost));
}

int64_t IntegerOf(absl::string_view word) {
  int64_t value = 0;
  double real;
  if (IsPlain(word, value)) return value;
  if (absl::SimpleAtoi(word, &value)) return value;
  return absl::SimpleAtod(word, &real) ? Clamped(real) : 0;
}

uint64_t UnsignedOf(absl::string_view word) {
  int64_t plain = 0;
  uint64_t value;
  if (IsPlain(word, plain)) return static_cast<uint64_t>(plain);
  return absl::SimpleAtoi(word, &value) ? value : static_cast<uint64_t>(IntegerOf(word));
}

double DoubleOf(absl::string_view word) {
  double value;
  return absl::SimpleAtod(word, &value) ? value : 0;
}

}  // namespace graphtree::trace
