// Checks what a body hands over, tells the observer, and passes it to the stream.
#include "graphs/launcher.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"

namespace graphtree {

void Launcher::Fail(absl::Status status) {
  if (status_.ok()) status_ = std::move(status);
}

void Launcher::Passed(absl::string_view op, absl::Status status) {
  ++ops_;
  last_op_.assign(op.data(), op.size());
  Fail(std::move(status));
}

std::string Launcher::Place() const {
  return ops_ == 0 ? "before the first op of its body"
                   : absl::StrCat("behind op ", ops_, " of its body ('", last_op_, "')");
}

Tensor Launcher::Empty(DType type, absl::Span<const int64_t> sizes) {
  if (absl::Status possible = CheckSizes(type, sizes); !possible.ok()) {
    Fail(std::move(possible));
    return Tensor::Foreign(0, Layout::Of(type, std::vector<int64_t>(sizes.size(), 0)));
  }
  return Empty(Layout::Of(type, sizes));
}

Tensor Launcher::Empty(const Layout* layout) {
  if (!ok()) return Tensor::Foreign(0, layout);
  absl::StatusOr<Storage*> storage = allocator_.Allocate(layout->extent_bytes(), stream_);
  if (!storage.ok()) {
    Fail(storage.status());
    return Tensor::Foreign(0, layout);
  }
  return Tensor::Over(*storage, layout, (*storage)->range().base);
}

Tensor Launcher::Scratch(uint64_t bytes) {
  const int64_t size = static_cast<int64_t>(bytes);
  Fail(CheckSizes(DType::kU8, {size}));
  const Layout* const layout = Layout::Of(DType::kU8, {std::max<int64_t>(size, 0)});
  if (!ok()) return Tensor::Foreign(0, layout);
  absl::StatusOr<AddressRange> range = allocator_.Scratch(bytes, stream_);
  if (!range.ok()) {
    Fail(range.status());
    return Tensor::Foreign(0, layout);
  }
  has_scratch_ = true;
  return Tensor::Foreign(range->base, layout);
}

void Launcher::EndScratch() {
  if (!has_scratch_) return;
  has_scratch_ = false;
  allocator_.EndScratch();
}

bool Launcher::Usable(const Tensor& tensor, absl::string_view op) {
  if (!tensor.defined()) {
    Fail(absl::InvalidArgumentError(absl::StrCat(op, " was given an undefined tensor")));
    return false;
  }
  // What a part took along from its body is made again by every replay.
  if (in_part_ && tensor.storage() != nullptr && tensor.storage()->remade) return true;
  absl::StatusOr<AddressRange> bytes = tensor.bytes();
  if (!bytes.ok()) {
    Fail(absl::Status(bytes.status().code(), absl::StrCat(op, ": ", bytes.status().message())));
    return false;
  }
  return true;
}

bool Launcher::Resolve(const Kernel& kernel, std::initializer_list<Arg> arguments) {
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
      default: arguments_.push_back(Argument::InOut(range)); break;
    }
  }
  return true;
}

void Launcher::Launch(const Kernel& kernel, const LaunchShape& shape,
                      std::initializer_list<Arg> arguments) {
  if (!ok() || !Resolve(kernel, arguments)) return;
  if (observer_ != nullptr) {
    observer_->Launching(kernel.name());
    int index = 0;
    for (const Arg& argument : arguments) {
      if (argument.tensor() != nullptr) {
        observer_->Accessed(argument.access(), *argument.tensor(), index);
      }
      ++index;
    }
  }
  Passed(kernel.name(), stream_.Launch(kernel, shape, arguments_));
  EndScratch();
  if (ok() && observer_ != nullptr) observer_->Launched(kernel, shape, arguments_);
}

void Launcher::Copy(const Tensor& target, const Tensor& source) {
  if (!ok() || !Usable(target, "copy") || !Usable(source, "copy")) return;
  const AddressRange to = target.raw_bytes();
  const AddressRange from = source.raw_bytes();
  if (to.bytes != from.bytes) {
    Fail(absl::InvalidArgumentError(
        absl::StrCat("copy of ", from.bytes, " bytes into ", to.bytes, " bytes")));
    return;
  }
  if (observer_ != nullptr) {
    observer_->Launching("copy");
    observer_->Accessed(Access::kWrite, target, 0);
    observer_->Accessed(Access::kRead, source, 1);
  }
  Passed("copy", stream_.Copy(to.base, from.base, to.bytes));
  EndScratch();
  if (ok() && observer_ != nullptr) observer_->Copied({to.base, from.base, to.bytes});
}

void Launcher::Fill(const Tensor& target, uint8_t byte) {
  if (!ok() || !Usable(target, "fill")) return;
  if (observer_ != nullptr) {
    observer_->Launching("fill");
    observer_->Accessed(Access::kWrite, target, 0);
  }
  const AddressRange range = target.raw_bytes();
  Passed("fill", stream_.Fill(range.base, byte, 1, range.bytes));
  EndScratch();
  if (ok() && observer_ != nullptr) observer_->Filled({range.base, byte, 1, range.bytes});
}

void Launcher::Break(std::string why, std::initializer_list<Arg> tensors, EagerPart part) {
  const std::string name = absl::StrCat("break '", why, "'");
  if (part == nullptr) {
    return Fail(absl::InvalidArgumentError(absl::StrCat(name, " was given nothing to run")));
  }
  BreakRequest request{std::move(why), {}, std::move(part)};
  for (const Arg& argument : tensors) {
    if (!ok()) return;
    if (argument.tensor() == nullptr) {
      return Fail(absl::InvalidArgumentError(
          absl::StrCat(name, " was given a value as argument ", request.tensors.size(),
                       ", where only tensors stand; let the part hold the value")));
    }
    if (!Usable(*argument.tensor(), name)) return;
    request.tensors.push_back(
        Tensor::Foreign(argument.tensor()->word(), argument.tensor()->layout()));
  }
  if (!ok()) return;
  if (observer_ != nullptr) {
    observer_->Launching(request.why);
    int index = 0;
    for (const Arg& argument : tensors) {
      observer_->Accessed(argument.access(), *argument.tensor(), index++);
    }
    observer_->Broke(request.why);
  }
  Fail(cutter_ != nullptr ? cutter_->Cut(std::move(request)) : RunInPlace(request));
  EndScratch();
}

absl::Status Launcher::RunPart(const BreakRequest& request) {
  in_part_ = true;
  request.run(*this, request.tensors);
  if (ok()) return absl::OkStatus();
  absl::Status failed(status_.code(),
                      absl::StrCat("eager part '", request.why, "': ", status_.message()));
  status_.ForEachPayload([&failed](absl::string_view url, const absl::Cord& payload) {
    failed.SetPayload(url, payload);
  });
  return failed;
}

absl::Status Launcher::RunInPlace(const BreakRequest& request) {
  const bool ends_section = random_ != nullptr && !in_part_;
  if (ends_section) random_->EndSection();
  Launcher part(stream_, allocator_, nullptr, random_);
  part.SetWorkspaces(workspaces_);
  const absl::Status status = part.RunPart(request);
  if (ends_section) random_->EndSection();
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
  requests_.warm_up = why.empty() ? "no reason given" : std::move(why);
}

void Launcher::KeepAlive(std::shared_ptr<void> object) {
  requests_.keep_alive.push_back(std::move(object));
}

void Launcher::Reads(const Tensor& tensor) {
  if (ok() && Usable(tensor, "opaque work") && observer_ != nullptr) {
    observer_->Accessed(Access::kRead, tensor, -1);
  }
}

void Launcher::Writes(const Tensor& tensor) {
  if (ok() && Usable(tensor, "opaque work") && observer_ != nullptr) {
    observer_->Accessed(Access::kWrite, tensor, -1);
  }
}

void Launcher::UsedOn(const Tensor& tensor, Stream& side) {
  if (ok() && Usable(tensor, "opaque work on a side stream")) {
    Fail(allocator_.UseOn(tensor.storage(), side));
  }
}

}  // namespace graphtree
