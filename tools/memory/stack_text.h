// Stacks as one line, as many, and as JSON.
#ifndef GRAPHTREE_TOOLS_MEMORY_STACK_TEXT_H_
#define GRAPHTREE_TOOLS_MEMORY_STACK_TEXT_H_

#include <string>
#include <vector>

#include "allocator/snapshot/snapshot.h"
#include "device/base/json_writer.h"
#include "tools/cli/verb.h"
#include "tools/memory/text.h"

namespace graphtree::memory {

// "model.py:31 forward  (aten::linear)": the line of the user's own code, and the operator.
std::string StackLine(const snapshot::Snapshot& snapshot, snapshot::StackId stack);

// The frames that are worth reading, one a line, innermost first: all that are not noise, or only
// those of Python where there are any.
enum class Frames { kVisible, kPython };
std::string StackLines(const snapshot::Snapshot& snapshot, snapshot::StackId stack, Frames which,
                       const Look& look, int indent);

// An array of all frames as "file:line function".
void WriteStack(const snapshot::Snapshot& snapshot, snapshot::StackId stack, JsonWriter& json);

// Notes that were put on live memory, as one line; "" where there are none.
std::string NotesLine(const std::vector<std::string>& notes);
std::vector<std::string> NoteTexts(const snapshot::Snapshot& snapshot,
                                   const std::vector<snapshot::StringId>& notes);

// --stacks, for verbs that show stacks as one line each unless asked for all frames.
cli::Option StacksOption();

}  // namespace graphtree::memory

#endif  // GRAPHTREE_TOOLS_MEMORY_STACK_TEXT_H_
