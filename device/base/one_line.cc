// Byte by byte, and character by character beyond ASCII.
#include "device/base/one_line.h"

#include <cstddef>

#include "device/base/json_writer.h"

namespace graphtree {
namespace {

constexpr size_t kLongestCharacter = 4;

// The length of the UTF-8 character at the start, or 0 where the bytes are not one.
size_t CharacterLength(absl::string_view text) {
  for (size_t length = 1; length <= kLongestCharacter && length <= text.size(); ++length) {
    if (IsUtf8(text.substr(0, length))) return length;
  }
  return 0;
}

std::string Escape(char c) {
  constexpr char kHex[] = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  if (c == '\n') return "\\n";
  if (c == '\r') return "\\r";
  if (c == '\t') return "\\t";
  return {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
}

}  // namespace

std::string OneLine(absl::string_view text) {
  std::string line;
  for (size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const bool is_control = byte < 0x20 || byte == 0x7f;
    const size_t length = is_control ? 0 : byte < 0x80 ? 1 : CharacterLength(text.substr(at));
    if (length == 0) {
      line += Escape(text[at++]);
    } else {
      line.append(text.data() + at, length);
      at += length;
    }
  }
  return line;
}

}  // namespace graphtree
