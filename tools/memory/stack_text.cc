// Chooses frames through tools/snapshot/analysis/frames.h.
#include "tools/memory/stack_text.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tools/snapshot/analysis/frames.h"

namespace graphtree::memory {

using snapshot::FrameId;
using snapshot::Snapshot;
using snapshot::StackId;

std::string StackLine(const Snapshot& snapshot, StackId stack) {
  const FrameId culprit = snapshot::Culprit(snapshot, stack);
  if (culprit == snapshot::kNoId) return "(no stack was recorded)";
  const std::string operation = snapshot::Operation(snapshot, stack);
  return absl::StrCat(snapshot::ShortFrameText(snapshot, culprit),
                      operation.empty() ? "" : absl::StrCat("  (", operation, ")"));
}

std::string StackLines(const Snapshot& snapshot, StackId stack, Frames which, const Look& look,
                       int indent) {
  std::string text;
  const std::vector<FrameId> visible = snapshot::VisibleFrames(snapshot, stack);
  const auto is_python = [&](FrameId frame) { return snapshot::IsPythonFrame(snapshot, frame); };
  const bool only_python = which == Frames::kPython &&
                           std::any_of(visible.begin(), visible.end(), is_python);
  for (FrameId frame : visible) {
    if (only_python && !is_python(frame)) continue;
    const bool mine = snapshot::IsUserCode(snapshot, frame);
    const size_t room = static_cast<size_t>(std::max(look.columns - indent, 20));
    absl::StrAppend(&text, std::string(static_cast<size_t>(indent), ' '),
                    look.Paint(mine ? Tone::kPlain : Tone::kDim,
                               Clip(snapshot::ShortFrameText(snapshot, frame), room)),
                    "\n");
  }
  return text;
}

void WriteStack(const Snapshot& snapshot, StackId stack, JsonWriter& json) {
  json.BeginArray();
  for (FrameId frame : snapshot.stacks[stack]) json.String(snapshot::FrameText(snapshot, frame));
  json.EndArray();
}

std::string NotesLine(const std::vector<std::string>& notes) {
  if (notes.empty()) return "";
  constexpr size_t kShown = 5;
  std::vector<std::string> shown;
  for (const std::string& note : notes) {
    if (shown.size() == kShown) break;
    shown.push_back(absl::StrCat("\"", Clip(note, 60), "\""));
  }
  const size_t more = notes.size() - shown.size();
  return absl::StrCat("notes: ", absl::StrJoin(shown, ", "),
                      more == 0 ? "" : absl::StrCat(" and ", more, " more"));
}

std::vector<std::string> NoteTexts(const Snapshot& snapshot,
                                   const std::vector<snapshot::StringId>& notes) {
  std::vector<std::string> texts;
  for (snapshot::StringId note : notes) texts.emplace_back(snapshot.Text(note));
  return texts;
}

cli::Option StacksOption() {
  return {.name = "--stacks", .help = "Show the frames of every stack, not one line for it."};
}

}  // namespace graphtree::memory
