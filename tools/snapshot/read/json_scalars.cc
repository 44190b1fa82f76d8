// Texts with their escapes, numbers and the three words of JSON (and Python's three more).
#include <cstdlib>
#include <limits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tools/snapshot/read/json_escapes.h"
#include "tools/snapshot/read/json_reader.h"

namespace graphtree::snapshot {
namespace {

constexpr size_t kMaxNumberLength = 400;

// Joins the surrogate that ends `text`, if one does, with a second half.
bool JoinSurrogates(uint32_t low, std::string& text) {
  const size_t size = text.size();
  if (low < 0xdc00 || low > 0xdfff || size < 3) return false;
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[size - 3 + i]); };
  if (byte(0) != 0xed || (byte(1) & 0xf0) != 0xa0) return false;
  const uint32_t high = 0xd000u | ((byte(1) & 0x3fu) << 6) | (byte(2) & 0x3fu);
  text.resize(size - 3);
  AppendUtf8(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00), text);
  return true;
}

}  // namespace

bool JsonReader::Scalar(char c) {
  ValueStore& values = snapshot_.values;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  switch (c) {
    case '"':
      if (!String(scratch_)) return false;
      stack_.Push(Value(Value::kString, snapshot_.strings.Intern(scratch_)));
      return true;
    case 't': return Literal("true", Value(Value::kBool, 1));
    case 'f': return Literal("false", Value(Value::kBool, 0));
    case 'n': return Literal("null", Value());
    case 'N': return Literal("NaN", values.Double(std::numeric_limits<double>::quiet_NaN()));
    case 'I': return Literal("Infinity", values.Double(kInfinity));
    default: return Number();
  }
}

bool JsonReader::Literal(absl::string_view rest, Value value) {
  for (char expected : rest) {
    char c;
    if (!Peek(c)) return CutOff();
    if (c != expected) return Fail(absl::StrCat("'", rest, "' is misspelt"));
    ++p_;
  }
  stack_.Push(value);
  return true;
}

bool JsonReader::Number() {
  scratch_.clear();
  bool is_double = false;
  char c;
  while (Peek(c)) {
    const bool digit = (c >= '0' && c <= '9') || c == '-' || c == '+';
    const bool real = c == '.' || c == 'e' || c == 'E';
    const bool infinity = scratch_ == "-" && c == 'I';
    if (infinity) {
      const double value = -std::numeric_limits<double>::infinity();
      return Literal("Infinity", snapshot_.values.Double(value));
    }
    if (!digit && !real) break;
    is_double |= real;
    scratch_.push_back(c);
    if (scratch_.size() > kMaxNumberLength) return Fail("a number that never ends");
    ++p_;
  }
  if (!status_.ok()) return false;
  int64_t integer;
  uint64_t large;
  double real;
  if (scratch_.empty()) return Fail("a value is missing");
  if (scratch_[0] == '+') return Fail("a number that begins with +");
  if (!is_double && absl::SimpleAtoi(scratch_, &integer)) {
    stack_.Push(snapshot_.values.Integer(integer));
  } else if (!is_double && absl::SimpleAtoi(scratch_, &large)) {
    stack_.Push(snapshot_.values.Unsigned(large));
  } else if (is_double && absl::SimpleAtod(scratch_, &real)) {
    stack_.Push(snapshot_.values.Double(real));
  } else {
    return Fail(absl::StrCat("'", scratch_, "' is no number of at most 64 bits"));
  }
  return true;
}

bool JsonReader::String(std::string& text) {
  text.clear();
  ++p_;
  for (;;) {
    char c;
    if (!Peek(c)) return CutOff();
    const char* run = p_;
    while (p_ != end_ && *p_ != '"' && *p_ != '\\' && static_cast<uint8_t>(*p_) >= ' ') ++p_;
    text.append(run, p_ - run);
    if (p_ == end_) continue;
    if (*p_ == '"') {
      ++p_;
      return true;
    }
    if (*p_ != '\\') return Fail("a control character in a text");
    ++p_;
    if (!Escape(text)) return false;
  }
}

bool JsonReader::Escape(std::string& text) {
  char c;
  if (!Peek(c)) return CutOff();
  ++p_;
  switch (c) {
    case '"':
    case '\\':
    case '/': text.push_back(c); return true;
    case 'b': text.push_back('\b'); return true;
    case 'f': text.push_back('\f'); return true;
    case 'n': text.push_back('\n'); return true;
    case 'r': text.push_back('\r'); return true;
    case 't': text.push_back('\t'); return true;
    case 'u': {
      uint32_t unit = 0;
      if (!HexDigits(unit)) return false;
      if (!JoinSurrogates(unit, text)) AppendUtf8(unit, text);
      return true;
    }
    default: return Fail("an unknown escape in a text");
  }
}

bool JsonReader::HexDigits(uint32_t& unit) {
  for (int i = 0; i < 4; ++i) {
    char c;
    if (!Peek(c)) return CutOff();
    const int digit = HexValue(c);
    if (digit < 0) return Fail("\\u is not followed by four hexadecimal digits");
    unit = (unit << 4) | static_cast<uint32_t>(digit);
    ++p_;
  }
  return true;
}

}  // namespace graphtree::snapshot
