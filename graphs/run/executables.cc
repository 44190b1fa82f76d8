// Updates what was evicted, or instantiates graphs, within the budget.
#include "graphs/run/executables.h"

#include <memory>
#include <utility>
#include <vector>

#include "device/base/status_macros.h"
#include "device/error.h"
#include "device/executable_bytes.h"
#include "graphs/reports/duration_counts.h"
#include "graphs/run/planted_bug.h"
#include "graphs/shared_budget.h"

namespace graphtree {

absl::Status Executables::Make(const Node& node, size_t number, Section* section) {
  if (!IsPlanted(PlantedBug::kOverrunsBudget)) {
    GRAPHTREE_RETURN_IF_ERROR(keeper_.RoomForExecutable(section->graph->op_count(), node));
  }
  std::unique_ptr<Executable> made = Shared(*section->graph);
  if (made == nullptr) {
    GRAPHTREE_ASSIGN_OR_RETURN(made, Instantiated(*section->graph, node));
  }
  section->executable = std::move(made);
  if (journal_.is_watched())
    journal_.Say(GraphMoment::kInstantiate, node, number, ground_.capture_stream.get());
  return absl::OkStatus();
}

std::unique_ptr<Executable> Executables::Shared(const Graph& graph) {
  constexpr int kMostTried = 4;
  std::vector<std::unique_ptr<Executable>> unfit;
  std::unique_ptr<Executable> shared;
  while (shared == nullptr && unfit.size() < kMostTried) {
    std::unique_ptr<Executable> evicted = keeper_.graveyard().TakeExecutable(graph.op_count());
    if (evicted == nullptr) break;
    const Timing timing;
    const absl::StatusOr<UpdateResult> updated = evicted->Update(graph);
    const bool fits = updated.ok() && *updated == UpdateResult::kUpdated;
    if (fits) timing.AddTo(&journal_.stats().updates);
    (fits ? shared : unfit.emplace_back()) = std::move(evicted);
  }
  for (std::unique_ptr<Executable>& executable : unfit) {
    keeper_.graveyard().Add(std::move(executable));
  }
  return shared;
}

absl::StatusOr<std::unique_ptr<Executable>> Executables::Instantiated(const Graph& graph,
                                                                      const Node& node) {
  const Timing timing;
  absl::StatusOr<std::unique_ptr<Executable>> made = graph.Instantiate();
  for (int more = 1; more <= 64; more *= 4) {
    if (ErrorCodeOf(made.status()) != ErrorCode::kOutOfMemory || !GiveMemoryBack(more, node)) break;
    made = graph.Instantiate();
  }
  if (made.ok()) timing.AddTo(&journal_.stats().instantiations);
  return made;
}

// What fails here the first launch does.
void Executables::UploadAhead(const Node& node) {
  node.VisitSections([this](const Section& section) {
    if (section.executable != nullptr) section.executable->Upload(*ground_.side).IgnoreError();
  });
}

bool Executables::GiveMemoryBack(int executables, const Node& node) {
  if (ground_.order.last() == nullptr || ground_.device.open_captures() > 0) return false;
  int evicted = 0;
  while (evicted < executables && keeper_.EvictOneExecutable(Reason::kBytesEvicted, node)) {
    ++evicted;
  }
  if (evicted == 0 || !ground_.order.AwaitLast().ok()) return false;
  keeper_.graveyard().DestroyAll();
  return true;
}

// One after the other, the first ones would evict others before the last one is found not to fit.
absl::Status Executables::MayComeBack(const Node& node) {
  if (node.cuts.empty()) return absl::OkStatus();
  Share wanted;
  node.VisitSections([&wanted](const Section& section) {
    if (section.graph == nullptr) return;
    wanted = wanted + Share{0, 1, ExecutableBytes(section.graph->op_count())};
  });
  return keeper_.FitsBesidePath(wanted, node);
}

absl::Status Executables::BringBack(Node* node) {
  keeper_.SetNow(journal_.stats().calls);
  absl::Status status = MayComeBack(*node);
  size_t number = 0;
  node->VisitSections([&](Section& section) {
    if (status.ok() && section.graph != nullptr) status = Make(*node, number, &section);
    ++number;
    if (IsPlanted(PlantedBug::kForgetsEviction)) return;
    ForgetPatches(&section);
  });
  if (!status.ok()) {
    journal_.SayDestroyed(*node);
    node->VisitSections([this](Section& section) {
      if (section.executable != nullptr) keeper_.graveyard().Add(std::move(section.executable));
    });
    return status;
  }
  keeper_.ExecutablesMade(*node);
  journal_.stats().instantiated_again += node->executables();
  return absl::OkStatus();
}

void Executables::AddSpare(const Node& node, size_t number, Section* section) {
  if (ground_.device.open_captures() > 0) return;
  if (!keeper_.HasRoomForSpare(section->op_count())) return section->NoSpare();
  absl::StatusOr<std::unique_ptr<Executable>> made = section->graph->Instantiate();
  if (!made.ok()) {
    // The call has succeeded without a spare.
    journal_.CountOf(node, Reason::kSpareDropped, 1);
    keeper_.Settle();
    return section->NoSpare();
  }
  auto spare = std::make_unique<Spare>(
      Spare{*std::move(made), section->ingest, section->pointers, section->egress});
  ForgetPatches(spare.get());
  keeper_.SpareMade(*spare->executable);
  ++journal_.stats().spares;
  if (journal_.is_watched()) {
    journal_.Say(GraphMoment::kInstantiate, node, number, spare->executable.get(),
                 ground_.capture_stream.get(), true);
  }
  section->spare = std::move(spare);
}

}  // namespace graphtree
