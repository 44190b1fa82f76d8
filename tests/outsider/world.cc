// Setting a world up, going through its actions, and closing it.
#include "tests/outsider/world.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "device/host/host_device.h"

namespace graphtree::outsider {

Verdict RunProgram(const Program& program) {
  World world(program);
  return world.Run();
}

void World::Wrong(std::string what) {
  if (!verdict_.wrong.empty()) return;
  verdict_.wrong = std::move(what);
  verdict_.action = at_;
}

TreeOptions World::OptionsOf(int tree) const {
  TreeOptions options;
  const auto set = [&](Option option, uint64_t* value) {
    if (program_[option] > 0) *value = static_cast<uint64_t>(program_[option]);
  };
  const auto set_kib = [&](Option option, uint64_t* value) {
    if (program_[option] > 0) *value = static_cast<uint64_t>(program_[option]) << 10;
  };
  options.check = program_[Option::kCheck] != 0;
  set(Option::kRerecordLimit, &options.rerecord_limit);
  set(Option::kPatchBytes, &options.patch_bytes);
  set(Option::kNodes, &options.budget.nodes);
  set(Option::kExecutables, &options.budget.executables);
  set_kib(Option::kExecutableKib, &options.budget.executable_bytes);
  set(Option::kSiblings, &options.budget.siblings);
  set(Option::kShapesOfFunction, &options.budget.shapes_of_function);
  set(Option::kShapes, &options.budget.shapes);
  set(Option::kRetryAfter, &options.budget.retry_after);
  set(Option::kWarmUpLimit, &options.warm_up_limit);
  if (program_[Option::kNoSpare] != 0) options.spare_after = 0;
  if (tree == 1) return options;
  options.strict = program_[Option::kStrict] != 0;
  options.enabled = program_[Option::kDisabled] == 0;
  set_kib(Option::kPoolKib, &options.pool_bytes);
  set_kib(Option::kInitialKib, &options.initial_bytes);
  set(Option::kKeptBytes, &options.kept_bytes);
  return options;
}

void World::SetUp() {
  HostOptions host;
  host.seed = static_cast<uint64_t>(program_[Option::kDeviceSeed]) + 1;
  host.memory_bytes = uint64_t{256} << 20;
  if (program_[Option::kImmediate] != 0) host.scheduler = HostScheduler::kImmediate;
  rig_.device = std::make_unique<FaultDevice>(OpenHostDevice(host).value());
  Device& device = *rig_.device;
  for (auto& stream : rig_.streams) stream = device.NewStream().value();
  rig_.side = device.NewStream().value();
  rig_.forked = device.NewEvent({}).value();
  rig_.joined = device.NewEvent({}).value();
  rig_.ordered = device.NewEvent({}).value();
  rig_.junk = device.memory().AllocateHost(64).value();
  for (int i = 0; i < kBuffers; ++i) {
    rig_.buffers[i] = device.memory().AllocateHost(kBufferBytes[i] + kBufferAlignment).value();
    rig_.bases[i] = (rig_.buffers[i]->range().base + kBufferAlignment) & ~(kBufferAlignment - 1);
    auto* data = PointerTo<uint8_t>(rig_.bases[i]);
    for (uint64_t b = 0; b < kBufferBytes[i]; ++b) data[b] = static_cast<uint8_t>(b * 11 + i);
    mirror_.buffers[i] = std::make_shared<Bytes>();
    mirror_.buffers[i]->data.assign(data, data + kBufferBytes[i]);
    mirror_.buffers[i]->base = rig_.bases[i];
  }
  for (int i = 0; i < kGenerators; ++i) {
    rig_.generators[i] = std::make_shared<Generator>(i + 1);
    mirror_.generators[i] = {static_cast<uint64_t>(i) + 1, 0};
  }
  for (int i = 0; i < kObjects; ++i) rig_.objects[i] = std::make_shared<int>(i);
  for (auto& memory : workspace_memory_) memory = device.memory().AllocateHost(4096).value();
  for (int tree = 0; tree < kTrees; ++tree) {
    const TreeOptions options = OptionsOf(tree);
    tiny_[tree] = options.pool_bytes != 0;
    rig_.trees[tree] = Tree::Create(device, options).value();
    if (program_[Option::kObserved] != 0) {
      rig_.trees[tree]->observers().Join(&rig_.counters[tree]);
    }
  }
  RegisterAll();
}

void World::RegisterAll() {
  for (int tree = 0; tree < kTrees; ++tree) {
    for (int i = 0; i < kLasting; ++i) {
      rig_.workspaces[tree][i] = rig_.trees[tree]->RegisterWorkspace(
          absl::StrCat("workspace ", i), workspace_memory_[i + 3 * tree]->range());
    }
  }
  for (size_t i = 0; i < program_.functions.size(); ++i) rig_.functions.push_back(RegisterOne(i));
}

FunctionId World::RegisterOne(size_t function) {
  const auto list = [](int mask, std::vector<uint32_t>* inputs) {
    for (uint32_t i = 0; i < 8; ++i) {
      if ((mask >> i & 1) != 0) inputs->push_back(i);
    }
  };
  const FunctionPlan& plan = program_.functions[function];
  FunctionOptions options;
  list(plan[Trait::kStatics], &options.static_inputs);
  list(plan[Trait::kMutated], &options.mutated_inputs);
  list(plan[Trait::kKept], &options.kept_outputs);
  if (plan[Trait::kAlignment] != 0) {
    options.alignments = {{static_cast<uint32_t>(plan[Trait::kAlignedInput]),
                           static_cast<uint64_t>(plan[Trait::kAlignment])}};
  }
  if (plan[Trait::kMostOutputs] != 0) options.most_outputs = plan[Trait::kMostOutputs];
  options.exclude = plan[Trait::kExclude] != 0;
  options.moving = static_cast<Moving>(plan[Trait::kMoving] % 3);
  options.check = plan[Trait::kChecked] != 0;
  if (plan[Trait::kRecordedSize] != 0) options.recorded_sizes = {{plan[Trait::kRecordedSize]}};
  options.skip_varying_sizes = plan[Trait::kSkipVarying] != 0;
  if (function % 2 == 1) options.input_names = {"first", "second"};
  return rig_.trees[plan[Trait::kTree]]->Register(
      absl::StrCat("f", function), options, [this, function](Launcher& on, Values& inputs) {
        return rig_.RunBody(static_cast<int>(function), on, inputs);
      });
}

absl::Status World::SyncAll() {
  for (auto& stream : rig_.streams) {
    if (absl::Status status = Bare(*stream).Synchronize(); !status.ok()) return status;
  }
  rig_.young.clear();
  return Bare(*rig_.side).Synchronize();
}

void World::OrderBehindLast(Stream& stream, int user) {
  const bool own = last_user_ == user && user >= 0;
  if (last_stream_ != nullptr && last_stream_ != &stream && !own) {
    const absl::Status recorded = last_stream_->Record(*rig_.ordered);
    const absl::Status waited = recorded.ok() ? stream.Wait(*rig_.ordered) : recorded;
    // A fault that hits the caller's own call leaves it to wait.
    if (!waited.ok()) {
      if (absl::Status status = SyncAll(); !status.ok()) Wrong(status.ToString());
    }
  }
  last_stream_ = &stream;
  last_user_ = user;
}

Verdict World::Run() {
  SetUp();
  for (int round = 0; round <= program_[Option::kRoundTrips] && !is_over(); ++round) {
    for (at_ = 0; at_ < program_.actions.size() && !is_over(); ++at_) {
      ++verdict_.coverage.acts[static_cast<size_t>(program_.actions[at_].what)];
      Act(program_.actions[at_]);
      if (!rig_.device->plan().lost().ok()) lost_ = true;
    }
  }
  Close();
  return std::move(verdict_);
}

void World::Act(const Action& action) {
  const auto& n = action.n;
  switch (action.what) {
    case Act::kRun: return RunCall(action);
    case Act::kStep:
      rig_.trees[TreeOf(n[0])]->BeginStep();
      ++mirror_.steps[TreeOf(n[0])];
      return;
    case Act::kDrop: ShelfAt(n[0]) = Held(); return;
    case Act::kDropOnThread: return DropOnThread(action);
    case Act::kHold: {
      const Held copy = ShelfAt(n[0]);
      ShelfAt(n[1]) = copy;
      return;
    }
    case Act::kLook: return Look(action);
    case Act::kWrite: return Write(action, true);
    case Act::kFill: return Write(action, false);
    case Act::kReadBack: return ReadBackOne(action);
    case Act::kCheck: return Check();
    case Act::kPark:
    case Act::kWake: return ParkOrWake(action);
    case Act::kTrim: return Trim(action);
    case Act::kStats: return CheckFigures(TreeOf(n[0]));
    case Act::kSnapshot: return LookAround(TreeOf(n[0]));
    case Act::kMoveWorkspace: return MoveWorkspace(action);
    case Act::kAllocateBlock:
    case Act::kFreeBlock: return Block(action);
    case Act::kSeed: {
      const int which = (n[0] < 0 ? -n[0] : n[0]) % kGenerators;
      rig_.generators[which]->Seed(static_cast<uint64_t>(n[1]), static_cast<uint64_t>(n[2]));
      mirror_.generators[which] = {static_cast<uint64_t>(n[1]), static_cast<uint64_t>(n[2])};
      return;
    }
    case Act::kFault:
    case Act::kFaultAt: return Fault(action);
    case Act::kForget: rig_.stash[(n[0] & 255) % kStashes] = Value(); return;
    case Act::kUnregister: return Unregister(action);
    case Act::kPrune:
      versions_ += kObjects;
      for (int i = 0; i < kObjects; ++i) rig_.objects[i] = std::make_shared<int>(i);
      return;
  }
}

void World::CloseTree(int tree) {
  // Foreign code may hold its blocks beyond the tree; here it gives them back in both orders.
  ForeignAllocator& foreign = rig_.trees[tree]->foreign_allocator();
  const auto free_all = [&] {
    for (Address& held : rig_.held[tree]) {
      if (held != 0) (void)foreign.Free(std::exchange(held, 0), *rig_.streams[0]);
    }
    for (Address& block : blocks_) {
      if (tree == 0 && block != 0) (void)foreign.Free(std::exchange(block, 0), *rig_.streams[0]);
    }
  };
  const bool late = (program_[Option::kCloseOrder] & 4) != 0 && (rig_.held[tree][0] != 0 ||
                    rig_.held[tree][1] != 0 || rig_.held[tree][2] != 0);
  if (!late) free_all();
  const bool leave = (program_[Option::kCloseOrder] & 8) != 0;
  if (leave) rig_.trees[tree]->observers().Leave(&rig_.counters[tree]);
  rig_.trees[tree].reset();
  if (late) free_all();
  const GraphCounter& counter = rig_.counters[tree];
  if (!leave && !had_fault_ && counter.made != counter.destroyed) {
    Wrong(absl::StrCat("observers saw ", counter.made, " executables made and ",
                       counter.destroyed, " destroyed"));
  }
  if (!leave && counter.begun != counter.ended) Wrong("a replay that began did not end");
}

void World::Close() {
  rig_.device->plan().Clear();
  at_ = program_.actions.size();
  if (!is_over()) {
    for (int tree = 0; tree < kTrees; ++tree) {
      if (!std::exchange(parked_[tree], false)) continue;
      if (absl::Status s = rig_.trees[tree]->pool().parking().Wake(); !s.ok()) Wrong(s.ToString());
    }
    Check();
  }
  for (int tree = 0; tree < kTrees; ++tree) CountCoverage(tree);
  const int order = program_[Option::kCloseOrder];
  const auto drop_all = [&] {
    for (Held& held : shelf_) held = Held();
    for (Value& value : rig_.stash) value = Value();
  };
  if ((order & 1) != 0) drop_all();
  CloseTree(order & 2 ? 1 : 0);
  CloseTree(order & 2 ? 0 : 1);
  // What is held outlives its tree, with its bytes.
  for (const Held& held : shelf_) {
    if (is_over() || !held.model.is_tensor() || IsStale(held)) continue;
    if (held.model.bytes->tree < 0) continue;
    ++verdict_.coverage.outlived;
    CheckHeld(held, "held beyond its tree");
  }
  read_backs_.clear();
  rig_.young.clear();
  if ((order & 16) == 0) drop_all();
  for (auto& stream : rig_.streams) stream.reset();
  rig_.side.reset();
  drop_all();
  for (const uint8_t cell : rig_.cells) {
    if (cell != 0) Wrong("an object that a body had kept alive outlives its tree");
  }
  for (int i = 0; i < kObjects && verdict_.wrong.empty(); ++i) {
    if (rig_.objects[i].use_count() != 1) Wrong("an object is kept alive by a tree that is closed");
  }
  rig_.forked.reset();
  rig_.joined.reset();
  rig_.ordered.reset();
  rig_.junk.reset();
  for (auto& buffer : rig_.buffers) buffer.reset();
  for (auto& memory : workspace_memory_) memory.reset();
  absl::Status s = rig_.device->GiveBackLeftovers();
  if (!s.ok()) Wrong("releasing: " + s.ToString());
  s = rig_.device->Close();
  // What a call had mapped for itself when the device was lost could not be unmapped.
  if (!s.ok() && !lost_) Wrong("closing: " + s.ToString());
}

}  // namespace graphtree::outsider
