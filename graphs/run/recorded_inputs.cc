// Makes stand-ins for inputs, and finds the ops that take patched inputs.
#include "graphs/run/recorded_inputs.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "device/base/check.h"
#include "device/base/status_macros.h"
#include "graphs/inputs/moved_words.h"
#include "graphs/run/planted_bug.h"

namespace graphtree {
namespace {

// Whether the op takes neither a patched input nor a kept output.
bool TakesNothing(const PointerOp& op) {
  return std::all_of(op.slots().begin(), op.slots().end(),
                     [](const PointerSlot& slot) { return slot.input == kNobody; });
}

// The storage that the body is given in an input's place. Null if there is no memory; the draft has
// the error.
Storage* StandInFor(Ground& ground, uint32_t input, const Value& value, Draft* draft,
                    StepAllocator* allocator) {
  AddressRange bytes = RangeOf(value);
  if (draft->is_rehearsal()) bytes.base = draft->rehearsal->PlaceOf(input, bytes.base);
  const Node& node = *draft->node;
  if (node.roles[input] == InputRole::kPatched) return ground.memory->View(bytes);
  absl::StatusOr<Storage*> buffer = allocator->AllocateAligned(
      bytes.bytes, node.variant->function->AlignmentOf(input), *ground.capture_stream);
  if (buffer.ok()) return *buffer;
  draft->status = buffer.status();
  draft->reason = Reason::kOutOfPool;
  return nullptr;
}

void AddIngest(const std::vector<IngestCopy>& copies, const std::vector<uint32_t>& copied,
               const std::vector<IngestScalar>& scalars, Node* node) {
  for (IngestPlan& plan : IngestPlan::For(copies, scalars)) {
    const auto first = copied.begin() + plan.first_copy();
    std::vector<uint32_t> served(first, first + plan.copies());
    node->section.ingest.push_back({std::move(plan), 0, std::move(served)});
  }
}

// Adds to `hidden` the patched inputs and kept outputs of which a handle is held outside of the
// recording: by a part, which would use the recorded address in a replay, or because the body has
// stored it. A body without parts may store an input that is the caller's own memory.
void NoteStoredElsewhere(const Values& originals, Draft* draft) {
  for (const MarkedInput& marked : draft->marked) {
    if (draft->node->cuts.empty() && originals[marked.input].storage() == nullptr) continue;
    const Storage* mark = marked.mark.storage();
    // The draft and its pointer log hold two handles. One more is stored somewhere, and would show
    // the recorded address in every replay.
    if (mark->outside() > 2 + HandlesIn(draft->outputs, mark)) {
      draft->hidden.push_back(marked.input);
    }
  }
  if (draft->node->variant->keeps_by_copy) return;
  for (uint32_t i = 0; i < draft->node->kept.size(); ++i) {
    for (const Value& output : draft->outputs) {
      const Storage* kept = output.storage();
      if (kept == nullptr || kept->serial != draft->node->kept[i].serial) continue;
      if (kept->outside() > HandlesIn(draft->outputs, kept)) {
        draft->hidden.push_back(kFirstKept + i);
      }
      break;
    }
  }
}

// Finds inputs with an address in the section's graph that no op in `ops` has in a slot. Ops of a
// library whose addresses the rehearsal shows are added to `ops` first.
void FindHidden(const Graph& graph, absl::Span<const OpId> ingest,
                absl::Span<const InputRange> ranges, Draft* draft, std::vector<PointerOp>* ops) {
  if (draft->rehearsal != nullptr) {
    MovedWords words = FindMovedWords(graph.ops(), draft->rehearsal->ops(), *ops, ingest,
                                      draft->rehearsal->moved());
    std::move(words.ops.begin(), words.ops.end(), std::back_inserter(*ops));
    draft->hidden.insert(draft->hidden.end(), words.hidden.begin(), words.hidden.end());
  }
  for (uint32_t input : HiddenPointers(graph.ops(), *ops, ingest, ranges)) {
    draft->hidden.push_back(input);
  }
  graph.ForgetOps();
}

// Which kept outputs some op or part has in a slot.
class FoundKept {
 public:
  void Add(absl::Span<const PointerSlot> slots) {
    for (const PointerSlot& slot : slots) {
      if (slot.input != kNobody && slot.input >= kFirstKept) found_.insert(slot.input);
    }
  }
  // Adds the others to `hidden`: somebody writes each by an address that shows nowhere, as a number
  // of a page, or nobody does.
  void AddOthers(const Node& node, std::vector<uint32_t>* hidden) const {
    for (uint32_t i = 0; i < node.kept.size(); ++i) {
      if (found_.contains(kFirstKept + i) || node.kept[i].block.empty()) continue;
      hidden->push_back(kFirstKept + i);
    }
  }

 private:
  std::set<uint32_t> found_;
};

}  // namespace

InputPlan PlanInputs(const Call& call, const CallRoles& roles) {
  InputPlan plan;
  std::vector<uint64_t> alignments;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const RoleChoice& chosen = roles.chosen[i];
    plan.roles.push_back(chosen.role);
    plan.sought.push_back(chosen.sought);
    plan.unpinned.push_back(IsPinned(roles.own[i]) && !IsPinned(chosen.role));
    alignments.push_back(PatchAlignment(call.inputs[i].word(), call.function.AlignmentOf(i)));
  }
  plan.pattern = InputPattern(plan.roles, call.inputs, alignments);
  return plan;
}

Values PrepareInputs(Ground& ground, const Values& originals, Values to_body,
                     const std::vector<IngestScalar>& scalars, Draft* draft,
                     StepAllocator* allocator) {
  Node* node = draft->node.get();
  node->roles = draft->plan.roles;
  node->inputs = std::move(draft->plan.pattern);
  node->call_hash = HashInputs(node->roles, originals) ^ node->variant->function->id;
  for (uint32_t i = 0; i < originals.size(); ++i) {
    if (node->variant->Mutates(i)) node->written.push_back(i);
  }
  Values inputs;
  std::vector<IngestCopy> copies;
  std::vector<uint32_t> copied;
  for (uint32_t i = 0; i < originals.size(); ++i) {
    const Value& input = originals[i];
    draft->stand_ins.push_back(0);
    if (node->roles[i] != InputRole::kCopied && node->roles[i] != InputRole::kPatched) {
      inputs.push_back(node->roles[i] == InputRole::kManaged ? std::move(to_body[i]) : input);
      continue;
    }
    Storage* const stand_in = StandInFor(ground, i, input, draft, allocator);
    if (stand_in == nullptr) return inputs;
    const Tensor seen = Tensor::Over(stand_in, input.layout(), stand_in->range().base);
    inputs.push_back(seen);
    draft->stand_ins.back() = stand_in->serial;
    if (node->roles[i] == InputRole::kPatched) {
      draft->marked.push_back({i, seen});
    } else if (input.layout()->overlaps_itself() && IsPlanted(PlantedBug::kForgetsOverlap)) {
      continue;
    } else if (input.layout()->elements() > 0) {
      copies.push_back({seen.word(), input.word(), input.layout()});
      copied.push_back(i);
    }
  }
  AddIngest(copies, copied, scalars, node);
  return inputs;
}

absl::Status LaunchIngest(const Section& section, Stream& side, std::vector<OpToken>* tokens) {
  for (const IngestOp& ingest : section.ingest) {
    const Argument table = ingest.plan.Table();
    GRAPHTREE_RETURN_IF_ERROR(
        side.Launch(ingest.plan.kernel(), ingest.plan.shape(), absl::MakeSpan(&table, 1)));
    GRAPHTREE_ASSIGN_OR_RETURN(const std::vector<OpToken> frontier, side.CaptureFrontier());
    GRAPHTREE_CHECK(frontier.size() == 1) << "a launch left " << frontier.size() << " ends";
    tokens->push_back(frontier.front());
  }
  return absl::OkStatus();
}

absl::Status FindInputOps(const Values& originals, PointerLog* log, Draft* draft) {
  Node* node = draft->node.get();
  const bool follows_kept = !node->kept.empty() && !node->variant->keeps_by_copy;
  if (draft->marked.empty() && !follows_kept) return absl::OkStatus();
  std::vector<InputRange> ranges;
  std::vector<uint32_t> patched;
  std::vector<Address> kept;
  for (const MarkedInput& marked : draft->marked) {
    ranges.push_back({marked.input, marked.mark.raw_bytes()});
    patched.push_back(marked.input);
  }
  for (uint32_t i = 0; follows_kept && i < node->kept.size(); ++i) {
    const AddressRange block = node->kept[i].block;
    log->Claim(node->kept[i].serial, block.base, kFirstKept + i);
    ranges.push_back({kFirstKept + i, block});
    kept.push_back(block.base);
  }
  std::vector<std::vector<PointerOp>> ops = log->Take();
  draft->hidden.insert(draft->hidden.end(), log->hidden().begin(), log->hidden().end());
  NoteStoredElsewhere(originals, draft);
  size_t number = 0;
  FoundKept found;
  node->VisitSections([&](Section& section) {
    std::vector<PointerOp>& own = ops[number++];
    // The first section always gets a table: it knows where the inputs are, also without such ops.
    if (section.graph == nullptr && number > 1) return;
    std::vector<OpId> ingest;
    for (const IngestOp& op : section.ingest) ingest.push_back(op.op);
    const bool is_known =
        !follows_kept && draft->rehearsal == nullptr && log->has_seen_all(number - 1);
    if (section.graph != nullptr && !is_known) {
      FindHidden(*section.graph, ingest, ranges, draft, &own);
    }
    own.erase(std::remove_if(own.begin(), own.end(), TakesNothing), own.end());
    for (const PointerOp& op : own) found.Add(op.slots());
    section.pointers = PointerTable(std::move(own), patched, originals, kept);
  });
  for (size_t i = 0; i < node->cuts.size(); ++i) {
    found.Add(log->breaks()[i]);
    for (const PointerSlot& slot : log->breaks()[i]) {
      if (slot.input == kNobody) continue;
      node->cuts[i].moving.push_back({slot.argument, {slot.input, slot.offset}});
    }
  }
  if (follows_kept) found.AddOthers(*node, &draft->hidden);
  if (draft->hidden.empty()) return absl::OkStatus();
  const uint32_t first = draft->hidden.front();
  return absl::InternalError(
      absl::StrCat(first >= kFirstKept ? "a kept output" : absl::StrCat("input ", first), " of '",
                   node->variant->function->name, "' has its address where no launch declares it"));
}

}  // namespace graphtree
