// The compiler's unwinder finds the frames, and Abseil names them.
#include "graphs/history/call_stack.h"

#include <dlfcn.h>
#include <unwind.h>

#include "absl/debugging/symbolize.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "device/address.h"
#include "graphs/history/stack_marks.h"

namespace graphtree {
namespace {

// Functions that lie between our frame and the program's where a callback is called.
constexpr absl::string_view kCalledThrough[] = {
    "std::_Function_handler",
    "std::function",
    "std::__invoke",
};

// Frames come from the inside out. Each is on the inner side of the innermost mark that it has not
// passed; `mark` is that one, or null where the stack was not in the library yet.
struct Walk {
  const StackMark* mark = nullptr;
  std::vector<const void*> frames;

  void Pass(Address stack) {
    while (mark != nullptr && stack > mark->frame()) {
      // The last frame inside of a callback's mark is ours: the one that called the program.
      if (!mark->is_door() && !frames.empty()) frames.pop_back();
      mark = mark->outer();
    }
  }
};

// What _Unwind_GetCFA tells of a frame is where its stack ends. One frame more than is kept is
// taken: the last one may be ours.
_Unwind_Reason_Code Take(_Unwind_Context* context, void* argument) {
  auto* walk = static_cast<Walk*>(argument);
  const void* at = PointerTo<>(_Unwind_GetIP(context));
  if (at == nullptr || walk->frames.size() > CallStacks::kMostFrames) return _URC_END_OF_STACK;
  walk->Pass(_Unwind_GetCFA(context));
  if (walk->mark == nullptr || !walk->mark->is_door()) walk->frames.push_back(at);
  return _URC_NO_REASON;
}

// The name of the function that a frame returns to; empty if the binary has none. Looks one byte
// before the return address, inside the call: the address itself may be another function's.
std::string NameOf(const void* frame) {
  char name[256];
  const void* call = static_cast<const char*>(frame) - 1;
  // The symboliser has a lock of its own, but one that the thread sanitizer does not know.
  static std::mutex one_at_a_time;
  const std::lock_guard<std::mutex> lock(one_at_a_time);
  return absl::Symbolize(call, name, sizeof(name)) ? name : "";
}

// The frame's file and offset: "server+0x73bf".
std::string PlaceOf(const void* frame) {
  Dl_info info = {};
  if (dladdr(frame, &info) == 0 || info.dli_fname == nullptr) {
    return absl::StrCat("0x", absl::Hex(AddressOf(frame)));
  }
  absl::string_view file = info.dli_fname;
  file.remove_prefix(file.rfind('/') + 1);
  return absl::StrCat(file, "+0x", absl::Hex(AddressOf(frame) - AddressOf(info.dli_fbase)));
}

bool IsCalledThrough(absl::string_view name) {
  for (const absl::string_view through : kCalledThrough) {
    if (absl::StartsWith(name, through)) return true;
  }
  return false;
}

}  // namespace

StackId CallStacks::Here() {
  const DoorMark mark;
  Walk walk;
  walk.mark = &mark;
  walk.frames.reserve(kMostFrames + 1);
  _Unwind_Backtrace(Take, &walk);
  if (walk.frames.size() > kMostFrames) walk.frames.resize(kMostFrames);
  std::lock_guard<std::mutex> lock(mutex_);
  const auto known = known_.find(walk.frames);
  if (known != known_.end()) return known->second;
  if (stacks_.size() == most_stacks_) return 0;
  stacks_.push_back(walk.frames);
  const StackId id = static_cast<StackId>(stacks_.size());
  known_.emplace(std::move(walk.frames), id);
  return id;
}

CallStacks::Frames CallStacks::FramesOf(StackId id) const {
  std::lock_guard<std::mutex> lock(mutex_);
  return id == 0 || id > stacks_.size() ? Frames() : stacks_[id - 1];
}

std::string CallStacks::Told(absl::string_view what, StackId id) const {
  if (id == 0) return "";
  std::string text = absl::StrCat("\n  ", what, ":");
  for (const void* frame : FramesOf(id)) {
    const std::string name = NameOf(frame);
    if (IsCalledThrough(name)) continue;
    absl::StrAppend(&text, "\n    ", name.empty() ? "" : absl::StrCat(name, " "), "(",
                    PlaceOf(frame), ")");
    if (name == "main") break;
  }
  return text;
}

std::string CallStacks::Told(const std::vector<OpSite>& sites) const {
  std::string text;
  for (const OpSite& site : sites) {
    absl::StrAppend(&text, Told(absl::StrCat("'", site.op, "' was launched at"), site.at));
  }
  return text;
}

size_t CallStacks::size() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return stacks_.size();
}

}  // namespace graphtree
