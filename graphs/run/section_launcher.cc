// Patches what has moved, and launches.
#include "graphs/run/section_launcher.h"

#include <utility>

#include "device/base/status_macros.h"
#include "graphs/run/kept_outputs.h"
#include "graphs/run/launch_teller.h"
#include "graphs/run/planted_bug.h"

namespace graphtree {
namespace {

void TakeTurn(Section* section, absl::Span<const Value> inputs, const Values& places) {
  if (section->spare == nullptr || !section->pointers.Moved(inputs, places)) return;
  section->SwapWithSpare();
  // The bug: each executable has the other one's table.
  if (IsPlanted(PlantedBug::kSwapsHalf)) std::swap(section->pointers, section->spare->pointers);
}

// Takes the run's random numbers, and writes into the ingest op's table where they start.
void DrawRandom(Section* section, EagerRandom* taken) {
  for (size_t i = 0; i < section->random.size(); ++i) {
    NodeRandom& random = section->random[i];
    random.taken = taken != nullptr ? taken->Take(random.use.generator, random.use.increment)
                                    : random.use.generator->Take(random.use.increment);
    const uint64_t words[] = {random.taken.seed, random.taken.offset};
    for (size_t scalar = 2 * i; scalar < 2 * i + 2; ++scalar) {
      for (IngestOp& ingest : section->ingest) {
        const size_t place = scalar - ingest.plan.first_scalar();
        if (place < ingest.plan.scalars()) ingest.plan.SetScalar(place, words[scalar - 2 * i]);
      }
    }
  }
}

void GiveBackRandom(const Section& section) {
  for (const NodeRandom& random : section.random) random.use.generator->GiveBack(random.taken);
}

// Notes where the copied inputs are now. Until the patch succeeds the executable has the old table,
// and the plan the new one.
void FollowCopies(Section* section, absl::Span<const Value> inputs) {
  for (IngestOp& ingest : section->ingest) {
    if (!section->random.empty() && ingest.plan.scalars() > 0) ingest.unpatched = true;
    for (size_t copy = 0; copy < ingest.inputs.size(); ++copy) {
      const Address source = inputs[ingest.inputs[copy]].word();
      if (ingest.plan.source(copy) == source || IsPlanted(PlantedBug::kSkipsPatch)) continue;
      ingest.plan.Retarget(copy, source);
      ingest.unpatched = true;
    }
  }
}

absl::Status PatchCopies(Section* section) {
  for (IngestOp& ingest : section->ingest) {
    if (!ingest.unpatched) continue;
    const Argument table = ingest.plan.Table();
    GRAPHTREE_RETURN_IF_ERROR(section->executable->PatchKernel(
        ingest.op, ingest.plan.kernel(), ingest.plan.shape(), absl::MakeSpan(&table, 1)));
    ingest.unpatched = false;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status SectionLauncher::LaunchNode(Node* node, absl::Span<const Value> inputs,
                                         Stream& stream) {
  absl::Status status = Launch(*node, 0, &node->section, inputs, nullptr, stream);
  if (!status.ok()) GiveBackDraws(node);
  return status;
}

void SectionLauncher::GiveBackDraws(Node* node) {
  GiveBackRandom(node->section);
  ForgetPlaces(node);
}

absl::Status SectionLauncher::Launch(const Node& node, size_t number, Section* section,
                                     absl::Span<const Value> inputs, EagerRandom* taken,
                                     Stream& stream) {
  if (section->is_fixed()) return LaunchAsItIs(node, number, *section, stream);
  TakeTurn(section, inputs, node.places);
  DrawRandom(section, taken);
  // All places are noted before anything can fail. So a section holds the places of one call, and
  // never some of one beside some of another: the matcher compares the next call with them.
  FollowCopies(section, inputs);
  const bool follows = !section->pointers.empty() && !IsPlanted(PlantedBug::kSkipsPointers);
  const bool moved = follows && section->pointers.Follow(inputs, node.places);
  GRAPHTREE_RETURN_IF_ERROR(Patch(node, section, moved));
  GRAPHTREE_RETURN_IF_ERROR(LaunchAsItIs(node, number, *section, stream));
  if (moved) executables_.ConsiderSpare(node, number, section);
  return absl::OkStatus();
}

absl::Status SectionLauncher::Patch(const Node& node, Section* section, bool moved) {
  ToldPhase told(journal_.observers(), Phase::kPatch, node.variant->function->name, node.id);
  GRAPHTREE_RETURN_IF_ERROR(PatchCopies(section));
  GRAPHTREE_RETURN_IF_ERROR(PatchCopiesOut(section, node.places));
  if (moved) GRAPHTREE_RETURN_IF_ERROR(section->pointers.Patch(*section->executable));
  return told.Ended(absl::OkStatus());
}

absl::Status SectionLauncher::LaunchFresh(const Node& node, size_t number, Section* section,
                                          absl::Span<const Value> inputs, EagerRandom* taken,
                                          Stream& stream) {
  DrawRandom(section, taken);
  FollowCopies(section, inputs);
  GRAPHTREE_RETURN_IF_ERROR(PatchCopies(section));
  return LaunchAsItIs(node, number, *section, stream);
}

absl::Status SectionLauncher::LaunchAsItIs(const Node& node, size_t number, const Section& section,
                                           Stream& stream) {
  GRAPHTREE_RETURN_IF_ERROR(ground_.NoteWorkOn(stream));
  const bool is_quiet = !journal_.observers().wants_replays() && node.hooks == nullptr;
  if (is_quiet) return section.executable->Launch(stream);
  return LaunchTold(journal_, node, number, stream);
}

}  // namespace graphtree
