// Makes a caller's name fit for a text that is read line by line: a line end or another control
// character, and a byte that is no UTF-8, is written as its escape, and all else stays as it is.
#ifndef GRAPHTREE_DEVICE_BASE_ONE_LINE_H_
#define GRAPHTREE_DEVICE_BASE_ONE_LINE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace graphtree {

// A line end between an a and a b gives the four characters a\nb, and a byte 0xff a\xffb.
std::string OneLine(absl::string_view text);

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_BASE_ONE_LINE_H_
