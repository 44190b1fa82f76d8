// Pickles written opcode by opcode, for tests of what no real writer would write.
#ifndef GRAPHTREE_TOOLS_SNAPSHOT_READ_PICKLE_TEXT_H_
#define GRAPHTREE_TOOLS_SNAPSHOT_READ_PICKLE_TEXT_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace graphtree::snapshot {

// PickleText().Op("}(").Text("segments").Op("]us").Done()
class PickleText {
 public:
  explicit PickleText(int protocol = 4) : bytes_{'\x80', static_cast<char>(protocol)} {}

  // Opcodes without operands, one character each.
  PickleText& Op(absl::string_view opcodes) { return Raw(opcodes); }
  PickleText& Raw(absl::string_view bytes) {
    bytes_.append(bytes.data(), bytes.size());
    return *this;
  }
  PickleText& Text(absl::string_view text) { return Raw("\x8c").Fixed(text.size(), 1).Raw(text); }
  PickleText& Int(int64_t value) {
    return Raw("\x8a").Fixed(8, 1).Fixed(static_cast<uint64_t>(value), 8);
  }
  PickleText& Fixed(uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) bytes_.push_back(static_cast<char>(value >> (8 * i)));
    return *this;
  }
  std::string Done() const { return bytes_ + "."; }
  std::string CutOff() const { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace graphtree::snapshot

#endif  // GRAPHTREE_TOOLS_SNAPSHOT_READ_PICKLE_TEXT_H_
