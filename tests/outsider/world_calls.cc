// One call: what it is given, how it may end, and what must be true then.
#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphs/tree_stats.h"
#include "tests/outsider/world.h"

namespace graphtree::outsider {
namespace {

bool HasUnjoined(const std::vector<Statement>& body) {
  return std::any_of(body.begin(), body.end(), [](const Statement& line) {
    return line.what == Do::kUnjoined || HasUnjoined(line.part);
  });
}

// Memory that the body knows without being given it.
bool HasClosure(const std::vector<Statement>& body) {
  return std::any_of(body.begin(), body.end(), [](const Statement& line) {
    return line.what == Do::kClosure || HasClosure(line.part);
  });
}

bool SharesItsMemory(const std::vector<Handle>& inputs, size_t input) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (i == input || !inputs[i].is_tensor()) continue;
    if (inputs[i].bytes == inputs[input].bytes) return true;
  }
  return false;
}

}  // namespace

void World::TakeMemory(const BytesPtr& bytes, Address base, uint64_t offset, const Layout* layout,
                       Call* call) {
  call->inputs.push_back(Tensor::Foreign(base + offset, layout));
  call->models.push_back(Handle::Tensor(bytes, offset, layout));
}

// Moved out of the shelf, or copied. What is stale is passed only where the program insists.
void World::TakeFromShelf(const InputPlan& plan, Call* call) {
  const int place = (plan.n[0] < 0 ? -plan.n[0] : plan.n[0]) % kShelf;
  Held& held = shelf_[place];
  bool fits = held.model.is_tensor() && (plan.n[2] != 0 || !IsStale(held));
  // While its own tree's pool is parked it is no other tree's to use.
  if (fits && held.model.bytes->pool != call->tree) fits = IsThere(*held.model.bytes);
  if (fits && held.model.bytes->gone) fits = false;
  if (!fits) {
    const Place at = PlaceIn(plan.n[0], 64 * plan.n[0], LayoutOf(plan.n[0]));
    return TakeMemory(mirror_.buffers[at.buffer], rig_.bases[at.buffer], at.offset, at.layout,
                      call);
  }
  call->models.push_back(held.model);
  if (plan.n[1] != 0) {
    call->inputs.push_back(held.value);
    return;
  }
  call->inputs.push_back(std::move(held.value));
  held = Held();
  call->places.back() = place;
}

void World::TakeInput(const InputPlan& plan, Call* call) {
  const auto& n = plan.n;
  ++verdict_.coverage.froms[static_cast<size_t>(plan.from)];
  call->places.push_back(-1);
  switch (plan.from) {
    case From::kShelf: return TakeFromShelf(plan, call);
    case From::kBuffer: {
      const Place at = PlaceIn(n[0], n[1], LayoutOf(n[2]));
      return TakeMemory(mirror_.buffers[at.buffer], rig_.bases[at.buffer], at.offset, at.layout,
                        call);
    }
    case From::kBlock: {
      const int block = (n[0] & 255) % kBlocks;
      const Layout* layout = LayoutOf(n[2]);
      const bool there = blocks_[block] != 0 && (!parked_[0] || call->tree == 0);
      if (!there || layout->extent_bytes() > block_bytes_[block]->data.size()) {
        return TakeMemory(mirror_.buffers[0], rig_.bases[0], 0, LayoutOf(0), call);
      }
      const uint64_t room = block_bytes_[block]->data.size() - layout->extent_bytes() + 1;
      return TakeMemory(block_bytes_[block], blocks_[block], static_cast<uint64_t>(n[1]) % room,
                        layout, call);
    }
    case From::kInteger:
      call->inputs.push_back(Value::Integer(n[0]));
      call->models.push_back(Handle::Integer(n[0]));
      return;
    case From::kOpaque:
    case From::kVersioned: {
      const int object = (n[0] & 255) % kObjects;
      Handle model;
      model.kind = Handle::Kind::kOpaque;
      const uint64_t version = object + versions_;
      model.integer =
          plan.from == From::kVersioned ? static_cast<int64_t>(version) : kNoInteger;
      call->models.push_back(model);
      call->inputs.push_back(plan.from == From::kVersioned
                                 ? Value::Opaque(rig_.objects[object], version)
                                 : Value::Opaque(rig_.objects[object]));
      return;
    }
    case From::kNothing:
    case From::kConsumed:
      call->inputs.push_back(plan.from == From::kNothing ? Value() : Value::Consumed());
      call->models.emplace_back();
      return;
  }
}

// Runs the model, and says how the call may end.
void World::Foresee(Call* call) {
  const FunctionPlan& plan = program_.functions[call->function];
  Expected& expected = call->expected;
  for (size_t i = 0; i < call->inputs.size(); ++i) {
    if (call->inputs[i].is_consumed()) expected = {true, false, "an input was consumed"};
    if (IsStale({call->inputs[i], call->models[i]})) expected = {true, false, "an input is stale"};
  }
  mirror_.journal.Begin(++mirror_.call);
  call->generators = mirror_.generators;
  if (expected.must_fail) return;
  ModelMachine machine(program_, mirror_, call->tree);
  call->after = call->models;
  mirror_.senseless = false;
  call->outputs = machine.RunFunction(plan, call->after);
  call->stored = machine.stored();
  call->senseless = mirror_.senseless;
  if (machine.failed()) expected = {true, false, "the body fails"};
  if (!expected.must_fail) ForeseeOptions(call);
}

void World::ForeseeOptions(Call* call) {
  const FunctionPlan& plan = program_.functions[call->function];
  Expected& expected = call->expected;
  const auto may = [&](const char* why) { expected = {false, true, why}; };
  if (parked_[0] || parked_[1]) may("a pool is parked");
  if (tiny_[call->tree]) may("the pool is small");
  if (program_[Option::kStrict] != 0 && call->tree == 0) may("strict");
  const size_t aligned = static_cast<size_t>(plan[Trait::kAlignedInput]);
  if (plan[Trait::kAlignment] != 0 && aligned < call->inputs.size() &&
      call->models[aligned].is_tensor()) {
    const bool misaligned = call->inputs[aligned].word() % plan[Trait::kAlignment] != 0;
    const bool shares = SharesItsMemory(call->models, aligned);
    // Inputs that share bytes with the misaligned one are copied together with it.
    for (const Handle& input : call->models) {
      const bool is_copied = input.is_tensor() && input.bytes == call->models[aligned].bytes;
      if (misaligned && shares && is_copied && mirror_.journal.HasWritten(input)) may("misaligned");
    }
    if (misaligned && mirror_.journal.HasWritten(call->models[aligned])) {
      if (shares) may("misaligned");
      // Its copy cannot see what the body writes to its bytes elsewhere: no program of sense.
      call->senseless |=
          (plan[Trait::kWritable] >> aligned & 1) == 0 || HasClosure(plan.body);
    }
    // A write that is declared counts as one, also if the body makes none.
    const bool is_declared = (plan[Trait::kMutated] >> aligned & 1) != 0;
    if (misaligned && is_declared && (shares || HasClosure(plan.body))) may("misaligned");
  }
  for (size_t i = 0; i < call->outputs.size(); ++i) {
    if ((plan[Trait::kKept] >> i & 1) == 0 || !call->outputs[i].is_tensor()) continue;
    if (program_[Option::kKeptBytes] != 0) may("the budget of kept bytes");
    const Bytes& bytes = *call->outputs[i].bytes;
    if (bytes.tree >= 0 && bytes.born_in != mirror_.call) may("a kept output of an earlier one");
  }
}

void World::RunCall(const Action& action) {
  if (program_.functions.empty()) return;
  Call call;
  call.function = (action.n[0] < 0 ? -action.n[0] : action.n[0]) %
                  static_cast<int>(program_.functions.size());
  const FunctionPlan& plan = program_.functions[call.function];
  call.tree = plan[Trait::kTree];
  for (int i = 0; i < plan[Trait::kInputs]; ++i) {
    TakeInput(static_cast<size_t>(i) < action.inputs.size() ? action.inputs[i] : InputPlan(),
              &call);
  }
  Foresee(&call);
  if (call.senseless) {
    mirror_.generators = call.generators;
    mirror_.journal.RollBack();
    return PutBack(&call, true);
  }
  Stream& stream = StreamOf(action.n[1]);
  OrderBehindLast(stream, call.tree);
  const uint64_t faults = fired();
  rig_.stashed_now = {};
  const TreeStats before = rig_.trees[call.tree]->stats();
  Values outputs;
  // Work that is not joined is ordered after nothing.
  if (HasUnjoined(plan.body)) SyncAll().IgnoreError();
  const absl::Status status = rig_.trees[call.tree]->Run(
      rig_.functions[call.function], absl::MakeSpan(call.inputs), stream, &outputs);
  ++verdict_.coverage.calls;
  const bool fault = fired() != faults || !rig_.device->plan().lost().ok();
  if (!rig_.device->wrapped().health().ok()) {
    return Wrong("the device is lost: " + rig_.device->wrapped().health().ToString());
  }
  if (fault) had_fault_ = true;
  if (!rig_.wrong.empty()) return Wrong(rig_.wrong);
  if (!status.ok()) return Failed(&call, status, fault);
  if (call.expected.must_fail) return Wrong("a call is OK though " + call.expected.why);
  // What an eager run made lasts; so may what a warm-up made for which a small pool had no room.
  const TreeStats after = rig_.trees[call.tree]->stats();
  call.lasting = after.eager != before.eager;
  call.fault = fault;
  call.unsure = fault || (tiny_[call.tree] && !call.lasting && after.replays == before.replays &&
                          after.recordings == before.recordings);
  Succeeded(&call, std::move(outputs), action.n[2]);
}

void World::CheckOutput(const Value& value, const Handle& model, size_t index) {
  const std::string name = absl::StrCat("output ", index);
  switch (model.kind) {
    case Handle::Kind::kNone:
      if (!value.is_none()) Wrong(name + " should be nothing");
      return;
    case Handle::Kind::kInteger:
      if (!value.is_integer() || value.integer() != model.integer) Wrong(name + ": wrong integer");
      return;
    case Handle::Kind::kOpaque:
      if (!value.is_opaque()) Wrong(name + " should be opaque");
      return;
    case Handle::Kind::kTensor: break;
  }
  if (!value.is_tensor()) return Wrong(name + " should be a tensor");
  if (value.layout() != model.layout) return Wrong(name + " has another layout");
  // What shares bytes shares them in every run.
  Bytes& bytes = *model.bytes;
  const Address base = value.word() - model.at;
  if (bytes.base == 0) bytes.base = base;
  if (bytes.base != base && !bytes.mixed && model.extent() > 0) {
    Wrong(absl::StrCat(name, " does not lie where it shares bytes: off by ",
                       static_cast<int64_t>(base - bytes.base)));
  }
}

// A tensor that a tree made is taken; everything else stays the caller's.
void World::CheckTaken(const Call& call) {
  const FunctionPlan& plan = program_.functions[call.function];
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const Handle& model = call.models[i];
    const Value& value = call.inputs[i];
    const bool is_static = (plan[Trait::kStatics] >> i & 1) != 0;
    const bool is_trees = model.is_tensor() && model.bytes->tree >= 0;
    if (is_trees && !is_static && !value.is_consumed()) {
      Wrong(absl::StrCat("input ", i, " was not consumed"));
    }
    if ((!is_trees || is_static) && value.is_consumed()) {
      Wrong(absl::StrCat("input ", i, " was consumed, though it is the caller's"));
    }
  }
}

void World::Succeeded(Call* call, Values outputs, int to) {
  const FunctionPlan& plan = program_.functions[call->function];
  if (outputs.size() != call->outputs.size()) {
    return Wrong(absl::StrCat(outputs.size(), " outputs and not ", call->outputs.size()));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!call->outputs[i].is_tensor()) continue;
    Bytes& bytes = *call->outputs[i].bytes;
    const bool kept = (plan[Trait::kKept] >> i & 1) != 0;
    for (size_t j = 0; j < outputs.size(); ++j) {
      const bool other = (plan[Trait::kKept] >> j & 1) != 0;
      if (call->outputs[j].bytes.get() == &bytes && kept != other) bytes.mixed = true;
    }
    if (bytes.born_in != mirror_.call) continue;
    bytes.kept = kept || bytes.kept || call->lasting;
    bytes.mixed = bytes.mixed || call->unsure;
  }
  for (size_t i = 0; i < outputs.size(); ++i) CheckOutput(outputs[i], call->outputs[i], i);
  CheckTaken(*call);
  PutBack(call, false);
  for (const auto& [place, handle] : call->stored) {
    if (!rig_.stashed_now[place]) continue;
    mirror_.stash[place] = handle;
    // A recording puts a kept output elsewhere: what was stored of it does not share its bytes.
    // Nor does what was stored by a run that a fault has undone.
    if (handle.bytes->kept || call->fault) rig_.stash[place] = Value();
    if (call->lasting) handle.bytes->kept = true;
    if (call->unsure) handle.bytes->mixed = true;
  }
  for (size_t i = 0; i < outputs.size() && i < 3; ++i) {
    ShelfAt(to + static_cast<int>(i)) = {std::move(outputs[i]), call->outputs[i]};
  }
}

// Handles that were moved into the call and came back.
void World::PutBack(Call* call, bool may_be_gone) {
  for (size_t i = 0; i < call->inputs.size(); ++i) {
    if (call->places[i] < 0) continue;
    Value& value = call->inputs[i];
    if (value.is_tensor()) {
      shelf_[call->places[i]] = {std::move(value), call->models[i]};
    } else if (may_be_gone) {
      Wrong(absl::StrCat("a call that failed took input ", i));
    }
  }
}

// An error loses nothing: handles are back, and only what the body may have written has changed.
void World::Failed(Call* call, const absl::Status& status, bool fault) {
  const Expected& expected = call->expected;
  if (expected.must_fail) {
    ++verdict_.coverage.wrong_calls;
  } else {
    ++verdict_.coverage.failed_calls;
  }
  // Where two faults came together a tree may be lost, and says so from then on.
  const bool tree_is_lost =
      fired() >= 2 && absl::StrContains(status.message(), "the tree is lost since");
  if (!expected.must_fail && !expected.may_fail && !fault && !tree_is_lost) {
    return Wrong("a call fails: " + status.ToString());
  }
  // As foreign_memory.h says: the address that foreign code has is nobody's then.
  if (absl::StrContains(status.message(), "cannot be taken again")) ForgetLasting(call->tree);
  // A device that is lost is good for closing only.
  if (!rig_.device->plan().lost().ok()) return PutBack(call, false);
  if (absl::Status sync = SyncAll(); !sync.ok()) return Wrong("syncing: " + sync.ToString());
  for (size_t i = 0; i < rig_.stashed_now.size(); ++i) {
    if (rig_.stashed_now[i]) rig_.stash[i] = Value();
  }
  mirror_.generators = call->generators;
  bool drops = false;
  for (size_t i = 0; i < call->after.size(); ++i) {
    drops = drops || (call->models[i].is_tensor() && !call->after[i].is_tensor());
  }
  // Checked mode may lose what died inside a recording that it could not wait for.
  const bool checks = program_[Option::kCheck] != 0 ||
                      program_.functions[call->function][Trait::kChecked] != 0;
  PutBack(call, !drops && !(fault && checks));
  LearnWritten();
  for (int i = 0; i < kGenerators; ++i) {
    if (rig_.generators[i]->offset() == mirror_.generators[i].offset) continue;
    if (!fault) Wrong("a call that failed took random numbers");
    mirror_.generators[i].offset = rig_.generators[i]->offset();
  }
  Check();
}

bool World::IsHeld(const BytesPtr& bytes) const {
  for (const Held& held : shelf_) {
    if (held.model.bytes == bytes) return true;
  }
  return false;
}

// Foreign code lets go of its blocks, lost ones too.
void World::ForgetLasting(int tree) {
  for (Address& held : rig_.held[tree]) {
    (void)rig_.trees[tree]->foreign_allocator().Free(std::exchange(held, 0), *rig_.streams[0]);
  }
}

// What a failed body may have written is whatever it is now; everything else is as it was.
void World::LearnWritten() {
  mirror_.journal.RollBack();
  for (const Journal::Write& write : mirror_.journal.writes()) {
    Bytes& bytes = *write.bytes;
    if (bytes.base == 0) continue;
    if (!IsThere(bytes) || (bytes.tree >= 0 && !IsHeld(write.bytes))) continue;
    for (const auto& [begin, end] : write.ranges) {
      if (begin == end) continue;
      std::memcpy(bytes.data.data() + begin, PointerTo<uint8_t>(bytes.base + begin), end - begin);
    }
  }
}

}  // namespace graphtree::outsider
