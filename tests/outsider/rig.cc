// What each line of a body does through a Launcher.
#include "tests/outsider/rig.h"

#include <thread>
#include <utility>

#include "absl/status/statusor.h"
#include "graphs/random/random_state.h"
#include "tests/outsider/kernels.h"
#include "tests/outsider/throws.h"

namespace graphtree::outsider {
namespace {

uint32_t Extent(const Value& value) {
  return static_cast<uint32_t>(value.layout()->extent_bytes());
}

MixParams ParamsOf(const Value& target, const Value& source, int by) {
  return {Extent(target), Extent(source), 0, static_cast<uint32_t>(by)};
}

// As Launcher::Break takes its tensors as a braced list, there is one call for each length.
void BreakOn(Launcher& on, const std::vector<std::pair<Tensor, Access>>& given, EagerPart part) {
  std::vector<Arg> args;
  for (const auto& [tensor, access] : given) args.emplace_back(access, tensor);
  switch (args.size()) {
    case 0: return on.Break("a part", {}, std::move(part));
    case 1: return on.Break("a part", {args[0]}, std::move(part));
    case 2: return on.Break("a part", {args[0], args[1]}, std::move(part));
    default: return on.Break("a part", {args[0], args[1], args[2]}, std::move(part));
  }
}

}  // namespace

Values Rig::RunBody(int function, Launcher& on, Values& inputs) {
  ++bodies;
  std::vector<int64_t> integers;
  for (const Value& input : inputs) {
    integers.push_back(input.is_integer() || input.has_version()
                           ? static_cast<int64_t>(input.word())
                           : kNoInteger);
  }
  const FunctionPlan& plan = program.functions[function];
  RealMachine machine(*this, on, plan[Trait::kTree]);
  BodyRun<RealMachine> run(machine, plan, std::move(integers));
  run.AddInputs(inputs);
  run.Run(plan.body);
  return run.Returned();
}

Value RealMachine::Closure(int buffer, int offset, const Layout* layout) {
  const Place place = PlaceIn(buffer, offset, layout);
  return Tensor::Foreign(rig_.bases[place.buffer] + place.offset, place.layout);
}

void RealMachine::Mix(const V& target, const V& source, int by) {
  const Tensor to = Tensor::From(target), from = Tensor::From(source);
  on_.Launch(MixKernel(), {}, {Out(to), In(from), Val(ParamsOf(target, source, by))});
}

void RealMachine::Bump(const V& target, int by) {
  const MixParams params = {Extent(target), 0, 0, static_cast<uint32_t>(by)};
  on_.Launch(BumpKernel(), {}, {InOut(Tensor::From(target)), Val(params)});
}

void RealMachine::Join(const V& target, const V& source, const V& more, int by) {
  MixParams params = ParamsOf(target, source, by);
  params.more_bytes = Extent(more);
  on_.Launch(JoinKernel(), {},
             {Out(Tensor::From(target)), In(Tensor::From(source)), In(Tensor::From(more)),
              Val(params)});
}

// Not all of the target is written, so that what was there matters.
void RealMachine::Elements(const V& target, const V& source, int by) {
  const ElementParams params =
      ElementsOf(*target.layout(), *source.layout(), static_cast<uint32_t>(by));
  on_.Launch(ElementsKernel(), {},
             {InOut(Tensor::From(target)), In(Tensor::From(source)), Val(params)});
}

// All bytes, also those between the elements.
void RealMachine::Fill(const V& target, int byte) {
  const Tensor tensor = Tensor::From(target);
  const Layout* bytes = Layout::Of(DType::kU8, {static_cast<int64_t>(Extent(target))});
  on_.Fill(tensor.View(bytes, 0), static_cast<uint8_t>(byte));
}

void RealMachine::Copy(const V& target, const V& source) {
  on_.Copy(Tensor::From(target), Tensor::From(source));
}

void RealMachine::RawFill(const V& target, int byte) {
  on_.Writes(Tensor::From(target));
  if (!on_.ok() || Extent(target) == 0) return;
  Raw(on_.stream().Fill(target.word(), static_cast<uint32_t>(byte & 255), 1, Extent(target)));
}

void RealMachine::LaunchOn(Stream& stream, const Tensor& target, const Tensor& source, int by) {
  const MixParams params = ParamsOf(target, source, by);
  const Argument arguments[] = {Argument::Out(target.raw_bytes()),
                                Argument::In(source.raw_bytes()),
                                Argument::Bytes(&params, sizeof(params))};
  Raw(stream.Launch(MixKernel(), {}, arguments));
}

void RealMachine::RawMix(const V& target, const V& source, int by) {
  const Tensor to = Tensor::From(target), from = Tensor::From(source);
  on_.Reads(from);
  on_.Writes(to);
  if (on_.ok()) LaunchOn(on_.stream(), to, from, by);
}

void RealMachine::RawCopy(const V& target, const V& source) {
  on_.Reads(Tensor::From(source));
  on_.Writes(Tensor::From(target));
  if (!on_.ok() || Extent(target) == 0) return;
  Raw(on_.stream().Copy(target.word(), source.word(), Extent(target)));
}

// 0: the target is written on the side; 1: something is that goes before the join; 2: something
// that the target is then made from.
void RealMachine::Fork(const V& target, const V& source, int by, int style) {
  Stream& side = *rig_.side;
  const Tensor to = Tensor::From(target), from = Tensor::From(source);
  Tensor apart = style == 0 ? to : on_.Empty(to.layout());
  on_.Reads(from);
  on_.Writes(apart);
  if (!on_.ok()) return;
  Raw(on_.stream().Record(*rig_.forked));
  if (on_.ok()) Raw(side.Wait(*rig_.forked));
  if (!on_.ok()) return;
  LaunchOn(side, apart, from, by);
  if (style != 0) on_.UsedOn(apart, side);
  if (style == 1) {
    apart = Tensor();
    const Tensor other = on_.Empty(to.layout());
    on_.Fill(other, 0x77);
  }
  const absl::Status recorded = side.Record(*rig_.joined);
  Raw(recorded);
  if (recorded.ok()) Raw(on_.stream().Wait(*rig_.joined));
  // What cannot be joined is waited for, where nothing is captured.
  if (!on_.ok()) (void)FaultStream::Unwrap(side).Synchronize();
  if (style == 2 && on_.ok()) Mix(to, apart, by + 1);
}

void RealMachine::Unjoined(int by) {
  if (!on_.ok()) return;
  Raw(on_.stream().Record(*rig_.forked));
  if (on_.ok()) Raw(rig_.side->Wait(*rig_.forked));
  if (on_.ok()) {
    Raw(rig_.side->Fill(rig_.junk->range().base, static_cast<uint32_t>(by & 255), 1, 64));
  }
}

void RealMachine::Random(int generator, const V& target, int count) {
  const uint64_t numbers = Extent(target) + static_cast<uint64_t>(count % 8);
  const RandomState state =
      on_.Random(rig_.generators[static_cast<size_t>(generator) % kGenerators], numbers);
  on_.Launch(DrawKernel(), {}, {Out(Tensor::From(target)), Val(Extent(target)), Val(state)});
}

void RealMachine::Sync() {
  if (on_.ok()) Raw(on_.stream().Synchronize());
}

void RealMachine::HostSees(const V& target, const V& source) {
  if (!on_.ok()) return;
  Raw(on_.stream().Synchronize());
  if (!on_.ok()) return;
  Mix(target, source, Extent(source) > 0 ? *PointerTo<uint8_t>(source.word()) : 3);
}

void RealMachine::ScratchFill(int bytes) {
  on_.Fill(on_.Scratch(static_cast<uint64_t>(bytes)), 0x99);
}

void RealMachine::Scratch(const V& target, const V& source, int bytes, int by) {
  MixParams params = ParamsOf(target, source, by);
  params.more_bytes = static_cast<uint32_t>(bytes);
  const Tensor scratch = on_.Scratch(static_cast<uint64_t>(bytes));
  on_.Launch(ViaKernel(), {},
             {Out(Tensor::From(target)), Out(scratch), In(Tensor::From(source)), Val(params)});
}

void RealMachine::ForeignTemp(const V& target, const V& source, int bytes, int by) {
  if (!on_.ok()) return;
  ForeignAllocator& foreign = rig_.trees[tree_]->foreign_allocator();
  const absl::StatusOr<Address> at =
      foreign.Allocate(static_cast<uint64_t>(bytes), on_.stream());
  if (!at.ok()) return on_.Fail(at.status());
  MixParams params = ParamsOf(target, source, by);
  params.more_bytes = static_cast<uint32_t>(bytes);
  const Tensor block = Tensor::Foreign(*at, Layout::Of(DType::kU8, {bytes}));
  on_.Launch(ViaKernel(), {},
             {Out(Tensor::From(target)), Out(block), In(Tensor::From(source)), Val(params)});
  Raw(foreign.Free(*at, on_.stream()));
}

void RealMachine::Lasting(Do what, int place, const V& target, const V& source, int by) {
  if (!on_.ok()) return;
  const int index = place % kLasting;
  Address at = 0;
  if (what == Do::kWorkspace) {
    at = on_.Workspace(rig_.workspaces[tree_][index]).base;
  } else {
    Address& held = rig_.held[tree_][index];
    if (held == 0) {
      const absl::StatusOr<Address> got =
          rig_.trees[tree_]->foreign_allocator().Allocate(LastingBytes(index), on_.stream());
      if (!got.ok()) return on_.Fail(got.status());
      held = *got;
    }
    at = held;
  }
  if (!on_.ok()) return;
  MixParams params = ParamsOf(target, source, by);
  params.more_bytes = static_cast<uint32_t>(LastingBytes(index));
  const Tensor block = Tensor::Foreign(
      at, Layout::Of(DType::kU8, {static_cast<int64_t>(LastingBytes(index))}));
  on_.Launch(ViaKernel(), {},
             {Out(Tensor::From(target)), Out(block), In(Tensor::From(source)), Val(params)});
}

// The part holds by value all that it needs: where its lines are, and the integers.
void RealMachine::Break(const FunctionPlan& function, const Statement& line,
                        const std::vector<std::pair<V*, Access>>& given,
                        const std::vector<int64_t>& integers) {
  std::vector<std::pair<Tensor, Access>> tensors;
  std::vector<Access> accesses;
  for (const auto& [value, access] : given) {
    tensors.emplace_back(Tensor::From(*value), access);
    accesses.push_back(access);
  }
  Rig* const rig = &rig_;
  BreakOn(on_, tensors,
          [rig, plan = &function, lines = &line.part, accesses, integers, tree = tree_](
              Launcher& on, absl::Span<const Tensor> tensors) {
            ++rig->parts;
            RealMachine machine(*rig, on, tree);
            BodyRun<RealMachine> part(machine, *plan, integers);
            part.SetInPart();
            for (size_t i = 0; i < tensors.size(); ++i) part.AddSlot(tensors[i], accesses[i]);
            part.Run(*lines);
          });
}

// The launch reads what its object says as long as it lives.
void RealMachine::KeepAlive(const V& target) {
  if (Extent(target) == 0) return;
  rig_.cells.push_back(kAlive);
  uint8_t* const cell = &rig_.cells.back();
  const std::shared_ptr<void> object(cell, [](void* gone) { *static_cast<uint8_t*>(gone) = 0; });
  // Of an eager run the caller holds it until the work is done.
  rig_.young.push_back(object);
  on_.KeepAlive(object);
  const Tensor first = Tensor::From(target).View(outsider::LayoutOf(5), 0);
  on_.Launch(AliveKernel(), {}, {Out(first), Val(cell)});
}

void RealMachine::WarmUpAgain(const void* line, int times) {
  if (rig_.asked[line]++ < times) on_.WarmUpAgain("the program says so");
}

// What is written to memory that lines know, theirs and their parts'.
void RealMachine::SayClosures(const std::vector<Statement>& lines) {
  for (const Statement& line : lines) {
    SayClosures(line.part);
    if (line.what != Do::kClosure || (line.n[3] & 1) == 0) continue;
    on_.Writes(Tensor::From(Closure(line.n[0], line.n[1], outsider::LayoutOf(line.n[2]))));
  }
}

// In another tree, with the part's tensors as memory of its caller's.
void RealMachine::Nested(int function, const V& target, const V& source) {
  const int index = FunctionOf(rig_.program, 1, function);
  if (index < 0 || !on_.ok()) return;
  const FunctionPlan& inner = rig_.program.functions[index];
  Values inputs, outputs;
  // What others write for a part is theirs to launch, and the part's to say.
  if (inner[Trait::kWritable] != 0) on_.Writes(Tensor::From(target));
  SayClosures(inner.body);
  for (int i = 0; i < inner[Trait::kInputs]; ++i) {
    const Value& value = (inner[Trait::kWritable] >> i & 1) != 0 ? target : source;
    inputs.push_back(Tensor::Foreign(value.word(), value.layout()));
  }
  Raw(rig_.trees[1]->Run(rig_.functions[index], absl::MakeSpan(inputs), on_.stream(), &outputs));
  if (!on_.ok()) return;
  for (const Value& output : outputs) {
    if (output.is_tensor()) return Mix(target, output, 11);
  }
}

void RealMachine::Stash(int place, const V& value) {
  if (!on_.ok()) return;
  rig_.stash[place % kStashes] = value;
  rig_.stashed_now[place % kStashes] = true;
}

void RealMachine::Aligned(const V& target, const V& input, int alignment) {
  if (Extent(target) == 0) return;
  const Tensor first = Tensor::From(target).View(outsider::LayoutOf(5), 0);
  on_.Launch(AlignedKernel(), {},
             {Out(first), In(Tensor::From(input)), Val(static_cast<uint64_t>(alignment))});
}

// A part is one op: it has the memory until it ends.
void RealMachine::ScratchPart(const V& target, const V& source, int bytes, int by) {
  MixParams params = ParamsOf(target, source, by);
  params.more_bytes = static_cast<uint32_t>(bytes);
  const Tensor scratch = on_.Scratch(static_cast<uint64_t>(bytes));
  on_.Break("with scratch",
            {Out(Tensor::From(target)), Out(scratch), In(Tensor::From(source))},
            [params](Launcher& part, absl::Span<const Tensor> t) {
              part.Fill(t[1], 0x33);
              part.Launch(ViaKernel(), {}, {Out(t[0]), Out(t[1]), In(t[2]), Val(params)});
            });
}

void RealMachine::Throw(int what) { ThrowSomething(what); }

// A tree that is called while it runs refuses: its own body, and another thread.
void RealMachine::Reenter(int how) {
  if (!on_.ok()) return;
  Tree& tree = *rig_.trees[tree_];
  absl::Status status;
  const auto call = [&] {
    Values none, outputs;
    const int function = FunctionOf(rig_.program, tree_, 0);
    status = tree.Run(rig_.functions[function], absl::MakeSpan(none), *rig_.streams[0], &outputs);
  };
  if (how % 2 == 0) {
    call();
  } else {
    std::thread(call).join();
  }
  if (status.ok()) rig_.wrong = "a tree may be called while it runs";
}

void RealMachine::Fail() {
  on_.Fail(absl::InvalidArgumentError("the program says so"));
}

}  // namespace graphtree::outsider
