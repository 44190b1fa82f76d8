// Checks what a body hands to its launcher, tells the observer, and puts the work on the stream.
#include "graphs/launcher.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "device/base/guarded_call.h"
#include "device/base/one_line.h"
#include "device/base/status_macros.h"
#include "graphs/history/stack_marks.h"

namespace graphtree {
void Launcher::Fail(absl::Status status) {
  if (status_.ok()) status_ = std::move(status);
}

void Launcher::Put(OpLaunch op, absl::FunctionRef<absl::Status()> launch) {
  if (watch_ == nullptr) return Passed(op.name, launch());
  const std::string scope = JoinedScopes(scopes_.text(), scope_around_);
  op.scope = scope;
  op.stream = &stream_;
  op.may_follow_others = may_have_others_;
  if (absl::Status may = watch_->Before(op); !may.ok()) return FailAt(op.name, std::move(may));
  absl::Status launched = launch();
  watch_->After(op, launched);
  Passed(op.name, std::move(launched));
}

void Launcher::Passed(absl::string_view op, absl::Status status) {
  if (!status.ok()) return FailAt(op, std::move(status));
  ++ops_;
  last_op_.assign(op.data(), op.size());
}

void Launcher::FailAt(absl::string_view op, absl::Status status) {
  if (!ok()) return;
  failed_op_.assign(op.data(), op.size());
  Fail(std::move(status));
}

std::string Launcher::Place() const {
  if (!failed_op_.empty()) {
    return absl::StrCat("at op ", ops_ + 1, " of its body ('", failed_op_, "')");
  }
  return ops_ == 0 ? "before the first op of its body"
                   : absl::StrCat("after op ", ops_, " of its body ('", last_op_, "')");
}

const Value* Launcher::InputFor(size_t index, absl::string_view wanted) {
  const auto missing = [&](absl::string_view why) {
    Fail(absl::InvalidArgumentError(
        absl::StrCat("the body takes input ", index, " as ", wanted, ", and ", why)));
    return nullptr;
  };
  if (inputs_ == nullptr) {
    return missing(in_part_ ? "an eager part has none: pass it to Launcher::Break"
                            : "whoever runs it has given the launcher none");
  }
  if (index >= inputs_brought_) {
    return missing(absl::StrCat("the call brought ", inputs_brought_, " inputs, counted from 0"));
  }
  if (index >= inputs_->size()) return missing("the body has taken it out of its inputs before");
  if ((*inputs_)[index].is_none()) {
    return missing("there is nothing: the call brought nothing, or the body has dropped it before");
  }
  return &(*inputs_)[index];
}

// After a failure the body goes on, and may look at the dimensions of the tensor from here.
Tensor Launcher::Input(size_t index) {
  static const Layout* const nothing = Layout::Of(DType::kU8, {0, 0, 0, 0, 0, 0, 0, 0});
  const Value* input = InputFor(index, "a tensor");
  if (input == nullptr) return Tensor::Foreign(0, nothing);
  if (input->is_tensor()) return Tensor::From(*input);
  Fail(absl::InvalidArgumentError(absl::StrCat("the body takes input ", index,
                                               " as a tensor, and it is ", Description(*input))));
  return Tensor::Foreign(0, nothing);
}

int64_t Launcher::Integer(size_t index) {
  const Value* input = InputFor(index, "an integer");
  if (input == nullptr) return 0;
  if (input->is_integer()) return input->integer();
  Fail(absl::InvalidArgumentError(absl::StrCat("the body takes input ", index,
                                               " as an integer, and it is ", Description(*input))));
  return 0;
}

Tensor Launcher::Empty(DType type, absl::Span<const int64_t> sizes) {
  return Empty(Layout::Of(type, sizes));
}

Tensor Launcher::Unmade(const Layout* layout) {
  if (layout->possible()) return Tensor::Foreign(0, layout);
  const std::vector<int64_t> none(layout->sizes().size(), 0);
  return Tensor::Foreign(0, Layout::Of(layout->type(), none));
}

Storage* Launcher::Allocate(uint64_t bytes) {
  const uint64_t room = made_.RoomFor(bytes);
  asked_bytes_ += bytes;
  absl::StatusOr<Storage*> storage = allocator_.AllocateWithRoom(bytes, room, stream_);
  if (storage.ok()) return *storage;
  Fail(storage.status());
  return nullptr;
}

Tensor Launcher::Empty(const Layout* layout) {
  if (layout == nullptr) {
    Fail(absl::InvalidArgumentError("Empty was given no layout"));
    return Tensor();
  }
  if (layout->kind() != ValueKind::kTensor) {
    Fail(absl::InvalidArgumentError("Empty was given the layout of values that are no tensors"));
    return Tensor::Foreign(0, Layout::Of(DType::kU8, {0}));
  }
  Fail(layout->Check());
  Storage* const storage = ok() ? Allocate(layout->extent_bytes()) : nullptr;
  if (storage == nullptr) return Unmade(layout);
  requests_.pads.room_bytes += made_.Add(*storage, layout->extent_bytes());
  return Tensor::Over(storage, layout, storage->range().base);
}

Tensor Launcher::Scratch(uint64_t bytes) {
  const bool possible = bytes <= uint64_t{std::numeric_limits<int64_t>::max()};
  const int64_t size = possible ? static_cast<int64_t>(bytes) : 0;
  Fail(possible ? CheckSizes(DType::kU8, {size})
                : absl::InvalidArgumentError(absl::StrCat(
                      "scratch of ", bytes, " bytes is more than there are addresses")));
  const Layout* const layout = Layout::Of(DType::kU8, {size});
  if (!ok()) return Tensor::Foreign(0, layout);
  absl::StatusOr<Storage*> storage = allocator_.Scratch(bytes, stream_);
  if (!storage.ok()) {
    Fail(storage.status());
    return Tensor::Foreign(0, layout);
  }
  scratch_.push_back(Tensor::Over(*storage, layout, (*storage)->range().base));
  return scratch_.back();
}

void Launcher::EndScratch() {
  for (const Tensor& scratch : scratch_) allocator_.EndScratch(scratch.storage());
  scratch_.clear();
}

bool Launcher::Usable(const Tensor& tensor, absl::string_view op) {
  if (!tensor.defined()) {
    FailAt(op, absl::InvalidArgumentError(absl::StrCat(op, " was given an undefined tensor")));
    return false;
  }
  if (!tensor.shape().possible()) {
    FailAt(op, absl::InvalidArgumentError(
                   absl::StrCat(op, ": ", tensor.shape().Check().message())));
    return false;
  }
  // Empty returned this tensor after a failure, perhaps in an earlier run: a body may have stored
  // it.
  if (tensor.word() == 0 && !tensor.raw_bytes().empty()) {
    FailAt(op, absl::FailedPreconditionError(absl::StrCat(
                   op, ": a tensor of ", tensor.raw_bytes().bytes, " bytes at address 0; whoever "
                   "made it had failed, and it has no memory")));
    return false;
  }
  if (tensor.storage() != nullptr && IsBodysScratch(*tensor.storage())) {
    FailAt(op, absl::FailedPreconditionError(absl::StrCat(
                   op, ": the part has taken scratch memory of its body along, which no replay "
                   "has; name it among the break's tensors, and use the one that the part is "
                   "given")));
    return false;
  }
  if (tensor.storage() != nullptr) allocator_.WillUse(*tensor.storage());
  absl::StatusOr<AddressRange> bytes = tensor.bytes();
  if (!bytes.ok()) {
    FailAt(op,
           absl::Status(bytes.status().code(), absl::StrCat(op, ": ", bytes.status().message())));
    return false;
  }
  return true;
}

// After the launch, not before: another tree that is called on another thread between the two goes
// on after the earlier work of the stream, and forgets the stream before it has awaited the launch.
void Launcher::NoteUse(const Tensor& tensor) {
  if (tensor.storage() != nullptr) allocator_.NoteUse(*tensor.storage(), stream_);
}

void Launcher::NoteUses(absl::Span<const Arg> arguments) {
  for (const Arg& argument : arguments) {
    if (argument.tensor() != nullptr) NoteUse(*argument.tensor());
  }
}

// A replay runs the parts and nothing else of the body: such scratch does not exist then.
bool Launcher::IsBodysScratch(const Storage& storage) const {
  if (!in_part_ || storage.output != kScratch) return false;
  for (const Launcher* part = this; part != nullptr; part = part->outer_part_) {
    for (const Tensor& own : part->scratch_) {
      if (own.storage() == &storage) return false;
    }
  }
  return storage.state() == StorageState::kView;
}

// Copies and fills touch all bytes from the first to the last one; bytes in a gap may be somebody
// else's.
bool Launcher::UsableWhole(const Tensor& tensor, absl::string_view op) {
  if (!Usable(tensor, op)) return false;
  const Layout& layout = tensor.shape();
  const uint64_t elements = static_cast<uint64_t>(layout.elements()) * BytesOf(layout.type());
  if (layout.extent_bytes() <= elements) return true;
  FailAt(op, absl::InvalidArgumentError(absl::StrCat(
                 op, ": ", layout.ToString(), " has gaps between its elements, and a ", op,
                 " works on all bytes from the first to the last; launch a kernel instead")));
  return false;
}

bool Launcher::Resolve(const Kernel& kernel, absl::Span<const Arg> arguments) {
  arguments_.clear();
  for (const Arg& argument : arguments) {
    if (argument.tensor() == nullptr) {
      arguments_.push_back(argument.value());
      continue;
    }
    const Tensor& tensor = *argument.tensor();
    if (!Usable(tensor, kernel.name())) return false;
    const AddressRange range = tensor.raw_bytes();
    switch (argument.access()) {
      case Access::kRead: arguments_.push_back(Argument::In(range)); break;
      case Access::kWrite: arguments_.push_back(Argument::Out(range)); break;
      case Access::kReadWrite: arguments_.push_back(Argument::InOut(range)); break;
      default:
        FailAt(kernel.name(), absl::InvalidArgumentError(absl::StrCat(
                                  kernel.name(), " is given a tensor with access ",
                                  static_cast<int>(argument.access()),
                                  ", and a tensor is read (1), written (2), or both (3)")));
        return false;
    }
  }
  return true;
}

void Launcher::Launch(const Kernel& kernel, const LaunchShape& shape,
                      absl::Span<const Arg> arguments) {
  const DoorMark door;
  Issue(kernel, shape, arguments);
}

void Launcher::Issue(const Kernel& kernel, const LaunchShape& shape,
                     absl::Span<const Arg> arguments) {
  if (!ok() || !Resolve(kernel, arguments)) return;
  if (observer_ != nullptr) {
    observer_->Launching(kernel.name());
    int index = 0;
    for (const Arg& argument : arguments) {
      if (argument.tensor() != nullptr) {
        observer_->Accessed(argument.access(), *argument.tensor(), index);
        if (argument.access() == Access::kRead && kernel.params().MayWrite(index)) {
          observer_->Doubted(*argument.tensor());
        }
      }
      ++index;
    }
    if (!ok()) return;  // the observer has made the launcher fail
  }
  Put({.kind = OpKind::kKernel,
       .name = kernel.name(),
       .kernel = &kernel,
       .shape = &shape,
       .arguments = arguments},
      [&] { return stream_.Launch(kernel, shape, arguments_); });
  NoteUses(arguments);
  EndScratch();
  if (ok() && observer_ != nullptr) observer_->Launched(kernel, shape, arguments_);
}

void Launcher::Copy(const Tensor& target, const Tensor& source) {
  const DoorMark door;
  if (!ok() || !UsableWhole(target, "copy") || !UsableWhole(source, "copy")) return;
  const AddressRange to = target.raw_bytes();
  const AddressRange from = source.raw_bytes();
  if (to.bytes != from.bytes) {
    FailAt("copy", absl::InvalidArgumentError(absl::StrCat("copy of ", from.bytes, " bytes into ",
                                                           to.bytes, " bytes")));
    return;
  }
  if (observer_ != nullptr) {
    observer_->Launching("copy");
    observer_->Accessed(Access::kWrite, target, 0);
    observer_->Accessed(Access::kRead, source, 1);
    if (!ok()) return;
  }
  const Arg arguments[] = {Out(target), In(source)};
  Put({.kind = OpKind::kCopy,
       .name = "copy",
       .arguments = arguments,
       .is_nothing = to.bytes == 0},
      [&] { return stream_.Copy(to.base, from.base, to.bytes); });
  NoteUse(target);
  NoteUse(source);
  EndScratch();
  if (ok() && observer_ != nullptr) observer_->Copied({to.base, from.base, to.bytes});
}

void Launcher::Fill(const Tensor& target, uint8_t byte) {
  const DoorMark door;
  if (!ok() || !UsableWhole(target, "fill")) return;
  if (observer_ != nullptr) {
    observer_->Launching("fill");
    observer_->Accessed(Access::kWrite, target, 0);
    if (!ok()) return;
  }
  const AddressRange range = target.raw_bytes();
  const Arg arguments[] = {Out(target)};
  Put({.kind = OpKind::kFill,
       .name = "fill",
       .arguments = arguments,
       .is_nothing = range.bytes == 0},
      [&] { return stream_.Fill(range.base, byte, 1, range.bytes); });
  NoteUse(target);
  EndScratch();
  if (ok() && observer_ != nullptr) observer_->Filled({range.base, byte, 1, range.bytes});
}

void Launcher::Pin(const Tensor& tensor) {
  if (!ok() || !Usable(tensor, "pinning")) return;
  Fail(allocator_.Pin(tensor));
}

void Launcher::SetEvent(Event& event) {
  const DoorMark door;
  if (!ok()) return;
  if (std::find(events_.begin(), events_.end(), &event) != events_.end()) {
    return FailAt("event", absl::FailedPreconditionError(
                               "one run set an event twice; a replay's waiters would not know "
                               "which of the two they wait for"));
  }
  Put({.kind = OpKind::kEventRecord, .name = "event"},
      [&] { return stream_.RecordExternal(event); });
  if (!ok()) return;
  events_.push_back(&event);
  if (observer_ != nullptr) observer_->SetsEvent();
}

void Launcher::Break(std::string why, absl::Span<const Arg> tensors, EagerPart part) {
  const DoorMark door;
  why = OneLine(why);
  const std::string name = absl::StrCat("break '", why, "'");
  if (part == nullptr) {
    return Fail(absl::InvalidArgumentError(absl::StrCat(name, " was given nothing to run")));
  }
  BreakRequest request{std::move(why), {}, std::move(part), {}};
  request.scope = JoinedScopes(scopes_.text(), scope_around_);
  for (const Arg& argument : tensors) {
    if (!ok()) return;
    if (argument.tensor() == nullptr) {
      return Fail(absl::InvalidArgumentError(
          absl::StrCat(name, " was given a value as argument ", request.tensors.size(),
                       ", where only tensors stand; let the part hold the value")));
    }
    if (!Usable(*argument.tensor(), name)) return;
    allocator_.HoldUsed(*argument.tensor());
    request.tensors.push_back(
        Tensor::Foreign(argument.tensor()->word(), argument.tensor()->layout()));
    const Storage* storage = argument.tensor()->storage();
    request.named.push_back(
        {argument.access() != Access::kRead, storage == nullptr ? 0 : storage->serial});
  }
  JoinForks();
  if (!ok()) return;
  if (observer_ != nullptr) {
    observer_->Launching(request.why);
    int index = 0;
    for (const Arg& argument : tensors) {
      observer_->Accessed(argument.access(), *argument.tensor(), index++);
    }
    if (!ok()) return;  // the observer has refused an access
    observer_->Broke(request.why);
  }
  Fail(cutter_ != nullptr ? cutter_->Cut(std::move(request)) : RunInPlace(request));
  EndScratch();
}

absl::Status Launcher::RunPart(const BreakRequest& request) {
  in_part_ = true;
  scope_around_ = request.scope;
  made_.Forget();
  CallbackMark callback;
  Fail(Guarded([&] {
    callback.Enter();
    request.run(*this, request.tensors);
  }));
  JoinForks();
  EndScratch();
  if (ok()) return absl::OkStatus();
  absl::Status failed(status_.code(),
                      absl::StrCat("eager part '", request.why, "': ", status_.message()));
  status_.ForEachPayload([&failed](absl::string_view url, const absl::Cord& payload) {
    failed.SetPayload(url, payload);
  });
  return failed;
}

absl::Status Launcher::RunInPlace(const BreakRequest& request) {
  if (random_ != nullptr) random_->EndSection();
  PartLauncher parts(stream_, allocator_, nullptr, random_);
  parts.SetWorkspaces(workspaces_);
  parts.SetWatch(watch_);
  const absl::Status status = parts.Run(request);
  requests_.AddOfPart(parts.TakeRequests());
  if (random_ != nullptr) random_->EndSection();
  return status;
}

void PartLauncher::Fail(const absl::Status& why) {
  for (Launcher* part = innermost_; part != nullptr; part = part->outer_part_) part->Fail(why);
}

absl::Status PartLauncher::Cut(BreakRequest request) {
  Launcher* const outer = innermost_;
  Launcher inner(on_.stream_, on_.allocator_, on_.observer_, on_.random_);
  inner.SetWorkspaces(on_.workspaces_);
  inner.SetWatch(on_.watch_);
  inner.SetCutter(this);
  inner.outer_part_ = outer;
  innermost_ = &inner;
  const absl::Status status = inner.RunPart(request);
  innermost_ = outer;
  outer->requests().AddOfPart(std::move(inner.requests()));
  return status;
}

RandomState Launcher::Random(const GeneratorPtr& generator, uint64_t count) {
  if (!ok()) return {};
  if (random_ == nullptr) {
    Fail(absl::FailedPreconditionError(absl::StrCat(
        "the body draws ", count, " random numbers, but whoever runs it has no source of them")));
    return {};
  }
  absl::StatusOr<RandomState> state = random_->Draw(generator, count);
  if (!state.ok()) Fail(state.status());
  return state.ok() ? *state : RandomState{};
}

AddressRange Launcher::Workspace(WorkspaceId id) {
  if (!ok()) return {};
  if (workspaces_ == nullptr) {
    Fail(absl::FailedPreconditionError(
        absl::StrCat("the body uses workspace ", id, ", but whoever runs it has none")));
    return {};
  }
  const absl::StatusOr<Workspaces::Found> found = workspaces_->Find(id);
  if (!found.ok()) {
    Fail(found.status());
    return {};
  }
  requests_.workspaces.push_back(found->use);
  return found->memory;
}

void Launcher::WarmUpAgain(std::string why) {
  requests_.warm_up = why.empty() ? "no reason given" : OneLine(why);
}

void Launcher::KeepAlive(std::shared_ptr<void> object) {
  requests_.keep_alive.push_back(std::move(object));
}

void Launcher::Reads(const Tensor& tensor) {
  const DoorMark door;
  if (!ok() || !Usable(tensor, "opaque work")) return;
  allocator_.HoldUsed(tensor);
  if (observer_ != nullptr) observer_->Accessed(Access::kRead, tensor, -1);
}

void Launcher::Writes(const Tensor& tensor) {
  const DoorMark door;
  if (!ok() || !Usable(tensor, "opaque work")) return;
  allocator_.HoldUsed(tensor);
  if (observer_ != nullptr) observer_->Accessed(Access::kWrite, tensor, -1);
}

}  // namespace graphtree
