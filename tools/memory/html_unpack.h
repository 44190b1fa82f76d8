// Reads packed columns back, for tests.
#ifndef GRAPHTREE_TOOLS_MEMORY_HTML_UNPACK_H_
#define GRAPHTREE_TOOLS_MEMORY_HTML_UNPACK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace graphtree::memory {

// Fails the test where the bytes are not exactly `count` numbers.
inline std::vector<uint64_t> Unpack(const std::string& bytes, size_t count) {
  std::vector<uint64_t> values;
  uint64_t value = 0;
  int shift = 0;
  for (const char c : bytes) {
    value |= static_cast<uint64_t>(c & 127) << shift;
    shift += 7;
    if ((c & 128) != 0) continue;
    values.push_back(value);
    value = 0;
    shift = 0;
  }
  EXPECT_EQ(shift, 0) << "the last number is cut off";
  EXPECT_EQ(values.size(), count);
  return values;
}

inline std::vector<uint64_t> UndoDeltas(std::vector<uint64_t> values) {
  uint64_t last = 0;
  for (uint64_t& value : values) {
    last += (value & 1) != 0 ? ~(value >> 1) : value >> 1;
    value = last;
  }
  return values;
}

}  // namespace graphtree::memory

#endif  // GRAPHTREE_TOOLS_MEMORY_HTML_UNPACK_H_
