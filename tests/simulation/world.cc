// The caller of a program, and the model of what it should see.
#include "tests/simulation/world.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "tests/kernels/kernels.h"

namespace graphtree::simulation {
namespace {

constexpr uint64_t kSlotBytes = 4096;
constexpr uint64_t kOutsideBytes = 2 << 20;
constexpr size_t kStatics = 3;
constexpr size_t kForeign = 4;

LaunchShape ShapeFor(uint32_t elements) {
  LaunchShape shape;
  shape.grid.x = (elements + 255) / 256;
  shape.block.x = 256;
  return shape;
}

}  // namespace

World::World(Device& device, const Program& program, const TreeOptions& options)
    : device_(device), program_(program), options_(options) {}

World::~World() {
  TearDown().IgnoreError();
  live_.clear();
  tree_ = nullptr;  // before the streams that it ran on, also where tearing down failed
}

absl::StatusOr<Address> World::NewOutside() {
  const Address address = outside_.range.base + outside_used_;
  outside_used_ += kSlotBytes;
  return address;
}

absl::Status World::SetUp() {
  for (auto& stream : streams_) {
    GRAPHTREE_ASSIGN_OR_RETURN(stream, device_.NewStream());
  }
  GRAPHTREE_ASSIGN_OR_RETURN(fork_, device_.NewStream());
  GRAPHTREE_ASSIGN_OR_RETURN(forked_, device_.NewEvent({}));
  GRAPHTREE_ASSIGN_OR_RETURN(joined_, device_.NewEvent({}));
  Memory& memory = device_.memory();
  const uint64_t bytes = std::max<uint64_t>(kOutsideBytes, memory.granularity());
  GRAPHTREE_ASSIGN_OR_RETURN(outside_.range, memory.Reserve(bytes, {}));
  GRAPHTREE_ASSIGN_OR_RETURN(outside_.memory, memory.Create(bytes));
  GRAPHTREE_RETURN_IF_ERROR(memory.Map(outside_.range.base, *outside_.memory));
  GRAPHTREE_RETURN_IF_ERROR(memory.SetAccess(outside_.range, MemoryAccess::kReadWrite));
  memory.NoteLive(outside_.range, "the simulated caller's own memory");

  const Layout* layout = Layout::Of(DType::kI32, {program_.elements});
  for (size_t i = 0; i < kStatics + kForeign; ++i) {
    GRAPHTREE_ASSIGN_OR_RETURN(const Address address, NewOutside());
    Seen seen{Tensor::Foreign(address, layout), std::make_shared<Cell>(program_.elements)};
    for (uint32_t e = 0; e < program_.elements; ++e) {
      (*seen.cell)[e] = PatternWord(static_cast<uint32_t>(i), e);
    }
    GRAPHTREE_RETURN_IF_ERROR(
        streams_[0]->Copy(address, AddressOf(seen.cell->data()), program_.elements * 4));
    (i < kStatics ? statics_ : foreign_).push_back(std::move(seen));
  }
  GRAPHTREE_RETURN_IF_ERROR(streams_[0]->Synchronize());

  GRAPHTREE_ASSIGN_OR_RETURN(tree_, Tree::Create(device_, options_));
  for (size_t f = 0; f < program_.functions.size(); ++f) {
    const FunctionSpec& spec = program_.functions[f];
    FunctionOptions options;
    options.moving = spec.moving;
    options.kept_outputs = spec.kept;
    for (uint32_t p = 0; p < spec.params.size(); ++p) {
      if (spec.params[p] == ParamKind::kStatic) options.static_inputs.push_back(p);
    }
    tree_->Register(absl::StrCat("f", f), options, [this, &spec](Launcher& on, Values& inputs) {
      return BodyOf(spec, on, inputs);
    });
  }
  return absl::OkStatus();
}

absl::Status World::TearDown() {
  live_.clear();
  for (auto& stream : streams_) {
    if (stream != nullptr) GRAPHTREE_RETURN_IF_ERROR(stream->Synchronize());
  }
  tree_ = nullptr;
  if (outside_.memory != nullptr) {
    GRAPHTREE_RETURN_IF_ERROR(device_.memory().Unmap(outside_.range));
    outside_.memory = nullptr;
  }
  if (!outside_.range.empty()) {
    GRAPHTREE_RETURN_IF_ERROR(device_.memory().Release(outside_.range));
    outside_.range = {};
  }
  return absl::OkStatus();
}

absl::Status World::Run() {
  GRAPHTREE_RETURN_IF_ERROR(SetUp());
  for (size_t i = 0; i < program_.actions.size(); ++i) {
    absl::Status status = Act(program_.actions[i]);
    if (status.ok()) status = CheckAll();
    if (!status.ok()) {
      return absl::Status(status.code(), absl::StrCat("action ", i, ": ", status.message()));
    }
  }
  return TearDown();
}

absl::Status World::Act(const Action& action) {
  switch (action.kind) {
    case ActionKind::kCall: return Call(action);
    case ActionKind::kDrop:
      if (!live_.empty()) live_.erase(live_.begin() + action.picks[0] % live_.size());
      return absl::OkStatus();
    case ActionKind::kStep:
      tree_->BeginStep();
      return ForgetStale();
    case ActionKind::kRestream: stream_ ^= 1; return absl::OkStatus();
    case ActionKind::kRewrite: {
      const Seen& seen = foreign_[action.picks[0] % foreign_.size()];
      for (uint32_t e = 0; e < program_.elements; ++e) {
        (*seen.cell)[e] = PatternWord(action.picks[1], e);
      }
      GRAPHTREE_RETURN_IF_ERROR(streams_[stream_]->Copy(
          seen.handle.word(), AddressOf(seen.cell->data()), program_.elements * 4));
      return streams_[stream_]->Synchronize();
    }
  }
  return absl::OkStatus();
}

// A stale tensor is an error to use and out of the caller's sight after that.
absl::Status World::ForgetStale() {
  auto stale = [](const Seen& seen) {
    return seen.handle.storage() != nullptr && seen.handle.storage()->stale();
  };
  for (const Seen& seen : live_) {
    if (seen.kept && stale(seen)) return absl::InternalError("a kept output went stale");
  }
  live_.erase(std::remove_if(live_.begin(), live_.end(), stale), live_.end());
  return absl::OkStatus();
}

bool World::PickArguments(const FunctionSpec& spec, const Action& action,
                          std::vector<Seen>* arguments) {
  for (size_t p = 0; p < spec.params.size(); ++p) {
    const uint32_t pick = action.picks[p];
    switch (spec.params[p]) {
      case ParamKind::kInteger:
        arguments->push_back({Value::Integer(pick % 2), nullptr});
        break;
      case ParamKind::kStatic:
        // Mostly the same one, but for a restless program.
        arguments->push_back(pick % (program_.restless ? 2 : 10) == 0
                                 ? statics_[pick / 10 % kStatics]
                                 : statics_[p % kStatics]);
        break;
      case ParamKind::kManaged:
        if (live_.empty()) return false;
        arguments->push_back(live_[pick % live_.size()]);
        break;
      case ParamKind::kAny: {
        const uint32_t at = pick % (live_.size() + foreign_.size());
        arguments->push_back(at < live_.size() ? live_[at] : foreign_[at - live_.size()]);
        break;
      }
    }
  }
  return true;
}

absl::Status World::Call(const Action& action) {
  const uint32_t function = action.function % program_.functions.size();
  const FunctionSpec& spec = program_.functions[function];
  std::vector<Seen> arguments;
  if (!PickArguments(spec, action, &arguments)) return absl::OkStatus();
  std::vector<Seen> expected = ModelOf(spec, arguments);

  Values inputs;
  for (const Seen& argument : arguments) inputs.push_back(argument.handle);
  // What the caller does not keep is gone with the call.
  for (size_t p = 0; p < arguments.size(); ++p) {
    if ((action.keep >> p & 1) != 0 || arguments[p].handle.storage() == nullptr) continue;
    const Storage* storage = arguments[p].handle.storage();
    arguments[p].handle = Value();
    live_.erase(std::remove_if(live_.begin(), live_.end(),
                               [&](const Seen& seen) { return seen.handle.storage() == storage; }),
                live_.end());
  }
  arguments.clear();
  Values outputs;
  GRAPHTREE_RETURN_IF_ERROR(
      tree_->Run(function, absl::MakeSpan(inputs), *streams_[stream_], &outputs));
  if (outputs.size() != expected.size()) {
    return absl::InternalError(absl::StrCat("function ", function, " gave ", outputs.size(),
                                            " outputs instead of ", expected.size()));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].is_none() != (expected[i].cell == nullptr)) {
      return absl::InternalError(absl::StrCat("output ", i, " is there or not, wrongly"));
    }
    if (outputs[i].is_none()) continue;
    const bool kept = std::find(spec.kept.begin(), spec.kept.end(), i) != spec.kept.end();
    live_.push_back({std::move(outputs[i]), expected[i].cell, kept});
  }
  return absl::OkStatus();
}

absl::Status World::CheckOne(const Seen& seen, const std::string& name) {
  Cell found(program_.elements);
  GRAPHTREE_RETURN_IF_ERROR(
      streams_[stream_]->Copy(AddressOf(found.data()), seen.handle.word(), found.size() * 4));
  GRAPHTREE_RETURN_IF_ERROR(streams_[stream_]->Synchronize());
  for (size_t e = 0; e < found.size(); ++e) {
    if (found[e] != (*seen.cell)[e]) {
      return absl::InternalError(absl::StrCat(name, " has ", found[e], " at ", e, " instead of ",
                                              (*seen.cell)[e], " (tree: ", tree_->state(), ")"));
    }
  }
  return absl::OkStatus();
}

absl::Status World::CheckAll() {
  for (auto& stream : streams_) GRAPHTREE_RETURN_IF_ERROR(stream->Synchronize());
  for (size_t i = 0; i < live_.size(); ++i) {
    GRAPHTREE_RETURN_IF_ERROR(CheckOne(live_[i], absl::StrCat("output ", i)));
  }
  for (size_t i = 0; i < statics_.size(); ++i) {
    GRAPHTREE_RETURN_IF_ERROR(CheckOne(statics_[i], absl::StrCat("static tensor ", i)));
  }
  for (size_t i = 0; i < foreign_.size(); ++i) {
    GRAPHTREE_RETURN_IF_ERROR(CheckOne(foreign_[i], absl::StrCat("foreign tensor ", i)));
  }
  return absl::OkStatus();
}

void World::Fork(Launcher& on, const Tensor& out, const Tensor& a, const Tensor& b) {
  on.Reads(a);
  on.Reads(b);
  on.Writes(out);
  const std::vector<Argument> arguments = {
      Argument::Out(out.raw_bytes()), Argument::In(a.raw_bytes()), Argument::In(b.raw_bytes()),
      Argument::Value(program_.elements)};
  on.Fail(on.stream().Record(*forked_));
  on.Fail(fork_->Wait(*forked_));
  on.Fail(fork_->Launch(AddKernel(), ShapeFor(program_.elements), arguments));
  on.Fail(fork_->Record(*joined_));
  on.Fail(on.stream().Wait(*joined_));
}

Values World::BodyOf(const FunctionSpec& spec, Launcher& on, Values& inputs) {
  Values registers;
  for (Value& input : inputs) registers.push_back(std::move(input));
  auto tensor = [&](int r) { return Tensor::From(registers[r]); };
  const LaunchShape shape = ShapeFor(program_.elements);
  uint32_t key = 0;
  for (const Value& value : registers) key += value.is_integer() ? value.integer() : 0;
  for (const OpSpec& op : spec.ops) {
    if (op.kind == OpSpecKind::kDrop) {
      registers[op.a] = Value();
      continue;
    }
    if (op.kind == OpSpecKind::kIncrement) {
      on.Launch(IncrementKernel(), shape,
                {InOut(tensor(op.a)), Val(op.immediate), Val(program_.elements)});
      continue;
    }
    Tensor out = on.Empty(DType::kI32, {program_.elements});
    if (!on.ok()) return {};
    if (op.kind == OpSpecKind::kAdd) {
      on.Launch(AddKernel(), shape,
                {Out(out), In(tensor(op.a)), In(tensor(op.b)), Val(program_.elements)});
    } else if (op.kind == OpSpecKind::kFork) {
      Fork(on, out, tensor(op.a), tensor(op.b));
    } else {
      const uint32_t seed = op.immediate + key;
      on.Launch(FillPatternKernel(), shape, {Out(out), Val(seed), Val(program_.elements)});
    }
    registers.push_back(out);
  }
  Values outputs;
  for (int r : spec.outputs) outputs.push_back(r == kNoRegister ? Value() : registers[r]);
  return outputs;
}

std::vector<Seen> World::ModelOf(const FunctionSpec& spec, const std::vector<Seen>& arguments) {
  std::vector<std::shared_ptr<Cell>> registers;
  uint32_t key = 0;
  for (const Seen& argument : arguments) {
    registers.push_back(argument.cell);
    key += argument.handle.is_integer() ? argument.handle.integer() : 0;
  }
  for (const OpSpec& op : spec.ops) {
    if (op.kind == OpSpecKind::kDrop) continue;
    if (op.kind == OpSpecKind::kIncrement) {
      for (uint32_t& word : *registers[op.a]) word += op.immediate;
      continue;
    }
    auto out = std::make_shared<Cell>(program_.elements);
    for (uint32_t e = 0; e < program_.elements; ++e) {
      (*out)[e] = op.kind == OpSpecKind::kFill ? PatternWord(op.immediate + key, e)
                                               : (*registers[op.a])[e] + (*registers[op.b])[e];
    }
    registers.push_back(std::move(out));
  }
  std::vector<Seen> outputs;
  for (int r : spec.outputs) {
    outputs.push_back({Value(), r == kNoRegister ? nullptr : registers[r]});
  }
  return outputs;
}

}  // namespace graphtree::simulation
