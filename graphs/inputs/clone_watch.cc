// Compares ranges with the copies of inputs, and with the bytes that were copied.
#include "graphs/inputs/clone_watch.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace graphtree {
namespace {

std::string Quoted(absl::string_view op) {
  return op.empty() ? "opaque work" : absl::StrCat("'", op, "'");
}

bool Writes(Access access) { return access == Access::kWrite || access == Access::kReadWrite; }

}  // namespace

CloneWatch::CloneWatch(const Function& function, absl::Span<const ClonedInput> cloned,
                       AccessObserver* next)
    : PassingObserver(next), function_(function), outer_(innermost_) {
  for (const ClonedInput& one : cloned) watched_.push_back({one});
  innermost_ = this;
}

CloneWatch::~CloneWatch() { innermost_ = outer_; }

void CloneWatch::Launching(absl::string_view op) {
  op_.assign(op.data(), op.size());
  PassingObserver::Launching(op);
}

void CloneWatch::Accessed(Access access, const Tensor& tensor, int argument) {
  absl::Status judged = Judge(argument < 0 ? "" : op_, access, tensor.raw_bytes());
  if (!judged.ok()) refuse_(std::move(judged));
  PassingObserver::Accessed(access, tensor, argument);
}

absl::Status CloneWatch::Refusal(absl::string_view what, const Watched& watched,
                                 absl::string_view why) const {
  return absl::InvalidArgumentError(absl::StrCat(
      what, " the bytes of ", InputName(function_, watched.cloned.input), " of '", function_.name,
      "' by another name than that input. The input is at 0x",
      absl::Hex(watched.cloned.original.base),
      ", and it, or an input that shares bytes with it, is less aligned than declared: the body "
      "was given a copy, ", why,
      ". Pass memory that is aligned as declared, or reach these bytes through the input alone"));
}

absl::Status CloneWatch::Judge(absl::string_view op, Access access, AddressRange range) {
  for (Watched& watched : watched_) {
    if (Writes(access) && range.Overlaps(watched.cloned.clone)) watched.written = true;
    if (!range.Overlaps(watched.cloned.original)) continue;
    if (Writes(access)) {
      return Refusal(absl::StrCat(Quoted(op), " writes to"), watched, "which does not see that");
    }
    watched.read_beside = true;
    if (!watched.written) continue;
    return Refusal(absl::StrCat(Quoted(op), " reads"), watched,
                   "which alone has what the body wrote");
  }
  return absl::OkStatus();
}

absl::Status CloneWatch::NoteWritten(uint32_t input) {
  for (Watched& watched : watched_) {
    if (watched.cloned.input != input) continue;
    watched.written = true;
    if (!watched.read_beside) continue;
    return Refusal("its body reads", watched, "and writes to that in ways that no op declares");
  }
  return absl::OkStatus();
}

bool CloneWatch::IsWritten(uint32_t input) const {
  return std::any_of(watched_.begin(), watched_.end(), [input](const Watched& watched) {
    return watched.cloned.input == input && watched.written;
  });
}

void CloneWatch::NoteTaken(AddressRange range) {
  for (Watched& watched : watched_) {
    if (watched.cloned.clone.Overlaps(range)) watched.written = true;
  }
}

absl::Status CloneWatch::MayCall(absl::string_view function, absl::Span<const Value> inputs) {
  for (CloneWatch* watch = innermost_; watch != nullptr; watch = watch->outer_) {
    for (const Value& input : inputs) {
      const AddressRange range = RangeOf(input);
      watch->NoteTaken(range);
      const auto shared =
          std::find_if(watch->watched_.begin(), watch->watched_.end(),
                       [range](const Watched& one) { return one.cloned.original.Overlaps(range); });
      if (shared == watch->watched_.end()) continue;
      const absl::Status refused =
          watch->Refusal(absl::StrCat("a call of '", function, "' inside of its body takes"),
                         *shared, "which the call does not see");
      watch->refuse_(refused);
      return refused;
    }
  }
  return absl::OkStatus();
}

}  // namespace graphtree
