// A Launcher is what a function's body launches its work through. The body is the same for eager
// runs, warm-ups and recordings, and does not know in which of them it runs.
//
//   Tensor hidden = on.Empty(DType::kF32, {rows, kHidden});
//   on.Launch(kNorm, {.grid = {rows}, .block = {256}}, {In(x), In(weight), Out(hidden)});
//   on.Launch(kAttend, shape, {In(hidden), InOut(cache), Out(hidden), Val(position)});
//
// A body says what an op reads and writes once, where it launches the op: from this the recorder
// learns which inputs a function mutates and which arguments point to an input. Opaque work (a
// library, another framework) goes onto stream(). The body declares what that work touches with
// Reads and Writes before it puts the work there, because the tree saves what will be written, for
// a call that fails. Work on a stream that is forked off stream() is declared before the fork. Also
// a body that fails joins it or waits for it: what was saved is put back then.
//
// Whoever waits for something in the middle of the body, such as the moment when its inputs may be
// written again, waits for an event that every run sets there, a replay, too:
//
//   on.Launch(kGather, shape, {In(ids), In(table), Out(rows)});
//   on.SetEvent(inputs_are_read);
//
// Work that no graph can hold (host work, a launch that depends on data) goes into a part of its
// own:
//
//   on.Break("sampling on the host", {In(logits), Out(tokens)},
//            [](Launcher& part, absl::Span<const Tensor> tensors) { ... });
//
// The recording is cut there, and every replay runs the part in its place. In a replay the rest of
// the body does not run, so a part takes tensors from its arguments and everything else by value.
// What the part's own launches declare counts beside what its break declares, as the body's own.
// Streams that the body has forked with Fork are joined before the break; others it joins itself.
//
// A part may call another tree. This tree sees nothing of what that call does. So the part declares
// with Reads and Writes what the call reads and writes of memory that this tree knows: inputs, what
// the body made, what other calls have used.
//
// A body asks for its inputs by number. If a call brings something else there, the error names the
// input and says what it is instead:
//
//   const Tensor x = on.Input(0);
//   const int64_t position = on.Integer(1);
//
// Errors are sticky: after the first failure the launcher does nothing more and status() says what
// failed; a body needs no checks of its own. After a failure Empty returns tensors with their shape
// and no bytes, and Input returns, for an input that is no tensor, one of eight dimensions of size
// 0.
//
// A body or part that throws has failed, too: the exception becomes an error of the tree's call.
// Destructors of objects that are kept alive do not throw; one that does ends the process.
//
// Threads: used by the body, on the thread that runs it.
#ifndef GRAPHTREE_GRAPHS_LAUNCHER_H_
#define GRAPHTREE_GRAPHS_LAUNCHER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "device/kernel.h"
#include "device/stream.h"
#include "graphs/body/access_observer.h"
#include "graphs/body/forked_streams.h"
#include "graphs/body/means.h"
#include "graphs/body/op_watch.h"
#include "graphs/body/progress.h"
#include "graphs/body/requests.h"
#include "graphs/body/run_memory.h"
#include "graphs/eager_part.h"
#include "graphs/layout.h"
#include "graphs/pad/pad_value.h"
#include "graphs/random/generator.h"
#include "graphs/random/random_state.h"
#include "graphs/scope.h"
#include "graphs/tensor.h"
#include "graphs/workspaces.h"

namespace graphtree {

class RandomSource;

// What a random op draws differs from run to run.
template <>
inline constexpr bool kBytesAreTheValue<RandomState> = false;

// One argument of a launch, as the body writes it.
class Arg {
 public:
  Arg(Access access, const Tensor& tensor) : access_(access), tensor_(&tensor) {}
  template <typename T>
  explicit Arg(const T* value) : value_(Argument::Value(*value)) {}
  explicit Arg(const Argument& value) : value_(value) {}

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

class Launcher {
 public:
  // None owned; all outlive the launcher. `observer` may be null, and so may `random`: a body that
  // draws random numbers then fails.
  Launcher(Stream& stream, BodyAllocator& allocator, AccessObserver* observer,
           RandomSource* random = nullptr)
      : stream_(stream),
        observer_(observer),
        random_(random),
        memory_(allocator, stream, &requests_.pads),
        forks_(stream) {}
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;

  // The body's own `inputs[index]`. The launcher holds no handle of it, so an input that the body
  // has emptied is dead, and asking for it again is an error. A part has no inputs but the tensors
  // that it is given.
  Tensor Input(size_t index);
  int64_t Integer(size_t index);

  Tensor Empty(DType type, absl::Span<const int64_t> sizes);
  Tensor Empty(const Layout* layout);
  // With room behind it, or behind its rows, for Pad up to the sizes `room`: the tensor has the
  // strides of a dense one of those sizes.
  Tensor Empty(DType type, absl::Span<const int64_t> sizes, absl::Span<const int64_t> room);
  // The tensor padded to `sizes`, none of which is less than the tensor's. Its elements stay at the
  // start of every dimension, and all others are `value`. The same sizes give the same tensor.
  //
  // If the tensor is handed over (std::move) and nobody else has a handle of its memory, only the
  // tail is written, and the result is a view. The run itself must have made the memory, with room:
  // asked for above, or learned by the tree from earlier runs (TreeOptions::pad_room_bytes), as far
  // as the tensor is dense and grows at its end. Anything else is copied, with the same bytes and
  // layout: inputs, memory of the caller's or of another tree, a tensor that somebody else looks
  // into or that is used on another stream. Which it was is counted (TreeStats::pads_in_place).
  //
  // The result is dense, except that rows with a stride keep it where the run has asked for room
  // for that.
  Tensor Pad(Tensor tensor, absl::Span<const int64_t> sizes, PadValue value);
  // Memory for the op that is launched next, and no longer. One op may have several. A break counts
  // as such an op: its part has the memory until the part ends, as one of its tensors. Scratch that
  // a part took along from its body is an error, since no replay has it, and so is using scratch
  // after its op.
  Tensor Scratch(uint64_t bytes);

  // The tensor's memory is registered elsewhere, with a communicator or with peers: the tree never
  // parks or unmaps it for as long as the tree is there, whatever becomes of this run and of its
  // recording. What lies in the same piece of physical memory (2 to 64 MiB) stays with it. Its
  // bytes are reused as any other's. Memory that is not the tree's is its owner's to keep; of
  // another tree's it is an error. A kept output is put elsewhere by every run, so pinning what the
  // body makes does not pin that. PointersInto tells where a recording points to the memory
  // (reports/captured_pointers.h).
  void Pin(const Tensor& tensor);

  void Launch(const Kernel& kernel, const LaunchShape& shape, absl::Span<const Arg> arguments);
  // These write all bytes from the first to the last one. REQUIRES: extents are equal, and no
  // tensor has gaps between its elements; else the launcher fails.
  void Copy(const Tensor& target, const Tensor& source);
  void Fill(const Tensor& target, uint8_t byte);
  // Runs `part` after everything that was launched so far; `why` is for people. The arguments are
  // tensors, and say what the part reads and writes, as a launch's do.
  void Break(std::string why, absl::Span<const Arg> tensors, EagerPart part);

  // Sets the event after everything that was launched so far, in this run and in every replay: from
  // the moment when the call returns the event stands for that call's run. The last call to set an
  // event decides what it stands for. A call that fails may have set it, or not. The event is one
  // of the stream's device, and may go before the tree; setting it twice in one body or part is an
  // error, as is an event of another device. Where a body and its part set one event, the later of
  // the two decides.
  void SetEvent(Event& event);

  // The next `count` random numbers of `generator`, for one op: passed to it with Val. Every run of
  // the function, also a replay, draws numbers of its own.
  RandomState Random(const GeneratorPtr& generator, uint64_t count);

  // The memory of a workspace that is registered with the tree, to be handed to its library now.
  AddressRange Workspace(WorkspaceId id);
  // The body is not settled yet (a tuner has more to try): the next call shall warm up again
  // instead of being recorded. TreeOptions::warm_up_limit bounds how often that is granted. In a
  // part that a replay runs, this changes nothing.
  void WarmUpAgain(std::string why);
  // Work that was launched needs `object`. A recording holds it for as long as it may be replayed;
  // any other run, and a replay's part, until the work is done. A later call or step, or closing
  // the tree, lets go of it.
  void KeepAlive(std::shared_ptr<void> object);

  // The stream that the body or part launches on. Work put on it directly is opaque: declare what
  // the work touches. So is a call of another tree: declare before the call what it reads and
  // writes of memory that this tree knows, as an input that lies there may have been copied. A
  // part also declares what such a call writes of the caller's memory: else that stays written if
  // this tree's call fails, and is written once more if the part runs again in it.
  Stream& stream() {
    may_have_others_ = true;
    return stream_;
  }
  void Reads(const Tensor& tensor);
  void Writes(const Tensor& tensor);
  // Opaque work on `side`, a stream that the body has forked off its own, uses the tensor. The body
  // says so after it has put the work there: else the bytes of a tensor that is dropped before the
  // fork joins may be given away while the work runs. Memory of the caller's needs no such call,
  // and scratch belongs to one op of stream().
  void UsedOn(const Tensor& tensor, Stream& side);
  // Work that is put on `side` from here on comes after the body's so far. The side is joined, so
  // that the body's own stream goes on after it, before the next break, before the body or part
  // ends, or when the body asks for it. `side` uses only tensors that are made before the fork: the
  // bytes of a later one may be in use on the body's stream until then. Fork again for those.
  void Fork(Stream& side);
  void JoinForks();

  bool ok() const { return progress_.ok(); }
  const absl::Status& status() const { return progress_.status(); }
  // The body itself found something wrong, such as a call that did not succeed. OK changes nothing,
  // so that the status of any call can be given.
  void Fail(absl::Status status) { progress_.Fail(std::move(status)); }

  // The scopes that the body has begun (scope.h).
  ScopeStack& scopes() { return scopes_; }

  // What follows is for whoever runs the body: what the body is lent, its memory, how far it has
  // come, and what it has asked for.
  BodyMeans& means() { return means_; }
  RunMemory& memory() { return memory_; }
  const BodyProgress& progress() const { return progress_; }
  BodyRequests& requests() { return requests_; }
  // Whether somebody else may have put work on the stream, or on one that was forked off it.
  bool may_have_others() const { return may_have_others_; }

 private:
  friend class PartLauncher;

  // False, and the launcher has failed, if the tensor may not be touched.
  bool Usable(const Tensor& tensor, absl::string_view op);
  // The same; false also if the tensor has gaps between its elements.
  bool UsableWhole(const Tensor& tensor, absl::string_view op);
  // Turns what the body wrote into the arguments_ of the op.
  bool Resolve(const Kernel& kernel, absl::Span<const Arg> arguments);
  // Puts an op on the stream, between the calls of the watch.
  void Put(OpLaunch op, absl::FunctionRef<absl::Status()> launch);
  // Opaque work accesses the tensor.
  void Declare(Access access, const Tensor& tensor);

  // Used by the thread that runs the body only, as is all that follows.
  Stream& stream_;
  AccessObserver* const observer_;
  RandomSource* const random_;
  BodyMeans means_;
  BodyRequests requests_;
  RunMemory memory_;
  ForkedStreams forks_;
  BodyProgress progress_;
  ScopeStack scopes_;
  std::string scope_around_;  // of a part: what was open where the body broke
  bool may_have_others_ = false;
  std::vector<const Event*> events_;  // that were set
  std::vector<Argument> arguments_;   // of the op being launched; kept to reuse its memory
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_LAUNCHER_H_
