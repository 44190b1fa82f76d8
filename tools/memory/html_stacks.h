// HtmlStacks: the stacks of a snapshot as a tree, for the page that `memory html` writes.
//
// A stack is its innermost frame and the stack that called it, so that stacks which share their
// outer frames store them once:
//
//   stack:   0     1      2       3
//   frame:   -     main   train   forward
//   parent:  -     0      1       2            stack 3 is forward <- train <- main
//
// Stacks, frames and texts get numbers in the order in which they are first used; what no
// allocation refers to is left out of the page. Not thread-safe; a stack costs one look-up for each
// of its frames, once.
#ifndef GRAPHTREE_TOOLS_MEMORY_HTML_STACKS_H_
#define GRAPHTREE_TOOLS_MEMORY_HTML_STACKS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "allocator/snapshot/snapshot.h"
#include "device/base/json_writer.h"
#include "tools/memory/html_columns.h"

namespace graphtree::memory {

// Texts by number; number 0 is the empty one.
class HtmlTexts {
 public:
  uint64_t NumberOf(absl::string_view text);
  const std::vector<std::string>& texts() const { return texts_; }
  void Write(absl::string_view key, JsonWriter& json) const;

 private:
  absl::flat_hash_map<std::string, uint64_t> numbers_ = {{"", 0}};
  std::vector<std::string> texts_ = {""};
};

class HtmlStacks {
 public:
  HtmlStacks(const snapshot::Snapshot& snapshot, HtmlTexts& texts)
      : snapshot_(snapshot), texts_(texts) {}

  uint64_t NumberOf(snapshot::StackId stack);

  // The columns frame_words, stack_parent and stack_frame.
  void Write(HtmlColumns& columns, JsonWriter& directory) const;

 private:
  uint64_t FrameNumber(snapshot::FrameId frame);

  const snapshot::Snapshot& snapshot_;
  HtmlTexts& texts_;
  absl::flat_hash_map<snapshot::StackId, uint64_t> known_;
  absl::flat_hash_map<snapshot::FrameId, uint64_t> frames_;
  absl::flat_hash_map<std::pair<uint64_t, uint64_t>, uint64_t> children_;  // parent, frame
  std::vector<uint64_t> frame_words_;  // name, file, line of each frame
  std::vector<uint64_t> parent_ = {0};
  std::vector<uint64_t> frame_ = {0};
};

}  // namespace graphtree::memory

#endif  // GRAPHTREE_TOOLS_MEMORY_HTML_STACKS_H_
