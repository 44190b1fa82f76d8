// What is noise, by the names that PyTorch's stacks are known to contain.
#include "tools/snapshot/analysis/frames.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace graphtree::snapshot {
namespace {

constexpr size_t kLongestName = 70;

constexpr absl::string_view kNoisyNames[] = {
    "unwind::unwind",   "CapturedTraceback::gather", "gather_with_cpp",
    "PyEval_",          "PyObject_",                 "PyFunction_",
    "__libc_start",     "__libc_init",               "wrap_kernel_functor_unboxed",
    "make_boxed",       "BoxedKernel",               "CachingAllocator::",
    "Dispatcher::call", "::redispatch("};

// What stands between an operation and the allocator in every stack of C++.
constexpr absl::string_view kHelperNames[] = {
    "at::detail::empty", "at::native::empty", "create_out",   "::set_output", "at::meta::",
    "at::_ops::",        "wrapper_CUDA",      "VariableType", "c10::",        "std::",
    "at::native::resize", "at::empty"};

constexpr absl::string_view kNoisyFiles[] = {
    "core/boxing",       "/Register",        "/Redispatch", "pythonrun.c",
    "Modules/main.c",    "Objects/call.c",   "ceval.c",     "Objects/methodobject.c",
    "pycore_ceval.h",    "cpython/abstract.h"};

template <size_t kCount>
bool ContainsAny(absl::string_view text, const absl::string_view (&patterns)[kCount]) {
  return std::any_of(std::begin(patterns), std::end(patterns),
                     [&](absl::string_view pattern) { return absl::StrContains(text, pattern); });
}

bool IsSharedObject(absl::string_view file) {
  return absl::EndsWith(file, ".so") || absl::StrContains(file, ".so.");
}

bool IsPython(absl::string_view file) {
  return absl::EndsWith(file, ".py") || absl::StartsWith(file, "<") ||
         absl::EndsWith(file, ".ipynb");
}

// "at::native::linear(at::Tensor const&, ...)" -> "at::native::linear"
absl::string_view WithoutArguments(absl::string_view name) {
  constexpr absl::string_view kAnonymous = "(anonymous namespace)";
  size_t from = 0;
  for (;;) {
    const size_t open = name.find('(', from);
    if (open == absl::string_view::npos || open == 0) return name;
    if (absl::StartsWith(name.substr(open), kAnonymous)) {
      from = open + kAnonymous.size();
    } else if (absl::StartsWith(name.substr(open), "()#")) {  // a lambda's number
      from = open + 2;
    } else {
      return name.substr(0, open);
    }
  }
}

std::string Text(const Snapshot& snapshot, const Frame& frame, absl::string_view name) {
  const absl::string_view file = snapshot.Text(frame.filename);
  if (IsSharedObject(file)) {
    return absl::StrCat(file, "+0x", absl::Hex(frame.line), " ", name);
  }
  return absl::StrCat(file.empty() ? "??" : file, ":", frame.line, " ", name);
}

}  // namespace

std::string FrameText(const Snapshot& snapshot, FrameId id) {
  const Frame& frame = snapshot.frames[id];
  return Text(snapshot, frame, snapshot.Text(frame.name));
}

std::string ShortFrameText(const Snapshot& snapshot, FrameId id) {
  const Frame& frame = snapshot.frames[id];
  const absl::string_view name = WithoutArguments(snapshot.Text(frame.name));
  const absl::string_view file = snapshot.Text(frame.filename);
  const std::string shown = name.size() <= kLongestName
                                ? std::string(name)
                                : absl::StrCat(name.substr(0, kLongestName - 3), "...");
  // Where the symboliser found no source there is nothing to say about the place.
  if ((file.empty() || file == "??") && frame.line == 0) return shown;
  return Text(snapshot, frame, shown);
}

bool IsNoise(const Snapshot& snapshot, FrameId id) {
  const Frame& frame = snapshot.frames[id];
  const absl::string_view name = snapshot.Text(frame.name);
  const absl::string_view file = snapshot.Text(frame.filename);
  if (IsPython(file)) return false;
  const bool interpreter = absl::StartsWith(name, "Py") || absl::StartsWith(name, "_Py") ||
                           absl::StartsWith(name, "_start") || absl::StartsWith(name, "__clone") ||
                           absl::StartsWith(name, "pthread_");
  return interpreter || ContainsAny(name, kNoisyNames) || ContainsAny(file, kNoisyFiles);
}

bool IsPythonFrame(const Snapshot& snapshot, FrameId id) {
  return IsPython(snapshot.Text(snapshot.frames[id].filename));
}

bool IsUserCode(const Snapshot& snapshot, FrameId id) {
  const absl::string_view file = snapshot.Text(snapshot.frames[id].filename);
  return IsPython(file) && !absl::StrContains(file, "site-packages/") &&
         !absl::StrContains(file, "dist-packages/") && !absl::StartsWith(file, "torch/") &&
         !absl::StrContains(file, "/torch/") && !absl::StrContains(file, "torchinductor") &&
         !absl::StartsWith(file, "<frozen") && !absl::StrContains(file, "lib/python3");
}

std::vector<FrameId> VisibleFrames(const Snapshot& snapshot, StackId stack) {
  std::vector<FrameId> visible;
  for (FrameId frame : snapshot.stacks[stack]) {
    if (!IsNoise(snapshot, frame)) visible.push_back(frame);
  }
  const auto all = snapshot.stacks[stack];
  if (visible.empty()) visible.assign(all.begin(), all.end());
  return visible;
}

FrameId Culprit(const Snapshot& snapshot, StackId stack) {
  const std::vector<FrameId> frames = VisibleFrames(snapshot, stack);
  if (frames.empty()) return kNoId;
  const auto best = [&](auto wanted) {
    const auto found = std::find_if(frames.begin(), frames.end(), wanted);
    return found == frames.end() ? kNoId : *found;
  };
  const FrameId user = best([&](FrameId frame) { return IsUserCode(snapshot, frame); });
  if (user != kNoId) return user;
  const FrameId python = best([&](FrameId frame) {
    return IsPython(snapshot.Text(snapshot.frames[frame].filename));
  });
  if (python != kNoId) return python;
  const FrameId native = best([&](FrameId frame) {
    return !ContainsAny(WithoutArguments(snapshot.Text(snapshot.frames[frame].name)),
                        kHelperNames);
  });
  return native != kNoId ? native : frames.front();
}

std::string Operation(const Snapshot& snapshot, StackId stack) {
  for (FrameId frame : snapshot.stacks[stack]) {
    absl::string_view name = snapshot.Text(snapshot.frames[frame].name);
    constexpr absl::string_view kPrefix = "at::_ops::";
    if (!absl::StartsWith(name, kPrefix)) continue;
    name.remove_prefix(kPrefix.size());
    return absl::StrCat("aten::", name.substr(0, name.find("::")));
  }
  return "";
}

}  // namespace graphtree::snapshot
