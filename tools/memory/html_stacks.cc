// Builds the tree of stacks from the outside in.
#include "tools/memory/html_stacks.h"

#include <algorithm>

namespace graphtree::memory {

uint64_t HtmlTexts::NumberOf(absl::string_view text) {
  const auto [found, is_new] = numbers_.try_emplace(text, texts_.size());
  if (is_new) texts_.emplace_back(text);
  return found->second;
}

void HtmlTexts::Write(absl::string_view key, JsonWriter& json) const {
  json.Key(key).BeginArray();
  for (const std::string& text : texts_) json.String(text);
  json.EndArray();
}

uint64_t HtmlStacks::FrameNumber(snapshot::FrameId id) {
  const auto [found, is_new] = frames_.try_emplace(id, frames_.size());
  if (is_new) {
    const snapshot::Frame& frame = snapshot_.frames[id];
    frame_words_.push_back(texts_.NumberOf(snapshot_.Text(frame.name)));
    frame_words_.push_back(texts_.NumberOf(snapshot_.Text(frame.filename)));
    frame_words_.push_back(static_cast<uint64_t>(std::max<int64_t>(frame.line, 0)));
  }
  return found->second;
}

uint64_t HtmlStacks::NumberOf(snapshot::StackId stack) {
  if (const auto found = known_.find(stack); found != known_.end()) return found->second;
  const auto frames = snapshot_.stacks[stack];
  uint64_t number = 0;
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
    const uint64_t frame_number = FrameNumber(*frame);
    const auto [child, is_new] = children_.try_emplace({number, frame_number}, parent_.size());
    if (is_new) {
      parent_.push_back(number);
      frame_.push_back(frame_number);
    }
    number = child->second;
  }
  known_[stack] = number;
  return number;
}

void HtmlStacks::Write(HtmlColumns& columns, JsonWriter& directory) const {
  columns.Plain("frame_words", frame_words_, directory);
  columns.Plain("stack_parent", parent_, directory);
  columns.Plain("stack_frame", frame_, directory);
}

}  // namespace graphtree::memory
