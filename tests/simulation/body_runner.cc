// Ops, one after the other.
#include "tests/simulation/body_runner.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "device/base/status_macros.h"
#include "tests/kernels/kernels.h"

namespace graphtree::simulation {
namespace {

LaunchShape ShapeFor(uint32_t elements) {
  LaunchShape shape;
  shape.grid.x = (elements + 255) / 256;
  shape.block.x = 256;
  return shape;
}

// What its caller was promised about the inputs, as a body would rely on it.
absl::Status CheckAligned(const FunctionSpec& spec, const Values& inputs) {
  for (uint32_t p : spec.aligned) {
    if (inputs[p].word() % kAligned == 0) continue;
    return absl::InternalError(absl::StrCat("the body was given input ", p, " less aligned"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status BodyRunner::Open() {
  GRAPHTREE_ASSIGN_OR_RETURN(fork_, device_.NewStream());
  GRAPHTREE_ASSIGN_OR_RETURN(forked_, device_.NewEvent({}));
  GRAPHTREE_ASSIGN_OR_RETURN(joined_, device_.NewEvent({}));
  return absl::OkStatus();
}

void BodyRunner::Fork(Launcher& on, const Tensor& out, const Tensor& a, const Tensor& b) {
  on.Reads(a);
  on.Reads(b);
  on.Writes(out);
  if (!on.ok()) return;
  const std::vector<Argument> arguments = {
      Argument::Out(out.raw_bytes()), Argument::In(a.raw_bytes()), Argument::In(b.raw_bytes()),
      Argument::Value(elements_)};
  absl::Status status = on.stream().Record(*forked_);
  if (status.ok()) status = fork_->Wait(*forked_);
  if (status.ok()) status = fork_->Launch(AddKernel(), ShapeFor(elements_), arguments);
  const bool runs = status.ok();
  if (status.ok()) status = fork_->Record(*joined_);
  if (status.ok()) status = on.stream().Wait(*joined_);
  // A fork that cannot be joined is waited for: what the call wrote is taken back behind it.
  if (runs && !status.ok()) fork_->Synchronize().IgnoreError();
  on.Fail(status);
}

// As another framework would do it: its allocator calls back, its kernels go onto the raw stream.
absl::Status BodyRunner::AddByWayOf(Address block, Launcher& on, const Tensor& out,
                                    const Tensor& a, const Tensor& b) {
  on.Reads(a);
  on.Reads(b);
  on.Writes(out);
  GRAPHTREE_RETURN_IF_ERROR(on.status());
  const uint64_t bytes = out.raw_bytes().bytes;
  const std::vector<Argument> arguments = {
      Argument::Out({block, bytes}), Argument::In(a.raw_bytes()), Argument::In(b.raw_bytes()),
      Argument::Value(elements_)};
  GRAPHTREE_RETURN_IF_ERROR(on.stream().Launch(AddKernel(), ShapeFor(elements_), arguments));
  return on.stream().Copy(out.raw_bytes().base, block, bytes);
}

void BodyRunner::AddForeign(Launcher& on, const Tensor& out, const Tensor& a, const Tensor& b) {
  const absl::StatusOr<Address> block =
      foreign_->Allocate(out.raw_bytes().bytes, on.stream());
  if (!block.ok()) return on.Fail(block.status());
  on.Fail(AddByWayOf(*block, on, out, a, b));
  on.Fail(foreign_->Free(*block, on.stream()));
}

void BodyRunner::AddInLibrary(Launcher& on, const Tensor& out, const Tensor& a, const Tensor& b) {
  if (library_ == 0) {
    const absl::StatusOr<Address> block =
        foreign_->Allocate(out.raw_bytes().bytes, on.stream());
    if (!block.ok()) return on.Fail(block.status());
    library_ = *block;
  }
  on.Fail(AddByWayOf(library_, on, out, a, b));
}

void BodyRunner::AddOnHost(Launcher& on, const Tensor& out, const Tensor& a, const Tensor& b) {
  on.Break("host", {In(a), In(b), Out(out)},
           [elements = elements_](Launcher& part, absl::Span<const Tensor> tensors) {
             Stream& stream = part.stream();
             Cell words[2] = {Cell(elements), Cell(elements)};
             for (int i = 0; i < 2; ++i) {
               const Address target = AddressOf(words[i].data());
               part.Fail(stream.Copy(target, tensors[i].word(), elements * sizeof(uint32_t)));
             }
             part.Fail(stream.Synchronize());
             if (!part.ok()) return;
             for (uint32_t e = 0; e < elements; ++e) words[0][e] += words[1][e];
             part.Fail(stream.Copy(tensors[2].word(), AddressOf(words[0].data()),
                                   elements * sizeof(uint32_t)));
             part.Fail(stream.Synchronize());
           });
}

absl::Status BodyRunner::CleanLibrary(Stream& stream) {
  if (library_ == 0) return absl::OkStatus();
  return foreign_->Free(std::exchange(library_, 0), stream);
}

Tensor BodyRunner::NewTensor(const OpSpec& op, Launcher& on, const Values& registers,
                             uint32_t key) {
  const Tensor out = on.Empty(DType::kI32, {elements_});
  if (!on.ok()) return out;
  const LaunchShape shape = ShapeFor(elements_);
  if (op.kind == OpSpecKind::kFill || op.kind == OpSpecKind::kLoad) {
    const uint32_t seed = op.immediate + key;
    on.Launch(FillPatternKernel(), shape, {Out(out), Val(seed), Val(elements_)});
    return out;
  }
  const Tensor a = Tensor::From(registers[op.a]);
  const Tensor b = Tensor::From(registers[op.b]);
  switch (op.kind) {
    case OpSpecKind::kFork: Fork(on, out, a, b); break;
    case OpSpecKind::kForeign: AddForeign(on, out, a, b); break;
    case OpSpecKind::kLibrary: AddInLibrary(on, out, a, b); break;
    case OpSpecKind::kBreak: AddOnHost(on, out, a, b); break;
    default: on.Launch(AddKernel(), shape, {Out(out), In(a), In(b), Val(elements_)}); break;
  }
  return out;
}

// Looks before it takes, or does not. Where it finds nothing that it may use it makes something.
void BodyRunner::Load(const FunctionSpec& spec, size_t op, Launcher& on, Values* registers,
                      uint32_t key, Model* follows) {
  const OpSpec& load = spec.ops[op];
  Stored& found = shelf_.at(load.a);
  if (load.b != 0 && found.stale()) found = {};
  if (found.empty()) {
    registers->push_back(NewTensor(load, on, *registers, key));
    if (on.ok()) follows->Do(load);
    return;
  }
  used_stale_ |= found.stale() && spec.UsesBehind(op, static_cast<int>(registers->size()));
  registers->push_back(found.handle);
  if (found.by == follows->run()) {
    follows->TakeOwn(found.number);
  } else {
    follows->Take(found.known);
  }
}

Values BodyRunner::Run(const FunctionSpec& spec, Launcher& on, Values& inputs, Model* follows) {
  used_stale_ = false;
  on.Fail(CheckAligned(spec, inputs));
  uint32_t key = 0;
  Values registers;
  for (Value& input : inputs) {
    key += KeyOf(input);
    registers.push_back(std::move(input));
  }
  for (size_t i = 0; i < spec.ops.size(); ++i) {
    if (!on.ok()) return {};
    between_();
    const OpSpec& op = spec.ops[i];
    switch (op.kind) {
      case OpSpecKind::kDrop: registers[op.a] = Value(); break;
      case OpSpecKind::kIncrement:
        on.Launch(IncrementKernel(), ShapeFor(elements_),
                  {InOut(Tensor::From(registers[op.a])), Val(op.immediate), Val(elements_)});
        break;
      case OpSpecKind::kSecret:
        on.Launch(IncrementKernel(), ShapeFor(elements_),
                  {In(Tensor::From(registers[op.a])), Val(op.immediate), Val(elements_)});
        break;
      case OpSpecKind::kStore:
        shelf_.at(op.b) = {registers[op.a], follows->ForShelf(op.a), follows->run(),
                           static_cast<size_t>(op.a)};
        break;
      case OpSpecKind::kForget: shelf_.at(op.b) = {}; break;
      case OpSpecKind::kLoad: Load(spec, i, on, &registers, key, follows); continue;
      default: registers.push_back(NewTensor(op, on, registers, key)); break;
    }
    if (on.ok()) follows->Do(op);
  }
  Values outputs;
  for (int r : spec.outputs) outputs.push_back(r == kNoRegister ? Value() : registers[r]);
  return outputs;
}

}  // namespace graphtree::simulation
