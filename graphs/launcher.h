// What a function's body launches through. The body is the same for eager runs, warm-up and
// recording; nothing in it knows which.
//
//   Tensor hidden = on.Empty(DType::kF32, {rows, kHidden});
//   on.Launch(kNorm, {.grid = {rows}, .block = {256}}, {In(x), In(weight), Out(hidden)});
//   on.Launch(kAttend, shape, {In(hidden), InOut(cache), Out(hidden), Val(position)});
//
// What an op reads and writes is said once, where it is launched: the recorder learns from it which
// inputs a function mutates and which arguments point to an input. Opaque work (a library, another
// framework) goes onto stream(), and what it touches is declared with Reads and Writes before the
// work is put there: what is written is saved then, for a call that fails. Work on a stream that is
// forked off stream() is declared before the fork, and joined or waited for also by a body that
// fails: what was saved is put back then.
//
// What no graph can hold, host work or a launch that depends on data, goes into a part of its own:
//
//   on.Break("sampling on the host", {In(logits), Out(tokens)},
//            [](Launcher& part, absl::Span<const Tensor> tensors) { ... });
//
// The recording is cut there, and every replay runs the part in its place. The body's own code runs
// no more then, so a part takes tensors from its arguments and everything else by value. Work that
// the body has put on other streams is joined before it.
//
// A body asks for its inputs by number, so that a call that brings something else is an error that
// names the input, and what it is instead:
//
//   const Tensor x = on.Input(0);
//   const int64_t position = on.Integer(1);
//
// Errors are sticky: after the first failure the launcher does nothing more and status() tells what
// failed; a body needs no checks of its own. Tensors from Empty then have their shape and no bytes,
// and in the place of an input that is no tensor stands one of eight dimensions, all of size 0.
//
// A body or part that throws has failed, too: the exception ends in the tree's call, as an error.
// Destructors of what is kept alive do not throw, or end the process, as is usual in C++.
//
// Threads: used by the body, on the thread that runs it.
#ifndef GRAPHTREE_GRAPHS_LAUNCHER_H_
#define GRAPHTREE_GRAPHS_LAUNCHER_H_

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "device/graph.h"
#include "device/kernel.h"
#include "device/stream.h"
#include "graphs/body_requests.h"
#include "graphs/eager_part.h"
#include "graphs/layout.h"
#include "graphs/random/random_source.h"
#include "graphs/random/random_state.h"
#include "graphs/tensor.h"
#include "graphs/workspaces.h"

namespace graphtree {

// One argument of a launch, as the body writes it.
class Arg {
 public:
  Arg(Access access, const Tensor& tensor) : access_(access), tensor_(&tensor) {}
  template <typename T>
  explicit Arg(const T* value) : value_(Argument::Bytes(value, sizeof(T))) {}

  const Tensor* tensor() const { return tensor_; }
  Access access() const { return access_; }
  const Argument& value() const { return value_; }

 private:
  Access access_ = Access::kValue;
  const Tensor* tensor_ = nullptr;
  Argument value_ = Argument::Bytes("", 0);
};

inline Arg In(const Tensor& tensor) { return Arg(Access::kRead, tensor); }
inline Arg Out(const Tensor& tensor) { return Arg(Access::kWrite, tensor); }
inline Arg InOut(const Tensor& tensor) { return Arg(Access::kReadWrite, tensor); }
// REQUIRES: used in the launch's own expression, as all of these are.
template <typename T>
Arg Val(const T& value) {
  return Arg(&value);
}

// Where a body's memory comes from.
class BodyAllocator {
 public:
  virtual ~BodyAllocator() = default;
  virtual absl::StatusOr<Storage*> Allocate(uint64_t bytes, Stream& stream) = 0;
  // Bytes for one op, until EndScratch. The storage owns nothing: whoever lets go of it frees
  // nothing.
  virtual absl::StatusOr<Storage*> Scratch(uint64_t bytes, Stream& stream) = 0;
  // The op is launched: the bytes may be placed again, in the stream's order, and the storage is
  // stale.
  virtual void EndScratch(Storage* scratch) = 0;
  // Work of `stream` uses the storage too: whoever gets its bytes next waits for that.
  virtual absl::Status UseOn(Storage* storage, Stream& stream) = 0;
  // Work that is put on `stream` next uses the storage, whoever it is from. Told for every tensor
  // of every op: cheap where it is the allocator's own.
  virtual void NoteUse(const Storage& storage, Stream& stream) {}
};

// Told about every access that a body declares, before the op is launched.
class AccessObserver {
 public:
  virtual ~AccessObserver() = default;
  // The op that the body launches now; its accesses follow.
  virtual void Launching(absl::string_view) {}
  // `argument` counts the op's arguments; -1 for a declaration of opaque work. A copy's target is
  // its argument 0 and its source 1; a fill has its target.
  virtual void Accessed(Access access, const Tensor& tensor, int argument) = 0;
  // The op is told to read the tensor only, and its kernel takes a pointer that it may write
  // through.
  virtual void Doubted(const Tensor&) {}
  // Opaque work on a stream beside the body's uses it.
  virtual void UsedBeside(const Tensor&) {}
  // The op whose arguments were just told was launched.
  virtual void Launched(const Kernel& kernel, const LaunchShape& shape, Arguments arguments) = 0;
  virtual void Copied(const CopyParams&) {}
  virtual void Filled(const FillParams&) {}
  // The body breaks here; its part is given what was just told.
  virtual void Broke(absl::string_view) {}
};

class Launcher {
 public:
  // None owned; all outlive the launcher. `observer` may be null, and so may `random`: a body that
  // draws random numbers then fails.
  Launcher(Stream& stream, BodyAllocator& allocator, AccessObserver* observer,
           RandomSource* random = nullptr)
      : stream_(stream), allocator_(allocator), observer_(observer), random_(random) {}
  ~Launcher() { EndScratch(); }
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;

  // The body's own `inputs[index]`, looked at when it is asked for: the launcher holds no handle,
  // so that an input which the body has emptied is dead, and asking for it again an error. A part
  // has no inputs but the tensors that it is given.
  Tensor Input(size_t index);
  int64_t Integer(size_t index);

  Tensor Empty(DType type, absl::Span<const int64_t> sizes);
  Tensor Empty(const Layout* layout);
  // Memory for the op launched next, and no longer. One op may have several. A break is such an op:
  // its part has the memory until the part ends, as one of its tensors: one that it took along from
  // its body is an error, as no replay has it. So is using it afterwards.
  Tensor Scratch(uint64_t bytes);

  void Launch(const Kernel& kernel, const LaunchShape& shape, std::initializer_list<Arg> arguments);
  // All bytes from the first to the last one. Extents are equal, and no tensor has gaps between its
  // elements.
  void Copy(const Tensor& target, const Tensor& source);
  void Fill(const Tensor& target, uint8_t byte);
  // Runs `part` after everything that was launched so far; `why` is for people. Arguments are
  // tensors only, and say what the part reads and writes, as a launch's do.
  void Break(std::string why, std::initializer_list<Arg> tensors, EagerPart part);

  // The next `count` random numbers of `generator`, for one op: passed to it with Val. Every run of
  // the function, also a replay, draws numbers of its own.
  RandomState Random(const GeneratorPtr& generator, uint64_t count);

  // The memory of a workspace that is registered with the tree, to be handed to its library now.
  AddressRange Workspace(WorkspaceId id);
  // Not settled yet: the next call shall warm up again instead of being recorded. The tree's limit
  // bounds how often that is granted. In a replay's part it says nothing new.
  void WarmUpAgain(std::string why);
  // What was launched needs `object`: a recording holds it for as long as it may be replayed, any
  // other run until its work is done, and a replay what its parts say likewise. It is let go by a
  // later call or step, or when the tree is closed.
  void KeepAlive(std::shared_ptr<void> object);

  // The stream in force. Work put on it directly is opaque: declare what it touches.
  Stream& stream() { return stream_; }
  void Reads(const Tensor& tensor);
  void Writes(const Tensor& tensor);
  // Opaque work on `side`, a stream that the body has forked off its own, uses the tensor. Said
  // after that work: a tensor that is dropped before the fork joins may else be placed again while
  // the work runs. Memory of the caller's needs no such word, and scratch has one op.
  void UsedOn(const Tensor& tensor, Stream& side);

  bool ok() const { return status_.ok(); }
  const absl::Status& status() const { return status_; }
  // The body itself found something wrong.
  void Fail(absl::Status status);

  // For whoever runs the body. `inputs` are those that it is given, and outlive its run.
  void SetInputs(const Values* inputs) {
    inputs_ = inputs;
    inputs_brought_ = inputs == nullptr ? 0 : inputs->size();
  }
  // `workspaces` may be null: a body that uses one then fails.
  void SetWorkspaces(const Workspaces* workspaces) { workspaces_ = workspaces; }
  // May be null: parts then run in their place.
  void SetCutter(Cutter* cutter) { cutter_ = cutter; }
  // It runs the parts of a recording that is replayed: they have what they took along from its
  // body, which the replay makes again (Storage::remade_by).
  void SetRemadeBy(uint64_t recording) { remade_by_ = recording; }
  // Runs a part with this launcher, which is not the body's own. The error names the part.
  absl::Status RunPart(const BreakRequest& request);
  BodyRequests& requests() { return requests_; }
  // What the body asked for and launched no op for. Every launch does this for itself.
  void EndScratch();
  // Where a body that failed had come to: "at op 3 of its body ('attend')" if that op could not be
  // launched, "after op 3 of its body ('attend')" if something else failed after it.
  std::string Place() const;

 private:
  // False, with status_ set, if the tensor may not be touched.
  bool Usable(const Tensor& tensor, absl::string_view op);
  // The same, and has no gaps between its elements.
  bool UsableWhole(const Tensor& tensor, absl::string_view op);
  bool Resolve(const Kernel& kernel, std::initializer_list<Arg> arguments);
  // Null, with status_ set, if there is no such input, or none any more.
  const Value* InputFor(size_t index, absl::string_view wanted);
  void Passed(absl::string_view op, absl::Status status);
  void FailAt(absl::string_view op, absl::Status status);
  absl::Status RunInPlace(const BreakRequest& request);
  // Whether a part has it from its body.
  bool IsBodysScratch(const Storage& storage) const;

  Stream& stream_;
  BodyAllocator& allocator_;
  AccessObserver* const observer_;
  RandomSource* const random_;
  const Workspaces* workspaces_ = nullptr;
  Cutter* cutter_ = nullptr;
  bool in_part_ = false;
  uint64_t remade_by_ = 0;
  const Launcher* outer_part_ = nullptr;  // in whose run this part runs; null: the body's
  BodyRequests requests_;
  const Values* inputs_ = nullptr;
  size_t inputs_brought_ = 0;
  uint64_t ops_ = 0;  // that were launched
  std::string last_op_;
  std::string failed_op_;  // that could not be launched; else empty
  absl::Status status_;
  std::vector<Tensor> scratch_;  // of the op that is launched next
  std::vector<Argument> arguments_;  // of the op being launched; kept to reuse its memory
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_LAUNCHER_H_
