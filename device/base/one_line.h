// Makes a caller's name fit for a text that is read line by line: a line end or another control
// character is written as its escape, and all else stays as it is.
#ifndef GRAPHTREE_DEVICE_BASE_ONE_LINE_H_
#define GRAPHTREE_DEVICE_BASE_ONE_LINE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace graphtree {

// A line end between an a and a b gives the four characters a\nb.
inline std::string OneLine(absl::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string line;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      line += "\\n";
    } else if (c == '\r') {
      line += "\\r";
    } else if (c == '\t') {
      line += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      line += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    } else {
      line += c;
    }
  }
  return line;
}

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_BASE_ONE_LINE_H_
