// Digests inputs before and after the body, and subtracts the writes that were declared.
#include "graphs/check/body_check.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"

namespace graphtree {

absl::StatusOr<std::unique_ptr<BodyCheck>> BodyCheck::Begin(Device& device,
                                                            const StepMemory& own,
                                                            Stream& stream,
                                                            absl::Span<const Value> inputs,
                                                            AccessObserver* next,
                                                            CallStacks* stacks) {
  auto check = std::unique_ptr<BodyCheck>(new BodyCheck(device, own, stream, next, stacks));
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].is_tensor()) continue;
    GRAPHTREE_RETURN_IF_ERROR(check->Watch(i, RangeOf(inputs[i]), inputs[i]));
  }
  return check;
}

// Inputs in the step region are left out: a write to one has the same effect in a replay. So the
// check does not hold them, and they may die.
std::unique_ptr<BodyCheck> BodyCheck::OfDoubts(Device& device, const StepMemory& own,
                                               Stream& stream, absl::Span<const Value> inputs,
                                               const std::vector<bool>& copied,
                                               AccessObserver* next) {
  auto check = std::unique_ptr<BodyCheck>(new BodyCheck(device, own, stream, next, nullptr));
  check->watches_all_ = false;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const AddressRange range = RangeOf(inputs[i]);
    const bool may_be_lost = copied[i] || !own.InStepRegion(range);
    check->doubtful_.push_back(range.bytes <= kCheapBytes && may_be_lost ? inputs[i] : Value());
  }
  return check;
}

absl::StatusOr<ContentDigest> BodyCheck::Read(AddressRange range) {
  if (!reader_.has_value()) {
    GRAPHTREE_ASSIGN_OR_RETURN(ContentReader reader, ContentReader::Make(device_, stream_));
    reader_ = std::move(reader);
  }
  return reader_->Read(range);
}

absl::Status BodyCheck::Watch(uint32_t input, AddressRange range, Value held) {
  GRAPHTREE_ASSIGN_OR_RETURN(ContentDigest before, Read(range));
  const Address base = held.is_tensor() ? held.word() : range.base;
  watched_.push_back({input, range, base, std::move(before), std::move(held)});
  return absl::OkStatus();
}

void BodyCheck::Launching(absl::string_view op) {
  op_.assign(op.data(), op.size());
  PassingObserver::Launching(op);
}

void BodyCheck::Accessed(Access access, const Tensor& tensor, int argument) {
  if (watches_all_) WatchUngiven(tensor);
  PassingObserver::Accessed(access, tensor, argument);
}

// An input that cannot be read is not watched: this is best effort.
void BodyCheck::Doubted(const Tensor& tensor) {
  for (uint32_t i = 0; i < doubtful_.size(); ++i) {
    const AddressRange whole = RangeOf(doubtful_[i]), given = tensor.raw_bytes();
    if (!whole.Overlaps(given)) continue;
    const Address base = std::max(whole.base, given.base);
    const AddressRange part = {base, std::min(whole.end(), given.end()) - base};
    const bool is_known = std::any_of(
        watched_.begin(), watched_.end(), [&](const Watched& watched) {
          return watched.input == i && watched.range.Contains(part);
        });
    if (!is_known) Watch(i, part, doubtful_[i]).IgnoreError();
  }
  PassingObserver::Doubted(tensor);
}

// Watches only memory that is not the tree's. The tree's memory is the body's own, or that of
// foreign code in the body, whose temporaries are gone when the body is over.
void BodyCheck::WatchUngiven(const Tensor& tensor) {
  const AddressRange range = tensor.raw_bytes();
  if (tensor.storage() != nullptr || range.empty() || own_.IsOwn(range)) return;
  if (absl::Status live = device_.memory().CheckLive(range); !live.ok()) {
    if (refuse_ == nullptr) return;
    return refuse_(absl::FailedPreconditionError(
        absl::StrCat("'", op_, "' takes memory that is no input and is dead: ", live.message())));
  }
  for (const Watched& watched : watched_) {
    if (watched.range.Contains(range)) return;
  }
  Watch(kNotGiven, range, Value()).IgnoreError();
}

absl::StatusOr<std::vector<UndeclaredWrite>> BodyCheck::End(absl::Span<const uint32_t> declared) {
  std::vector<UndeclaredWrite> found;
  for (const Watched& watched : watched_) {
    if (std::find(declared.begin(), declared.end(), watched.input) != declared.end()) continue;
    // The body has freed this memory: there is nothing to compare.
    if (!device_.memory().CheckLive(watched.range).ok()) continue;
    GRAPHTREE_ASSIGN_OR_RETURN(const ContentDigest after, Read(watched.range));
    AddressRange changed;
    for (size_t i = 0; i < after.size(); ++i) {
      const Address base = watched.range.base + i * kDigestedBytes;
      const AddressRange part = {base, std::min(kDigestedBytes, watched.range.end() - base)};
      if (after[i] == watched.before[i] || log_.DeclaresWriteTo(part)) continue;
      if (changed.empty()) changed.base = part.base;
      changed.bytes = part.end() - changed.base;
    }
    if (changed.empty()) continue;
    found.push_back({watched.input, changed, changed.base - watched.base,
                     log_.OpsThatTouch(changed), log_.SitesThatTouch(changed)});
  }
  return found;
}

std::string ToString(const UndeclaredWrite& write) {
  const std::string what =
      write.input == kNotGiven
          ? absl::StrCat("memory at 0x", absl::Hex(write.range.base - write.offset),
                         ", which is no input,")
          : absl::StrCat("input ", write.input);
  return absl::StrCat(what, " changed at bytes ", write.offset, " to ",
                      write.offset + write.range.bytes - 1, ", which ",
                      write.ops.empty() ? "no op was given" : write.ops,
                      write.ops.empty() ? "" : " was given to read");
}

}  // namespace graphtree
