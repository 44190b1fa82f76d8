// Frames as text, and which frames of a stack are worth a person's time.
//
// A stack holds the recorder's own frames, the interpreter's, and the dispatcher's around the one
// line that a person wants to see. Visible frames are the others; the *culprit* is the innermost
// line of Python outside installed packages, else the innermost line of Python, else the innermost
// function that is more than a helper between an operation and the allocator.
#ifndef GRAPHTREE_TOOLS_SNAPSHOT_ANALYSIS_FRAMES_H_
#define GRAPHTREE_TOOLS_SNAPSHOT_ANALYSIS_FRAMES_H_

#include <string>
#include <vector>

#include "allocator/snapshot/snapshot.h"

namespace graphtree::snapshot {

// "model.py:31 forward". Where the file is a shared object the line is an offset in it:
// "libtorch_cuda.so+0x1a2b c10::cuda::alloc".
std::string FrameText(const Snapshot& snapshot, FrameId frame);
// The same with the arguments of a C++ function left out and long names cut.
std::string ShortFrameText(const Snapshot& snapshot, FrameId frame);

// True for the recorder's, the interpreter's and the dispatcher's own frames.
bool IsNoise(const Snapshot& snapshot, FrameId frame);
bool IsPythonFrame(const Snapshot& snapshot, FrameId frame);
// A line of Python that is not in an installed package.
bool IsUserCode(const Snapshot& snapshot, FrameId frame);

// Innermost first. All frames where nothing else would be left.
std::vector<FrameId> VisibleFrames(const Snapshot& snapshot, StackId stack);
// kNoId for an empty stack.
FrameId Culprit(const Snapshot& snapshot, StackId stack);
// The operation that asked: the innermost named operator of a C++ stack; "" where there is none.
std::string Operation(const Snapshot& snapshot, StackId stack);

}  // namespace graphtree::snapshot

#endif  // GRAPHTREE_TOOLS_SNAPSHOT_ANALYSIS_FRAMES_H_
