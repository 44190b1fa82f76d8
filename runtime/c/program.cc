// Programs of graphtree.h: their shapes, slots, events and votes.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/c/entry.h"
#include "runtime/c/keys.h"
#include "runtime/c/program_options_of.h"
#include "runtime/c/runtime_objects.h"
#include "runtime/c/stats_of.h"
#include "runtime/c/values.h"
#include "runtime/runtime.h"

namespace graphtree::c {
namespace {

// A program, with an entry that names it in errors.
class ProgramEntry {
 public:
  ProgramEntry(const char* call, gt_program program)
      : entry_(call), program_(entry_.Get<ProgramObject>(program, "program")) {
    if (program_) entry_.InFunction(program_->name());
  }
  Entry& entry() { return entry_; }
  bool ok() const { return entry_.ok(); }
  ProgramObject* operator->() { return program_.get(); }
  // False if one of them is missing, or is none.
  bool Takes(const gt_key* key, gt_modes modes) {
    if (entry_.Has(key, "key")) entry_.Fail(CheckKey(*key));
    entry_.Fail(CheckModes(modes));
    return entry_.ok();
  }

 private:
  Entry entry_;
  Ref<ProgramObject> program_;
};

gt_error GiveEvent(Entry& entry, const ProgramObject& program, const std::shared_ptr<Event>& event,
                   gt_event* out) {
  if (out == nullptr) return nullptr;
  return entry.Give(NewObject<EventObject>(program.device(), event), out);
}

}  // namespace
}  // namespace graphtree::c

using graphtree::Vote;
using graphtree::c::Entry;
using graphtree::c::KeyOf;
using graphtree::c::ModesOf;
using graphtree::c::NewObject;
using graphtree::c::OrEnd;
using graphtree::c::ProgramEntry;
using graphtree::c::ProgramObject;
using graphtree::c::Ref;
using graphtree::c::Within;

gt_error gt_program_new(gt_runtime runtime, const gt_program_options* options,
                        gt_program* out) noexcept {
  return Within("gt_program_new", [&](Entry& entry) -> gt_error {
    gt_program_options read;
    entry.Read(options, "gt_program_options", &read);
    const auto context = graphtree::c::HoldContext(read.context, read.destroy, &entry);
    const auto of = entry.Get<graphtree::c::RuntimeObject>(runtime, "runtime");
    graphtree::ProgramOptions made;
    const auto read_all = [&] {
      made = graphtree::c::ProgramOptionsOf(read, context, *of->opened(), &entry);
    };
    if (entry.ok() && !entry.Own(read_all)) context->EndNow();
    if (!entry.Sets(out, "out") || !entry.ok()) return entry.Failed();
    const absl::StatusOr<graphtree::ProgramId> id = of->runtime().AddProgram(std::move(made));
    if (!id.ok()) return entry.Return(id.status());
    const gt_error error = graphtree::c::GiveRuntimesOwn(
        entry,
        NewObject<ProgramObject>(of->opened(), *id, std::string(read.name), read.device, read.lane),
        out);
    if (error == nullptr) {
      of->opened()->Know(*id, graphtree::c::HandleOf(*out));
    } else {
      of->runtime().RemoveProgram(*id).IgnoreError();  // nobody could run it
    }
    return error;
  });
}

gt_error gt_program_add_shapes(gt_program program, const gt_key* keys, size_t count,
                               gt_mode mode) noexcept {
  return OrEnd("gt_program_add_shapes", [&]() -> gt_error {
    ProgramEntry entry("gt_program_add_shapes", program);
    entry.entry().HasArray(keys, count, "keys");
    entry.entry().Fail(graphtree::c::CheckEnum("mode", mode, GT_FULL));
    if (!entry.ok()) return entry.entry().Failed();
    std::vector<graphtree::Key> all;
    if (!entry.entry().Own([&] { all.reserve(count); })) return entry.entry().Failed();
    for (size_t i = 0; i < count; ++i) {
      entry.entry().Fail(graphtree::c::CheckKey(keys[i]));
      all.push_back(KeyOf(keys[i]));
    }
    if (!entry.ok()) return entry.entry().Failed();
    return entry.entry().Return(
        entry->runtime().AddShapes(entry->id(), all, static_cast<graphtree::Mode>(mode)));
  });
}

gt_error gt_program_exclude(gt_program program, const gt_key* key, int32_t excluded) noexcept {
  return OrEnd("gt_program_exclude", [&]() -> gt_error {
    ProgramEntry entry("gt_program_exclude", program);
    if (!entry.Takes(key, GT_ALLOW_ALL)) return entry.entry().Failed();
    return entry.entry().Return(entry->runtime().Exclude(entry->id(), KeyOf(*key), excluded != 0));
  });
}

gt_error gt_program_record(gt_program program, gt_stream stream) noexcept {
  return OrEnd("gt_program_record", [&]() -> gt_error {
    ProgramEntry entry("gt_program_record", program);
    const auto on = entry.entry().Get<graphtree::c::StreamObject>(stream, "stream");
    if (!entry.ok()) return entry.entry().Failed();
    return entry.entry().Return(entry->runtime().Record(entry->id(), on->stream()));
  });
}

gt_error gt_program_slot(gt_program program, uint32_t slot, gt_value* out) noexcept {
  return OrEnd("gt_program_slot", [&]() -> gt_error {
    ProgramEntry entry("gt_program_slot", program);
    if (!entry.entry().Sets(out, "out") || !entry.ok()) return entry.entry().Failed();
    absl::StatusOr<graphtree::Tensor> whole = entry->runtime().SlotWhole(entry->id(), slot);
    if (!whole.ok()) return entry.entry().Return(whole.status());
    return entry.entry().Return(graphtree::c::GiveValue(*std::move(whole), out));
  });
}

gt_error gt_program_when_free(gt_program program, gt_event* rows, gt_event* slots) noexcept {
  return OrEnd("gt_program_when_free", [&]() -> gt_error {
    ProgramEntry entry("gt_program_when_free", program);
    if (rows != nullptr) *rows = nullptr;
    if (slots != nullptr) *slots = nullptr;
    if (!entry.ok()) return entry.entry().Failed();
    const absl::StatusOr<graphtree::FreeEvents> events = entry->runtime().WhenFree(entry->id());
    if (!events.ok()) return entry.entry().Return(events.status());
    const gt_error error =
        graphtree::c::GiveEvent(entry.entry(), *entry.operator->(), events->rows, rows);
    if (error != nullptr) return error;
    return graphtree::c::GiveEvent(entry.entry(), *entry.operator->(), events->slots, slots);
  });
}

gt_error gt_program_pointers(gt_program program, const gt_key* key, gt_range range,
                             gt_pointer* pointers, size_t capacity, size_t* count,
                             uint64_t* hidden_ops) noexcept {
  return OrEnd("gt_program_pointers", [&]() -> gt_error {
    ProgramEntry entry("gt_program_pointers", program);
    entry.entry().HasArray(pointers, capacity, "pointers");
    if (!entry.entry().Sets(count, "count") || !entry.Takes(key, GT_ALLOW_ALL)) {
      return entry.entry().Failed();
    }
    const absl::StatusOr<graphtree::CapturedPointers> found =
        entry->runtime().Pointers(entry->id(), KeyOf(*key), {range.address, range.bytes});
    if (!found.ok()) return entry.entry().Return(found.status());
    *count = graphtree::c::CopyPointers(*found, pointers, capacity);
    if (hidden_ops != nullptr) *hidden_ops = found->hidden_ops;
    return nullptr;
  });
}

gt_error gt_program_choose(gt_program program, const gt_key* key, gt_modes allowed,
                           gt_choice* out) noexcept {
  return OrEnd("gt_program_choose", [&]() -> gt_error {
    ProgramEntry entry("gt_program_choose", program);
    if (!entry.Takes(key, allowed)) return entry.entry().Failed();
    const absl::StatusOr<graphtree::Choice> choice =
        entry->runtime().Choose(entry->id(), KeyOf(*key), ModesOf(allowed));
    if (!choice.ok()) return entry.entry().Return(choice.status());
    return entry.entry().Return(
        graphtree::c::WriteFigures(graphtree::c::ChoiceOf(*choice), "gt_choice", out));
  });
}

gt_error gt_program_vote(gt_program program, const gt_key* key, gt_modes allowed, uint32_t round,
                         gt_vote* out) noexcept {
  static_assert(sizeof(gt_vote) == sizeof(Vote));
  return OrEnd("gt_program_vote", [&]() -> gt_error {
    ProgramEntry entry("gt_program_vote", program);
    if (!entry.entry().Sets(out, "out") || !entry.Takes(key, allowed)) {
      return entry.entry().Failed();
    }
    const absl::StatusOr<Vote> vote =
        entry->runtime().MakeVote(entry->id(), KeyOf(*key), ModesOf(allowed), round);
    if (!vote.ok()) return entry.entry().Return(vote.status());
    std::memcpy(out->bytes, vote->bytes.data(), sizeof(out->bytes));
    return nullptr;
  });
}

gt_error gt_program_agree(gt_program program, const gt_key* key, gt_modes allowed, uint32_t round,
                          const gt_vote* votes, size_t count, gt_agreement* out) noexcept {
  return OrEnd("gt_program_agree", [&]() -> gt_error {
    ProgramEntry entry("gt_program_agree", program);
    entry.entry().HasArray(votes, count, "votes");
    if (!entry.Takes(key, allowed)) return entry.entry().Failed();
    // The two are the same 16 bytes.
    const absl::Span<const Vote> all(reinterpret_cast<const Vote*>(votes), count);
    const absl::StatusOr<graphtree::Agreement> agreed =
        entry->runtime().Agree(entry->id(), KeyOf(*key), ModesOf(allowed), round, all);
    if (!agreed.ok()) return entry.entry().Return(agreed.status());
    const gt_agreement found = {.size = sizeof(gt_agreement),
                                .outcome = static_cast<gt_vote_outcome>(agreed->outcome),
                                .rank = agreed->rank,
                                .modes = agreed->modes.bits(),
                                .reserved = 0,
                                .key = KeyOf(agreed->key)};
    return entry.entry().Return(graphtree::c::WriteFigures(found, "gt_agreement", out));
  });
}

const char* gt_vote_outcome_sentence(gt_vote_outcome outcome) noexcept {
  if (outcome < GT_AGREED || outcome > GT_NO_GRAPH) return "?";
  return graphtree::VoteOutcomeSentence(static_cast<graphtree::VoteOutcome>(outcome));
}
