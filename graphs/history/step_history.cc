// Writes the sentences.
#include "graphs/history/step_history.h"

#include "absl/strings/str_cat.h"

namespace graphtree {

const std::string& StepHistory::AddFunction(const std::string& name) {
  std::lock_guard<std::mutex> lock(mutex_);
  names_.push_back(&*known_names_.insert(name).first);
  return *names_.back();
}

const std::string* StepHistory::FindName(uint32_t function) const {
  std::lock_guard<std::mutex> lock(mutex_);
  return function < names_.size() ? names_[function] : nullptr;
}

std::string StepHistory::NameOf(uint32_t function) const {
  const std::string* name = FindName(function);
  return name != nullptr ? absl::StrCat("'", *name, "'") : "the function";
}

void StepHistory::NoteWrites(absl::Span<const AddressRange> ranges, const RangeUse& use) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (const AddressRange range : ranges) writes_.Note(range, use);
}

void StepHistory::NoteAlive(AddressRange range, const RangeUse& use) {
  std::lock_guard<std::mutex> lock(mutex_);
  alive_.Note(range, use);
}

std::string StepHistory::ToldAlive(AddressRange range) const {
  std::lock_guard<std::mutex> lock(mutex_);
  const RangeUse* use = alive_.Find(range);
  if (use == nullptr) return "";
  return stacks_.Told(absl::StrCat("it was alive in step ", use->step, ", when a call of '",
                                   *names_[use->function], "' brought it at"),
                      use->at);
}

std::string StepHistory::ToldOverwritten(const Storage& storage) const {
  const RangeUse* use = writes_.Find(storage.range());
  if (use == nullptr || use->step < storage.ended_in) {
    return "\n  no checked call has been given its bytes since";
  }
  return stacks_.Told(absl::StrCat("its bytes were given to '", *names_[use->function],
                                   "' in step ", use->step, " by the call at"),
                      use->at);
}

// What to do, by the likeliest mistake: a step that begins too early, a tensor that is carried from
// one step to the next, or one that is held for long.
std::string StepHistory::Advice(const Storage& storage, const std::string& name) const {
  if (storage.output == kNotReturned) {
    return "Return it from the body, so that it can be kept (FunctionOptions::kept_outputs), begin "
           "the step after its last use, or copy it before";
  }
  const std::string keep = absl::StrCat("keep it (FunctionOptions::kept_outputs of '", name,
                                        "' with ", storage.output, ")");
  if (step_.load(std::memory_order_relaxed) <= storage.ended_in) {
    return absl::StrCat("Begin the step after its last use; or, if one step hands it on to the ",
                        "next, ", keep, ", or copy it before the step begins");
  }
  return absl::StrCat("If it shall last for several steps, ", keep,
                      ", or copy it before its step ends; else let go of it there");
}

std::string StepHistory::Explain(const Storage& storage) const {
  std::lock_guard<std::mutex> lock(mutex_);
  const std::string& name = *names_[storage.producer];
  if (storage.output == kOfFailedRun) {
    return absl::StrCat("a tensor that the body of '", name, "' stored in step ", storage.step,
                        " was taken back: that run of it failed, or its recording was given up. "
                        "What a body makes is good if its call is");
  }
  if (storage.output == kScratch) {
    return absl::StrCat("it is scratch memory of the body of '", name,
                        "', which was good for one op and is others' by now. Memory for more than "
                        "one op comes from Launcher::Empty");
  }
  const std::string what =
      storage.output == kNotReturned
          ? absl::StrCat("a tensor that the body of '", name, "' stored and did not return")
          : absl::StrCat("output ", storage.output, " of '", name, "'");
  const std::string text = absl::StrCat(
      what, " was made in step ", storage.step, ", which ended when step ", storage.ended_in,
      " began: its memory belongs to what runs since (last: '", *names_[last_run_.load()], "'). ",
      Advice(storage, name));
  if (storage.made_at == 0) {
    return absl::StrCat(text, " (TreeOptions::check tells from where each was called)");
  }
  return absl::StrCat(text, stacks_.Told("it was made by the call at", storage.made_at),
                      stacks_.Told("its step was ended at", storage.ended_at),
                      ToldOverwritten(storage));
}

}  // namespace graphtree
