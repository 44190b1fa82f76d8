// Recordings of one topology that share an executable: what it costs to have it become another's,
// and where that pays.
//
//   way of the one executable            what the call waits for
//   destroyed, a new one instantiated    both, and the device's memory
//   updated (run/executables.h)          the update, and what the launch after it has to upload
//   updated and uploaded ahead           the launch: the rest was done on another stream meanwhile
//
// On every device that is there.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "graphs/budget.h"
#include "graphs/launcher.h"
#include "graphs/tree_stats.h"
#include "tests/bare/bench_device.h"
#include "tests/bare/shapes_world.h"
#include "tests/kernels/kernels.h"
#include "tests/kernels/launches.h"
#include "tools/benching/row.h"

namespace graphtree {
namespace {

using bench::ComparePair;
using bench::Measurement;
using bench::Outcome;
using bench::RegisterRow;
using bench::Skipped;

constexpr uint32_t kOps = 500;

bench::TimingOptions OneByOne() {
  bench::TimingOptions options;
  options.most_calls = 1;
  options.batches = 301;
  return options;
}

// Shapes in turn, with room for one executable. Bare: destroy, instantiate, launch.
Outcome InTurn(absl::StatusOr<std::unique_ptr<ShapesWorld>> world, uint32_t shapes) {
  if (!world.ok()) return Skipped(std::string(world.status().message()));
  ShapesWorld& w = **world;
  TreeBudget budget;
  budget.executables = 1;
  GRAPHTREE_RETURN_IF_ERROR(w.OpenTree(budget));
  for (uint32_t call = 0; call < 4 * shapes; ++call) {
    GRAPHTREE_RETURN_IF_ERROR(w.Call(call % shapes));
  }
  for (uint32_t s = 0; s < shapes; ++s) GRAPHTREE_RETURN_IF_ERROR(w.MeetBare(s));
  for (uint32_t s = 0; s < shapes; ++s) GRAPHTREE_RETURN_IF_ERROR(w.BackBare(s));
  absl::Status status;
  uint32_t ours_turn = 0, bare_turn = 0;
  bench::TimingOptions options = OneByOne();
  options.between = [&] { status.Update(w.Drain()); };
  const TreeStats before = w.stats();
  const Measurement pair = ComparePair([&] { status.Update(w.Call(ours_turn++ % shapes)); },
                                       [&] { status.Update(w.BackBare(bare_turn++ % shapes)); },
                                       options);
  GRAPHTREE_RETURN_IF_ERROR(status);
  const TreeStats now = w.stats();
  const uint64_t back = now.instantiated_again - before.instantiated_again;
  const uint64_t updates = now.updates.count() - before.updates.count();
  const uint64_t recordings = now.recordings - before.recordings;
  if (back != ours_turn || updates != ours_turn || recordings != 0) {
    return absl::InternalError(absl::StrCat(ours_turn, " calls brought back ", back,
                                            " executables, ", updates, " by updates, and recorded ",
                                            recordings, " times"));
  }
  return pair;
}

// Two graphs that differ in `differ` ops, and executables of them.
class TwoGraphs {
 public:
  absl::Status Open(const char* device, uint32_t differ) {
    GRAPHTREE_RETURN_IF_ERROR(on_.Open(device, 1 << 20));
    GRAPHTREE_ASSIGN_OR_RETURN(beside_, on_.device().NewStream());
    for (uint32_t which = 0; which < 2; ++which) {
      GRAPHTREE_RETURN_IF_ERROR(on_.stream().BeginCapture(CaptureMode::kThreadLocal));
      for (uint32_t k = 0; k < kOps; ++k) {
        const Argument arguments[] = {Argument::InOut({on_.memory().base, 1024}),
                                      Argument::Value(k < differ ? k + which : k),
                                      Argument::Value(uint32_t{256})};
        GRAPHTREE_RETURN_IF_ERROR(on_.stream().Launch(IncrementKernel(), TestShape(), arguments));
      }
      GRAPHTREE_ASSIGN_OR_RETURN(graphs_[which], on_.stream().EndCapture());
      GRAPHTREE_ASSIGN_OR_RETURN(executables_[which], graphs_[which]->Instantiate());
      GRAPHTREE_RETURN_IF_ERROR(executables_[which]->Launch(on_.stream()));
    }
    return Drain();
  }
  // A new executable of the same graph; what that leaves to a launch is done ahead, or not.
  absl::Status Renew(size_t executable, bool ahead) {
    GRAPHTREE_ASSIGN_OR_RETURN(executables_[executable], graphs_[executable]->Instantiate());
    return ahead ? executables_[executable]->Upload(*beside_) : absl::OkStatus();
  }
  // The executable becomes the other graph's; the same.
  absl::Status Turn(size_t executable, bool ahead) {
    turn_[executable] ^= 1;
    GRAPHTREE_ASSIGN_OR_RETURN(const UpdateResult result,
                               executables_[executable]->Update(*graphs_[turn_[executable]]));
    if (result != UpdateResult::kUpdated) return absl::InternalError("it was not updated");
    return ahead ? executables_[executable]->Upload(*beside_) : absl::OkStatus();
  }
  absl::Status Launch(size_t executable) { return executables_[executable]->Launch(on_.stream()); }
  absl::Status LaunchNew() {
    turn_[0] ^= 1;
    GRAPHTREE_ASSIGN_OR_RETURN(executables_[0], graphs_[turn_[0]]->Instantiate());
    return Launch(0);
  }
  absl::Status Drain() {
    GRAPHTREE_RETURN_IF_ERROR(beside_->Synchronize());
    return on_.stream().Synchronize();
  }

 private:
  BenchDevice on_;
  std::unique_ptr<Stream> beside_;
  std::unique_ptr<Graph> graphs_[2];
  std::unique_ptr<Executable> executables_[2];
  size_t turn_[2] = {0, 1};
};

// What a launch pays right after `change`, if its upload was made ahead, and if it was not.
using Change = absl::Status (TwoGraphs::*)(size_t executable, bool ahead);
Outcome UploadedAhead(const char* device, uint32_t differ, Change change) {
  TwoGraphs graphs;
  const absl::Status opened = graphs.Open(device, differ);
  if (!opened.ok()) return Skipped(std::string(opened.message()));
  absl::Status status;
  bench::TimingOptions options = OneByOne();
  options.between = [&] {
    status.Update(graphs.Drain());
    status.Update((graphs.*change)(0, /*ahead=*/true));
    status.Update((graphs.*change)(1, /*ahead=*/false));
    status.Update(graphs.Drain());
  };
  const Measurement pair = ComparePair([&] { status.Update(graphs.Launch(0)); },
                                       [&] { status.Update(graphs.Launch(1)); }, options);
  GRAPHTREE_RETURN_IF_ERROR(status);
  return pair;
}

// An update and the launch after it, against instantiating and the first launch.
Outcome Updated(const char* device, uint32_t differ) {
  TwoGraphs graphs;
  const absl::Status opened = graphs.Open(device, differ);
  if (!opened.ok()) return Skipped(std::string(opened.message()));
  absl::Status status;
  bench::TimingOptions options = OneByOne();
  options.between = [&] { status.Update(graphs.Drain()); };
  const Measurement pair = ComparePair(
      [&] {
        status.Update(graphs.Turn(1, /*ahead=*/false));
        status.Update(graphs.Launch(1));
      },
      [&] { status.Update(graphs.LaunchNew()); }, options);
  GRAPHTREE_RETURN_IF_ERROR(status);
  return pair;
}

bool RegisterAll() {
  for (const char* device : {"host", "cuda"}) {
    RegisterRow({.name = absl::StrCat("tree.", device, ".back_from_eviction.100"),
                 .ours = "a call whose executable of 100 kernels was evicted",
                 .against = "destroy another, instantiate, launch",
                 // The host device instantiates in a fraction of what CUDA takes.
                 .goal = device == std::string("host") ? "difference <= 5 us" : "ratio <= 1.05"},
                [device] { return InTurn(ShapesWorld::Make(device, 2, 100), 2); });
    for (const uint32_t shapes : {2u, 8u}) {
      for (const uint32_t differ : {1u, 100u, kOps - 1}) {
        RegisterRow({.name = absl::StrCat("runtime.share.", device, ".", shapes, "_in_turn.",
                                          differ, "_of_500"),
                     .ours = "a call whose executable was another shape's, which is evicted for it",
                     .against = "destroy another, instantiate, launch",
                     // The host device instantiates in a fraction of what CUDA takes.
                     .goal = device == std::string("host") ? "" : "ratio <= 1"},
                    [=] {
                      return InTurn(ShapesWorld::Make(device, shapes, kOps, differ), shapes);
                    });
      }
    }
    for (const uint32_t differ : {1u, 10u, 100u, kOps}) {
      const std::string rest = absl::StrCat(device, ".", differ, "_of_500");
      RegisterRow({.name = absl::StrCat("runtime.share.update.", rest),
                   .ours = "updating an executable, and the launch after it",
                   .against = "instantiating, and the first launch"},
                  [=] { return Updated(device, differ); });
      RegisterRow({.name = absl::StrCat("runtime.share.upload_ahead.", rest),
                   .ours = "the launch after an update that was uploaded on another stream",
                   .against = "the launch after an update"},
                  [=] { return UploadedAhead(device, differ, &TwoGraphs::Turn); });
    }
    RegisterRow({.name = absl::StrCat("runtime.share.upload_ahead.", device, ".new"),
                 .ours = "the first launch of an executable that was uploaded on another stream",
                 .against = "the first launch"},
                [=] { return UploadedAhead(device, kOps, &TwoGraphs::Renew); });
  }
  return true;
}

[[maybe_unused]] const bool registered = RegisterAll();

}  // namespace
}  // namespace graphtree
