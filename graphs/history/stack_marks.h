// Tells which frames of a stack are the program's own. A mark is set where the stack passes from
// the program into the library, through a door, and where it passes back, through a callback. So no
// function has to be known by its name.
//
//   main                             the program
//   server::Decode                   the program
//   Tree::Run            door        the library
//   ...                              the library
//   calls the body       callback    the library
//   server::Layer                    the program
//   Launcher::Launch     door        the library
//   ...                              the library
//
// A mark holds the address of a frame of ours on the stack: that frame and the frames that it
// called are inside, as far as the next mark. A callback may throw through frames that undo nothing
// (device/base/guarded_call.h). So its mark is entered in the closure that calls it, and removed
// outside of that closure.
//
// Threads: each has marks of its own. Cost: a few words on the stack. A hit that runs no code of
// the program's sets no mark.
#ifndef GRAPHTREE_GRAPHS_HISTORY_STACK_MARKS_H_
#define GRAPHTREE_GRAPHS_HISTORY_STACK_MARKS_H_

#include "device/address.h"

namespace graphtree {

class StackMark {
 public:
  enum class Kind { kDoor, kCallback };

  StackMark(const StackMark&) = delete;
  StackMark& operator=(const StackMark&) = delete;
  ~StackMark() { innermost_ = outer_; }

  static const StackMark* innermost() { return innermost_; }
  const StackMark* outer() const { return outer_; }
  bool is_door() const { return kind_ == Kind::kDoor; }
  // Every frame at this address of the stack or below is inside.
  Address frame() const { return frame_; }

 protected:
  explicit StackMark(Kind kind) : kind_(kind), outer_(innermost_) {}
  void Set(const void* frame) {
    frame_ = AddressOf(frame);
    innermost_ = this;
  }

 private:
  static inline constinit thread_local const StackMark* innermost_ = nullptr;

  const Kind kind_;
  const StackMark* const outer_;
  Address frame_ = 0;
};

// For a call of a public function that may take a stack, or call back.
class DoorMark : public StackMark {
 public:
  // `frame` is that of the public function; by default, of the function that makes the mark.
  explicit DoorMark(const void* frame = __builtin_frame_address(0)) : StackMark(Kind::kDoor) {
    Set(frame);
  }
};

// For the call of a function that the program gave us.
class CallbackMark : public StackMark {
 public:
  CallbackMark() : StackMark(Kind::kCallback) {}
  // Called in the function that calls the program's.
  void Enter(const void* frame = __builtin_frame_address(0)) { Set(frame); }
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_HISTORY_STACK_MARKS_H_
