// Checks what a body hands to its launcher, tells the observer, and puts the work on the stream.
#include "graphs/launcher.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "device/base/one_line.h"
#include "graphs/history/stack_marks.h"
#include "graphs/part_launcher.h"
#include "graphs/random/random_source.h"

namespace graphtree {
namespace {

// The op was put on the stream, or the attempt has failed. After the launch, not before: another
// tree that is called on another thread between the two goes on after the earlier work of the
// stream, and forgets the stream before it has awaited the launch.
void EndOp(absl::Span<const Arg> arguments, RunMemory* memory) {
  for (const Arg& argument : arguments) {
    if (argument.tensor() != nullptr) memory->NoteUse(*argument.tensor());
  }
  memory->EndScratch();
}

// OK if an op may touch the tensor.
absl::Status MayTouch(const Tensor& tensor, absl::string_view op, RunMemory* memory) {
  if (!tensor.defined()) {
    return absl::InvalidArgumentError(absl::StrCat(op, " was given an undefined tensor"));
  }
  if (!tensor.shape().possible()) {
    return absl::InvalidArgumentError(
        absl::StrCat(op, ": ", tensor.shape().Check().message()));
  }
  // Empty returned this tensor after a failure, perhaps in an earlier run: a body may have stored
  // it.
  if (tensor.word() == 0 && !tensor.raw_bytes().empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat(op, ": a tensor of ", tensor.raw_bytes().bytes,
                     " bytes at address 0; whoever made it had failed, and it has no memory"));
  }
  if (tensor.storage() != nullptr && memory->IsBodysScratch(*tensor.storage())) {
    return absl::FailedPreconditionError(
        absl::StrCat(op, ": the part has taken scratch memory of its body along, which no replay "
                         "has; name it among the break's tensors, and use the one that the part "
                         "is given"));
  }
  if (tensor.storage() != nullptr) memory->allocator().WillUse(*tensor.storage());
  const absl::StatusOr<AddressRange> bytes = tensor.bytes();
  if (bytes.ok()) return absl::OkStatus();
  return absl::Status(bytes.status().code(), absl::StrCat(op, ": ", bytes.status().message()));
}

// Copies and fills touch all bytes from the first to the last one; bytes in a gap may be somebody
// else's.
absl::Status HasNoGaps(const Layout& layout, absl::string_view op) {
  const uint64_t elements = static_cast<uint64_t>(layout.elements()) * BytesOf(layout.type());
  if (layout.extent_bytes() <= elements) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      op, ": ", layout.ToString(), " has gaps between its elements, and a ", op,
      " works on all bytes from the first to the last; launch a kernel instead"));
}

}  // namespace

void Launcher::Put(OpLaunch op, absl::FunctionRef<absl::Status()> launch) {
  absl::Status launched;
  if (OpWatch* const watch = means_.watch; watch == nullptr) {
    launched = launch();
  } else {
    const std::string scope = JoinedScopes(scopes_.text(), scope_around_);
    op.scope = scope;
    op.stream = &stream_;
    op.may_follow_others = may_have_others_;
    if (absl::Status may = watch->Before(op); !may.ok()) {
      return progress_.FailAt(op.name, std::move(may));
    }
    launched = launch();
    watch->After(op, launched);
  }
  if (!launched.ok()) return progress_.FailAt(op.name, std::move(launched));
  progress_.Passed(op.name);
}

// After a failure the body goes on, and may look at the dimensions of the tensor from here.
Tensor Launcher::Input(size_t index) {
  static const Layout* const nothing = Layout::Of(DType::kU8, {0, 0, 0, 0, 0, 0, 0, 0});
  absl::StatusOr<Tensor> input = means_.inputs.TensorAt(index);
  if (input.ok()) return *std::move(input);
  Fail(input.status());
  return Tensor::Foreign(0, nothing);
}

int64_t Launcher::Integer(size_t index) {
  const absl::StatusOr<int64_t> input = means_.inputs.IntegerAt(index);
  Fail(input.status());
  return input.ok() ? *input : 0;
}

Tensor Launcher::Empty(DType type, absl::Span<const int64_t> sizes) {
  return Empty(Layout::Of(type, sizes));
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
  if (!ok()) return Unmade(layout);
  absl::StatusOr<Tensor> made = memory_.Make(layout);
  if (made.ok()) return *std::move(made);
  Fail(made.status());
  return Unmade(layout);
}

Tensor Launcher::Scratch(uint64_t bytes) {
  const bool possible = bytes <= uint64_t{std::numeric_limits<int64_t>::max()};
  const int64_t size = possible ? static_cast<int64_t>(bytes) : 0;
  Fail(possible ? CheckSizes(DType::kU8, {size})
                : absl::InvalidArgumentError(absl::StrCat(
                      "scratch of ", bytes, " bytes is more than there are addresses")));
  const Layout* const layout = Layout::Of(DType::kU8, {size});
  if (!ok()) return Tensor::Foreign(0, layout);
  absl::StatusOr<Tensor> scratch = memory_.MakeScratch(bytes, layout);
  if (scratch.ok()) return *std::move(scratch);
  Fail(scratch.status());
  return Tensor::Foreign(0, layout);
}

bool Launcher::Usable(const Tensor& tensor, absl::string_view op) {
  absl::Status may = MayTouch(tensor, op, &memory_);
  if (may.ok()) return true;
  progress_.FailAt(op, std::move(may));
  return false;
}

bool Launcher::UsableWhole(const Tensor& tensor, absl::string_view op) {
  if (!Usable(tensor, op)) return false;
  absl::Status may = HasNoGaps(tensor.shape(), op);
  if (may.ok()) return true;
  progress_.FailAt(op, std::move(may));
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
        progress_.FailAt(kernel.name(),
                         absl::InvalidArgumentError(absl::StrCat(
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
  EndOp(arguments, &memory_);
  if (ok() && observer_ != nullptr) observer_->Launched(kernel, shape, arguments_);
}

void Launcher::Copy(const Tensor& target, const Tensor& source) {
  const DoorMark door;
  if (!ok() || !UsableWhole(target, "copy") || !UsableWhole(source, "copy")) return;
  const AddressRange to = target.raw_bytes();
  const AddressRange from = source.raw_bytes();
  if (to.bytes != from.bytes) {
    return progress_.FailAt("copy", absl::InvalidArgumentError(absl::StrCat(
                                        "copy of ", from.bytes, " bytes into ", to.bytes,
                                        " bytes")));
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
  EndOp(arguments, &memory_);
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
  EndOp(arguments, &memory_);
  if (ok() && observer_ != nullptr) observer_->Filled({range.base, byte, 1, range.bytes});
}

void Launcher::Pin(const Tensor& tensor) {
  if (!ok() || !Usable(tensor, "pinning")) return;
  Fail(memory_.allocator().Pin(tensor));
}

void Launcher::SetEvent(Event& event) {
  const DoorMark door;
  if (!ok()) return;
  if (std::find(events_.begin(), events_.end(), &event) != events_.end()) {
    return progress_.FailAt(
        "event", absl::FailedPreconditionError("one run set an event twice; a replay's waiters "
                                               "would not know which of the two they wait for"));
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
    memory_.allocator().HoldUsed(*argument.tensor());
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
  Fail(means_.cutter != nullptr ? means_.cutter->Cut(std::move(request))
                                : PartLauncher::RunInPlace(request, *this));
  memory_.EndScratch();
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
  if (means_.workspaces == nullptr) {
    Fail(absl::FailedPreconditionError(
        absl::StrCat("the body uses workspace ", id, ", but whoever runs it has none")));
    return {};
  }
  const absl::StatusOr<Workspaces::Found> found = means_.workspaces->Find(id);
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

void Launcher::Declare(Access access, const Tensor& tensor) {
  if (!ok() || !Usable(tensor, "opaque work")) return;
  memory_.allocator().HoldUsed(tensor);
  if (observer_ != nullptr) observer_->Accessed(access, tensor, -1);
}

void Launcher::Reads(const Tensor& tensor) {
  const DoorMark door;
  Declare(Access::kRead, tensor);
}

void Launcher::Writes(const Tensor& tensor) {
  const DoorMark door;
  Declare(Access::kWrite, tensor);
}

void Launcher::UsedOn(const Tensor& tensor, Stream& side) {
  if (!ok() || !Usable(tensor, "opaque work on a side stream")) return;
  if (observer_ != nullptr) observer_->UsedBeside(tensor);
  memory_.made().NoteBeside(tensor.storage());
  Fail(memory_.allocator().UseOn(tensor.storage(), side));
}

void Launcher::Fork(Stream& side) {
  if (!ok()) return;
  may_have_others_ = true;
  if (const absl::Status forked = forks_.Fork(side); !forked.ok()) {
    progress_.FailAt("fork", forked);
  }
}

// Also after a failure: what is put back then is put back after the work on the sides.
void Launcher::JoinForks() { Fail(forks_.Join(means_.is_captured, memory_.allocator())); }

}  // namespace graphtree
