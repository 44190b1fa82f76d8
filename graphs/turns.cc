// Two executables of one section that take turns (section.h draws them): which one is next, and
// when a second one is worth its making.
//
// The one that was not launched last is taken as soon as anything has moved: either it points to
// where things are now, and nothing is patched, or it is patched as the other one would have been.
// A spare is made behind the launch of the replay that shows it to be worth it, and only if it
// takes no room from anything else; to others it gives way at once (keeper.h).
#include <memory>
#include <utility>

#include "graphs/planted_bug.h"
#include "graphs/tree_core.h"

namespace graphtree {

void TreeCore::TakeTurn(Section* section, absl::Span<const Value> inputs, const Values& places) {
  if (section->spare == nullptr || !section->pointers.Moved(inputs, places)) return;
  section->SwapWithSpare();
  // What it is known to point to is the other one's.
  if (IsPlanted(PlantedBug::kSwapsHalf)) std::swap(section->pointers, section->spare->pointers);
}

void TreeCore::ConsiderSpare(const Node& node, size_t number, Section* section) {
  if (section->spare != nullptr || options_.spare_after == 0) return;
  if (section->pointers.returns() < options_.spare_after * section->patience) return;
  if (device_.open_captures() > 0) return;
  if (!keeper_.HasRoomForSpare(section->op_count())) return section->NoSpare();
  absl::StatusOr<std::unique_ptr<Executable>> made = section->graph->Instantiate();
  if (!made.ok()) {
    // The call went well without it.
    ++stats_.reasons[static_cast<size_t>(Reason::kSpareDropped)];
    tally_.Count(EdgeOf(node), Reason::kSpareDropped, 1);
    return section->NoSpare();
  }
  auto spare = std::make_unique<Spare>(
      Spare{*std::move(made), section->ingest, section->pointers, section->egress});
  ForgetPatches(spare.get());
  keeper_.SpareMade(*spare->executable);
  ++stats_.spares;
  if (observers_.any()) {
    TellObservers(GraphMoment::kInstantiate, node, number, spare->executable.get(), side_.get(),
                  true);
  }
  section->spare = std::move(spare);
}

}  // namespace graphtree
