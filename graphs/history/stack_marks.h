// Which frames of a stack are the program's own: told by where the stack passes from the program
// into the library, through a door, and back, through a callback, and not by anybody's name.
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
// A mark is where a function of ours stands on the stack: that frame and those that it called are
// inside, as far as the next mark. A callback may throw through frames that undo nothing
// (device/base/guarded_call.h), so its mark is set in the closure that calls it, and taken away
// outside of that.
//
// Threads: each has marks of its own. Cost: a few words on the stack.
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

// In a public function that may come to take a stack, or to call back.
class DoorMark : public StackMark {
 public:
  // The frame is the one of whoever makes the mark.
  explicit DoorMark(const void* frame = __builtin_frame_address(0)) : StackMark(Kind::kDoor) {
    Set(frame);
  }
};

// Around the call of what the program gave us.
class CallbackMark : public StackMark {
 public:
  CallbackMark() : StackMark(Kind::kCallback) {}
  // In the function that calls it.
  void Enter(const void* frame = __builtin_frame_address(0)) { Set(frame); }
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_HISTORY_STACK_MARKS_H_
