// graphtree.hpp with exceptions: what fails throws, and what a body throws is the call's error.
// Then steps of a program, parts, and values that are handed over.
#define GRAPHTREE_EXCEPTIONS
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/c/graphtree.hpp"
#include "runtime/c/ids_slot.h"

namespace {

constexpr uint32_t kCount = 64;
int failures = 0;

void Expect(bool is_so, const char* what) {
  if (is_so) return;
  std::printf("not so: %s\n", what);
  ++failures;
}
#define EXPECT(condition) Expect(condition, #condition)

// The text of what it throws; "" if it does not.
template <typename Act>
std::string Thrown(const Act& act) {
  try {
    act();
  } catch (const gt::Failure& failure) {
    return failure.what();
  }
  return "";
}

bool Has(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

struct World {
  gt::Device device = gt::Device::Open("host");
  gt::Stream stream = device.NewStream();
  gt::Kernel add = gt::Kernel::New<int32_t*, const int32_t*, int32_t>(
      "add", [](const gt::HostCall& call) {
        for (uint32_t i = 0; i < call.shape().block[0]; ++i) {
          call.Get<int32_t*>(0)[i] = call.Get<const int32_t*>(1)[i] + call.Get<int32_t>(2);
        }
      });
  gt_layout layout = gt::LayoutOf(GT_I32, {kCount});
  gt::Memory input = device.NewMemory(GT_ON_HOST, kCount * sizeof(int32_t));

  std::vector<int32_t> Read(const gt::Value& value, size_t count) {
    std::vector<int32_t> words(count);
    stream.CopyToHost(words.data(), value, count * sizeof(int32_t));
    stream.Synchronize();
    return words;
  }
};

void Errors(World& world) {
  EXPECT(Has(Thrown([] { gt::Device::Open("nowhere"); }), "nowhere"));
  const gt::Tree tree = world.device.NewTree();
  const gt::Function throws = tree.Register("throws", [](gt::Launcher&) -> gt::Views {
    throw std::runtime_error("out of luck");
  });
  EXPECT(Has(Thrown([&] { throws.Call({}, world.stream); }), "out of luck"));
  const gt::Function wrong = tree.Register("wrong", [](gt::Launcher& on) {
    return gt::Views{on.Input(3)};
  });
  EXPECT(Has(Thrown([&] { wrong.Call({}, world.stream); }), "input 3"));
}

void Trees(World& world) {
  const gt::Tree tree = world.device.NewTree();
  int parts = 0;
  const gt::Function inc = tree.Register("inc", [&](gt::Launcher& on) {
    const gt::View x = on.Input(0), sum = on.Empty(x.layout), out = on.Empty(x.layout);
    const int32_t by = 1;
    on.Launch(world.add, gt::Shape(1, kCount), {gt::Out(sum), gt::In(x), gt::Val(by)});
    on.Break("counts", {gt::In(sum), gt::Out(out)},
             [&parts](gt::Launcher& part, const gt::View* tensors, size_t) {
               ++parts;
               part.Copy(tensors[1], tensors[0]);
             });
    return gt::Views{out};
  });
  for (int step = 0; step < 4; ++step) {
    for (uint32_t i = 0; i < kCount; ++i) world.input.as<int32_t>()[i] = step;
    tree.BeginStep();
    gt::Values once = inc.Call({world.input.Tensor(world.layout)}, world.stream);
    const gt::Value kept = once[0].Copy();
    const gt::Values twice = inc.Call({std::move(once[0])}, world.stream);
    EXPECT(world.Read(twice[0], kCount) == std::vector<int32_t>(kCount, step + 2));
    EXPECT(world.Read(kept, kCount) == std::vector<int32_t>(kCount, step + 1));
  }
  EXPECT(parts == 8);
  EXPECT(tree.stats().replays > 0);
}

// What a call consumes is gone for its caller, and only that.
void WhoHasTheInputs(World& world) {
  const gt::Tree tree = world.device.NewTree();
  const uint32_t first[] = {0};
  gt_function_options keeps = GT_INIT(gt_function_options);
  keeps.kept_outputs = first;
  keeps.kept_output_count = 1;
  const auto copy = [](gt::Launcher& on) {
    const gt::View x = on.Input(0), out = on.Empty(x.layout);
    on.Copy(out, x);
    return gt::Views{out};
  };
  const gt::Function makes = tree.Register("makes", copy, &keeps);
  gt_function_options fixed = GT_INIT(gt_function_options);
  fixed.static_inputs = first;
  fixed.static_input_count = 1;
  const gt::Function reads = tree.Register("reads", copy, &fixed);
  const gt::Function eats = tree.Register("eats", copy);
  const gt::Function asks = tree.Register("asks", [&world](gt::Launcher& on) {
    gt_value object = {};
    gt_launcher_any_input(on.get(), 0, &object);
    const gt::View out = on.Empty(world.layout);
    on.Fill(out, 1);
    return gt::Views{out};
  });
  const gt::Function fails = tree.Register("fails", [](gt::Launcher&) -> gt::Views {
    throw std::runtime_error("out of luck");
  });

  int object = 5;
  gt_value opaque = {};
  EXPECT(gt_opaque_new(&object, nullptr, nullptr, &opaque) == nullptr);
  const gt::Value keeper(opaque);
  const gt::Value weights = std::move(
      makes.Call({world.input.Tensor(world.layout)}, world.stream)[0]);
  for (int step = 0; step < 4; ++step) {
    tree.BeginStep();
    EXPECT(asks.Call({keeper.view()}, world.stream).size() == 1);
    EXPECT(reads.Call({weights.view()}, world.stream).size() == 1);
    gt::Values made = makes.Call({world.input.Tensor(world.layout)}, world.stream);
    EXPECT(Has(Thrown([&] { fails.Call({made[0].view()}, world.stream); }), "out of luck"));
    gt::Views inputs = {made[0].view()};
    EXPECT(eats.Call(inputs, world.stream).size() == 1);
    EXPECT(inputs[0].kind == GT_CONSUMED);
    EXPECT(Has(Thrown([&] { eats.Call({made[0].view()}, world.stream); }), "released"));
    gt::Value again = weights.Copy();
    EXPECT(Has(Thrown([&] { fails.Call({std::move(again)}, world.stream); }), "out of luck"));
  }
}

// Launches with arguments that are known when the body runs; kernels of every kind.
void AFunctionOfTheProgram(int32_t*, const int32_t*, int32_t) {}

void GenericLaunches(World& world) {
  EXPECT(Has(Thrown([] { gt::Kernel::New<int*>("none", nullptr); }), "no body"));
  const gt::Kernel image = gt::Kernel::New<int*>("image", nullptr, gt::CudaImage{"x", 1, "entry"});
  const gt::Kernel known =
      gt::Kernel::Of("known", AFunctionOfTheProgram, [](const gt::HostCall& call) {
        for (uint32_t i = 0; i < kCount; ++i) {
          call.Get<int32_t*>(0)[i] = call.Get<const int32_t*>(1)[i] * call.Get<int32_t>(2);
        }
      });
  const gt::Tree tree = world.device.NewTree();
  const gt::Function scales = tree.Register("scales", [&](gt::Launcher& on) {
    const gt::View x = on.Input(0), out = on.Empty(x.layout);
    const int32_t by = 3;
    std::vector<gt_arg> args = {gt::Out(out), gt::In(x)};
    args.push_back(gt::Val(by));
    on.Launch(known, gt::Shape(1, kCount), args);
    return gt::Views{out};
  });
  for (int step = 0; step < 4; ++step) {
    for (uint32_t i = 0; i < kCount; ++i) world.input.as<int32_t>()[i] = step;
    tree.BeginStep();
    const gt::Values out = scales.Call({world.input.Tensor(world.layout)}, world.stream);
    EXPECT(world.Read(out[0], kCount) == std::vector<int32_t>(kCount, 3 * step));
  }
  EXPECT(tree.stats().replays == 2);
}

void Programs(World& world) {
  const int64_t size = kCount;
  const gt_slot slot = graphtree::c::IdsSlot(&size);
  gt_program_options options = GT_INIT(gt_program_options);
  options.name = "decode";
  options.slots = &slot;
  options.slot_count = 1;
  const gt::Runtime runtime = gt::Runtime::New(world.device);
  const gt::Program decode = runtime.NewProgram(options, [&world](gt::Launcher& on) {
    const gt::View ids = on.Slot(0), out = on.Empty(ids.layout);
    const int32_t by = 10;
    on.Launch(world.add, gt::Shape(1, static_cast<uint32_t>(on.key().tokens)),
              {gt::Out(out), gt::In(ids), gt::Val(by)});
    return gt::Views{out};
  });
  const std::vector<gt_key> shapes = {gt::Tokens(8), gt::Tokens(kCount)};
  decode.AddShapes(shapes);
  decode.Record(world.stream);
  for (int32_t tokens : {1, 8, 9, 60}) {
    std::vector<int32_t> ids(tokens);
    std::iota(ids.begin(), ids.end(), 0);
    const gt::Step step = decode.Begin(gt::Tokens(tokens), world.stream);
    step.StageHost(0, GT_I32, ids.data(), tokens);
    const gt::Values outputs = step.Run();
    EXPECT(step.choice().why == GT_HIT || step.choice().why == GT_COVER);
    const std::vector<int32_t> read = world.Read(outputs[0], tokens);
    for (int32_t i = 0; i < tokens; ++i) EXPECT(read[i] == i + 10);
  }
}

gt_program_options OptionsOf(const char* name, const gt_slot* slot) {
  gt_program_options options = GT_INIT(gt_program_options);
  options.name = name;
  options.slots = slot;
  options.slot_count = 1;
  return options;
}

// A stream of somebody else's, a tree that leaves the device and comes back.
void StreamsAndParking(World& world) {
  const gt::Stream adopted = world.device.AdoptStream(nullptr);
  EXPECT(Has(Thrown([&] { world.device.AdoptStream(&world); }), "no native stream"));
  const gt::Tree tree = world.device.NewTree();
  const gt::Function fills = tree.Register("fills", [&world](gt::Launcher& on) {
    const gt::View out = on.Empty(world.layout);
    on.Fill(out, 1);
    return gt::Views{out};
  });
  for (int step = 0; step < 4; ++step) {
    tree.BeginStep();
    const gt::Values out = fills.Call({}, adopted);
    adopted.Synchronize();
    EXPECT(world.Read(out[0], kCount) == std::vector<int32_t>(kCount, 0x01010101));
    if (step != 2) continue;
    tree.Park(GT_KEEP);
    tree.Wake();
  }
  EXPECT(tree.stats().replays == 2);
}

// Two devices, a program with a prepare, a plan, parked memory.
void RuntimesOfSeveralDevices(World& world) {
  const gt::Device other = gt::Device::Open("host");
  const gt::Stream stream = other.NewStream();
  {
    const int64_t size = kCount;
    const gt_slot slot = graphtree::c::IdsSlot(&size);
    const gt::Runtime runtime = gt::Runtime::New({&world.device, &other});
    gt_program_options options = OptionsOf("decode", &slot);
    options.device = 1;
    options.tag = "all";
    const gt::Program decode = runtime.NewProgram(
        options,
        [](gt::Launcher& on) {
          const gt::View ids = on.Slot(0), seen = on.Empty(ids.layout);
          on.Copy(seen, ids);
          return gt::Views{seen};
        },
        [&world](gt::Launcher& on) {
          const gt::View seen = on.Prepared(0), out = on.Empty(seen.layout);
          const int32_t by = 10;
          on.Launch(world.add, gt::Shape(1, static_cast<uint32_t>(on.key().tokens)),
                    {gt::Out(out), gt::In(seen), gt::Val(by)});
          return gt::Views{out};
        });
    decode.AddShapes({gt::Tokens(8)});
    const gt::Plan plan = runtime.MakePlan();
    EXPECT(plan.info().to_record == 1);
    EXPECT(plan.Record(stream).recorded == 1);
    gt_tagged_memory memory = GT_INIT(gt_tagged_memory);
    memory.tag = "all";
    memory.name = "cache";
    memory.bytes = 4096;
    EXPECT(runtime.AddMemory(memory).bytes >= 4096);
    runtime.Park("all", GT_DROP);
    EXPECT(Has(Thrown([&] { decode.Begin(gt::Tokens(8), stream); }), "park"));
    runtime.Wake("all");
    const std::vector<int32_t> ids(8, 5);
    const gt::Step step = decode.Begin(gt::Tokens(8), stream);
    step.StageHost(0, GT_I32, ids.data(), 8);
    const gt::Values out = step.Run();
    std::vector<int32_t> read(8);
    stream.CopyToHost(read.data(), out[0], 8 * sizeof(int32_t));
    stream.Synchronize();
    EXPECT(read == std::vector<int32_t>(8, 15));
  }
}

void PreparedAhead(World& world) {
  const int64_t size = kCount;
  const gt_slot slot = graphtree::c::IdsSlot(&size);
  const gt::Runtime runtime = gt::Runtime::New(world.device);
  gt_program_options options = OptionsOf("prepare", &slot);
  const uint32_t kept = 0;
  options.kept_outputs = &kept;
  options.kept_output_count = 1;
  options.lane = 1;
  const gt::Program prepare = runtime.NewProgram(options, [](gt::Launcher& on) {
    const gt::View ids = on.Slot(0), out = on.Empty(ids.layout);
    on.Copy(out, ids);
    return gt::Views{out};
  });
  prepare.AddShapes({gt::Tokens(8)});
  prepare.Record(world.stream);
  const gt::Stream side = world.device.NewStream();
  const gt::Ahead ahead = gt::Ahead::New(prepare);
  const std::vector<int32_t> ids(8, 3);
  const std::vector<gt_ahead_rows> rows = {gt::HostRows(0, GT_I32, ids.data(), 8)};
  ahead.Prepare(gt::Tokens(8), rows, side);
  const gt::Values out = ahead.Take(gt::Tokens(8), rows, world.stream);
  EXPECT(world.Read(out[0], 8) == ids);
  EXPECT(ahead.stats().used == 1);
  side.Synchronize();
}

}  // namespace

int main() {
  {
    World world;
    Errors(world);
    Trees(world);
    WhoHasTheInputs(world);
    GenericLaunches(world);
    Programs(world);
    StreamsAndParking(world);
    RuntimesOfSeveralDevices(world);
    PreparedAhead(world);
  }
  EXPECT(gt_live_handles() == 0);
  std::printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
