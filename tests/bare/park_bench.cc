// What it costs to park a lane and to wake it, beside the bare mapping calls for the same pieces of
// memory, with one range that is pinned:
//
//   ours   Runtime::Park and Wake, and with that: waiting, the books, slots that are filled anew
//   bare   unmap, give back; create, map, give access: as large as the lane's own pieces and its
//          slots, in as few calls; where contents are kept, with a copy of each piece to host
//          memory that is page-locked, and back
//
// And the first step after a wake, beside a step as always.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "allocator/pool.h"
#include "device/address.h"
#include "device/base/status_macros.h"
#include "device/memory.h"
#include "graphs/tree.h"
#include "runtime/parking.h"
#include "runtime/plan/ledger.h"
#include "runtime/runtime.h"
#include "tests/bare/bench_device.h"
#include "tests/kernels/kernels.h"
#include "tests/kernels/launches.h"
#include "tools/benching/row.h"
#include "tools/benching/statistics.h"

namespace graphtree {
namespace {

using bench::Measurement;
using bench::Median;
using bench::NowNs;
using bench::Outcome;
using bench::RegisterRow;
using bench::Skipped;

constexpr uint64_t kMiB = 1 << 20;
constexpr int64_t kTokens = 64;

// So much is parked. On the host device contents are bytes that a CPU copies and poisons.
uint64_t PoolBytes() { return (bench::Smoke() ? 32 : 1024) * kMiB; }

class ParkWorld {
 public:
  static absl::StatusOr<std::unique_ptr<ParkWorld>> Make(const std::string& device) {
    std::unique_ptr<ParkWorld> world(new ParkWorld());
    GRAPHTREE_RETURN_IF_ERROR(world->SetUp(device));
    return world;
  }
  ~ParkWorld() {
    runtime_ = nullptr;
    if (!reserved_.empty()) {
      Unmap().IgnoreError();
      on_.device().memory().Release(reserved_).IgnoreError();
    }
  }

  absl::Status Park(Contents contents) { return runtime_->Park("graphs", contents); }
  absl::Status Wake() { return runtime_->Wake("graphs"); }
  absl::Status Step() {
    GRAPHTREE_ASSIGN_OR_RETURN(graphtree::Step step,
                               runtime_->Begin(program_, {.tokens = kTokens}, on_.stream()));
    GRAPHTREE_RETURN_IF_ERROR(step.Stage(0, 1.0));
    GRAPHTREE_RETURN_IF_ERROR(step.Run(&outputs_));
    return step.why() == Why::kHit ? on_.stream().Synchronize()
                                   : absl::InternalError(step.Describe());
  }
  uint64_t mapped() { return runtime_->tree()->stats().pool_reserved_bytes; }

  // The same by bare calls.
  absl::Status BarePark(bool keeps) {
    if (keeps) GRAPHTREE_RETURN_IF_ERROR(CopyAll(/*to_host=*/true));
    return Unmap();
  }
  absl::Status BareWake(bool keeps) {
    GRAPHTREE_RETURN_IF_ERROR(Map());
    return keeps ? CopyAll(/*to_host=*/false) : absl::OkStatus();
  }
  absl::Status AllocateHost() {
    for (const AddressRange& piece : pieces_) {
      GRAPHTREE_ASSIGN_OR_RETURN(std::unique_ptr<HostBuffer> saved,
                                 on_.device().memory().AllocateHost(piece.bytes));
      saved_.push_back(std::move(saved));
    }
    return absl::OkStatus();
  }
  void FreeHost() { saved_.clear(); }

 private:
  absl::Status SetUp(const std::string& device) {
    GRAPHTREE_RETURN_IF_ERROR(on_.Open(device, kMiB));
    RuntimeOptions options;
    options.tree.pool_bytes = 2 * PoolBytes();
    GRAPHTREE_ASSIGN_OR_RETURN(runtime_, Runtime::Create(on_.device(), options));
    GRAPHTREE_RETURN_IF_ERROR(AddProgram());
    outputs_.clear();
    runtime_->tree()->BeginStep();
    return MapLikeThePool();
  }
  // Its graph uses all of the memory, and has pinned the first bytes.
  absl::Status AddProgram() {
    ProgramOptions program;
    program.name = "large";
    program.tag = "graphs";
    program.slots = {{.name = "ids", .sizes = {kTokens}, .rows = KeyField::kTokens}};
    program.unseen_writes = true;
    program.body = [](Launcher& on, const ProgramInputs& in) -> Values {
      const Tensor pinned = on.Empty(DType::kI32, {kTokens});
      if (!on.ok()) return {};
      on.Pin(pinned);
      // The next piece.
      const Tensor apart = on.Empty(DType::kU8, {static_cast<int64_t>(2 * kMiB)});
      const Tensor all =
          on.Empty(DType::kU8, {static_cast<int64_t>(PoolBytes() - 4 * kMiB)});
      if (!on.ok()) return {};
      const auto count = static_cast<uint32_t>(kTokens);
      on.Launch(AddKernel(), TestShape(),
                {Out(pinned), In(in.slot(0)), In(in.slot(0)), Val(count)});
      return {on.ok() ? all : apart};
    };
    GRAPHTREE_ASSIGN_OR_RETURN(program_, runtime_->AddProgram(std::move(program)));
    GRAPHTREE_RETURN_IF_ERROR(runtime_->AddShapes(program_, {{.tokens = kTokens}}));
    GRAPHTREE_RETURN_IF_ERROR(runtime_->Record(program_, on_.stream()));
    return Step();
  }
  // What a wake maps, at addresses of its own.
  absl::Status MapLikeThePool() {
    GRAPHTREE_RETURN_IF_ERROR(Park(Contents::kDrop));
    GRAPHTREE_RETURN_IF_ERROR(Wake());
    Pool& pool = runtime_->tree()->pool();
    for (const Region region : {Region::kStep, Region::kLasting}) {
      const PieceRow& row = pool.row(region);
      const Address base = pieces_.empty() ? 0 : pieces_.back().end() + 2 * kMiB;
      for (uint32_t i = 0; i < row.count(); ++i) {
        const Piece& piece = row.piece(i);
        if (!piece.is_mapped() || piece.pins > 0) continue;
        pieces_.push_back({base + piece.offset, piece.bytes});
      }
    }
    if (pieces_.empty()) return absl::InternalError("nothing would be parked");
    pieces_.push_back({pieces_.back().end() + 2 * kMiB, runtime_->ledger().slots});
    Memory& memory = on_.device().memory();
    GRAPHTREE_ASSIGN_OR_RETURN(reserved_, memory.Reserve(pieces_.back().end(), {}));
    for (AddressRange& piece : pieces_) piece.base += reserved_.base;
    return Map();
  }
  // In runs of neighbours, as few calls as can be.
  template <typename Call>
  absl::Status ForRuns(const Call& call) {
    for (size_t i = 0; i < pieces_.size();) {
      AddressRange run = pieces_[i];
      for (++i; i < pieces_.size() && pieces_[i].base == run.end(); ++i) {
        run.bytes += pieces_[i].bytes;
      }
      GRAPHTREE_RETURN_IF_ERROR(call(run));
    }
    return absl::OkStatus();
  }
  absl::Status Map() {
    Memory& memory = on_.device().memory();
    for (const AddressRange& piece : pieces_) {
      GRAPHTREE_ASSIGN_OR_RETURN(std::unique_ptr<PhysicalMemory> physical,
                                 memory.Create(piece.bytes));
      GRAPHTREE_RETURN_IF_ERROR(memory.Map(piece.base, *physical));
      physical_.push_back(std::move(physical));
    }
    return ForRuns(
        [&](AddressRange run) { return memory.SetAccess(run, MemoryAccess::kReadWrite); });
  }
  absl::Status Unmap() {
    GRAPHTREE_RETURN_IF_ERROR(
        ForRuns([&](AddressRange run) { return on_.device().memory().Unmap(run); }));
    physical_.clear();
    return absl::OkStatus();
  }
  absl::Status CopyAll(bool to_host) {
    for (size_t i = 0; i < pieces_.size(); ++i) {
      const Address host = saved_[i]->range().base;
      GRAPHTREE_RETURN_IF_ERROR(to_host
                                    ? on_.stream().Copy(host, pieces_[i].base, pieces_[i].bytes)
                                    : on_.stream().Copy(pieces_[i].base, host, pieces_[i].bytes));
    }
    return on_.stream().Synchronize();
  }

  BenchDevice on_;
  std::unique_ptr<Runtime> runtime_;
  ProgramId program_;
  Values outputs_;
  AddressRange reserved_;
  std::vector<AddressRange> pieces_;
  std::vector<std::unique_ptr<PhysicalMemory>> physical_;
  std::vector<std::unique_ptr<HostBuffer>> saved_;
};

enum class Figure : uint8_t { kPark, kWake, kBoth, kFirstStep };

template <typename Call>
absl::StatusOr<double> TimeOf(const Call& call) {
  const double begin = NowNs();
  GRAPHTREE_RETURN_IF_ERROR(call());
  return NowNs() - begin;
}

struct Round {
  double park = 0, wake = 0, step = 0;
  double bare_park = 0, bare_wake = 0, warm_step = 0;
};

absl::StatusOr<Round> RunRound(ParkWorld& world, Contents contents) {
  const bool keeps = contents == Contents::kKeep;
  Round round;
  GRAPHTREE_ASSIGN_OR_RETURN(round.park, TimeOf([&] { return world.Park(contents); }));
  GRAPHTREE_ASSIGN_OR_RETURN(round.wake, TimeOf([&] { return world.Wake(); }));
  GRAPHTREE_ASSIGN_OR_RETURN(round.step, TimeOf([&] { return world.Step(); }));
  GRAPHTREE_ASSIGN_OR_RETURN(round.warm_step, TimeOf([&] { return world.Step(); }));
  GRAPHTREE_ASSIGN_OR_RETURN(round.bare_park, TimeOf([&]() -> absl::Status {
    if (keeps) GRAPHTREE_RETURN_IF_ERROR(world.AllocateHost());
    return world.BarePark(keeps);
  }));
  GRAPHTREE_ASSIGN_OR_RETURN(round.bare_wake, TimeOf([&]() -> absl::Status {
    GRAPHTREE_RETURN_IF_ERROR(world.BareWake(keeps));
    world.FreeHost();
    return absl::OkStatus();
  }));
  return round;
}

Outcome Measure(const char* device, Contents contents, Figure figure) {
  absl::StatusOr<std::unique_ptr<ParkWorld>> world = ParkWorld::Make(device);
  if (!world.ok()) return Skipped(std::string(world.status().message()));
  std::vector<double> ours, bare;
  const int rounds = bench::Smoke() ? 2 : contents == Contents::kKeep ? 11 : 41;
  for (int i = 0; i < rounds; ++i) {
    GRAPHTREE_ASSIGN_OR_RETURN(const Round round, RunRound(**world, contents));
    if (i == 0 && rounds > 2) continue;
    switch (figure) {
      case Figure::kPark:
        ours.push_back(round.park / 1e3);
        bare.push_back(round.bare_park / 1e3);
        break;
      case Figure::kWake:
        ours.push_back(round.wake / 1e3);
        bare.push_back(round.bare_wake / 1e3);
        break;
      case Figure::kBoth:
        ours.push_back((round.park + round.wake) / 1e3);
        bare.push_back((round.bare_park + round.bare_wake) / 1e3);
        break;
      case Figure::kFirstStep:
        ours.push_back(round.step / 1e3);
        bare.push_back(round.warm_step / 1e3);
        break;
    }
  }
  return Measurement{.ours = Median(ours), .baseline = Median(bare)};
}

struct FigureRow {
  const char* name;
  Contents contents;
  Figure figure;
  const char* ours;
  const char* against;
  const char* goal;
};

// The ratio is a GPU's: a mapping call of the host device costs a tenth of a driver's.
constexpr FigureRow kRows[] = {
    {"drop", Contents::kDrop, Figure::kBoth, "parks 1 GiB, one range pinned, and wakes it",
     "bare mapping calls", "ratio <= 1.2"},
    {"drop_park", Contents::kDrop, Figure::kPark, "parks 1 GiB, one range pinned",
     "bare mapping calls", ""},
    {"drop_wake", Contents::kDrop, Figure::kWake, "wakes 1 GiB, one range pinned",
     "bare mapping calls", ""},
    {"first_step", Contents::kDrop, Figure::kFirstStep, "the first step after a wake",
     "the step after that", ""},
    {"keep", Contents::kKeep, Figure::kBoth, "parks 1 GiB with contents, and wakes it",
     "bare mapping calls and copies", "ratio <= 1.2"},
};

bool RegisterAll() {
  for (const char* const device : {"host", "cuda"}) {
    for (FigureRow row : kRows) {
      const bool is_by_calls = row.contents == Contents::kDrop && *row.goal != 0;
      if (is_by_calls && device == std::string("host")) row.goal = "difference <= 100 us";
      RegisterRow({.name = absl::StrCat("runtime.park.", device, ".", row.name),
                   .ours = row.ours,
                   .against = row.against,
                   .unit = "us",
                   .goal = row.goal},
                  [device, row] { return Measure(device, row.contents, row.figure); });
    }
  }
  return true;
}

[[maybe_unused]] const bool registered = RegisterAll();

}  // namespace
}  // namespace graphtree
