// Digests before and after, less what was declared.
#include "graphs/body_check.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"

namespace graphtree {

absl::StatusOr<std::unique_ptr<BodyCheck>> BodyCheck::Begin(Device& device, Stream& stream,
                                                            absl::Span<const Value> inputs,
                                                            AccessObserver* next,
                                                            CallStacks* stacks) {
  GRAPHTREE_ASSIGN_OR_RETURN(ContentReader reader, ContentReader::Make(device, stream));
  auto check = std::unique_ptr<BodyCheck>(
      new BodyCheck(device.memory(), std::move(reader), next, stacks));
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].is_tensor()) continue;
    const AddressRange range = Tensor::From(inputs[i]).raw_bytes();
    GRAPHTREE_ASSIGN_OR_RETURN(ContentDigest before, check->reader_.Read(range));
    check->watched_.push_back({i, range, std::move(before), inputs[i]});
  }
  return check;
}

void BodyCheck::Accessed(Access access, const Tensor& tensor, int argument) {
  WatchUngiven(tensor);
  PassingObserver::Accessed(access, tensor, argument);
}

// What is a tree's is its body's own, or is looked after by who made it. What cannot be read is not
// watched: the op itself will tell.
void BodyCheck::WatchUngiven(const Tensor& tensor) {
  const AddressRange range = tensor.raw_bytes();
  if (tensor.storage() != nullptr || range.empty() || !memory_.CheckLive(range).ok()) return;
  for (const Watched& watched : watched_) {
    if (watched.range.Contains(range)) return;
  }
  absl::StatusOr<ContentDigest> before = reader_.Read(range);
  if (before.ok()) watched_.push_back({kNotGiven, range, *std::move(before), Value()});
}

absl::StatusOr<std::vector<UndeclaredWrite>> BodyCheck::End(absl::Span<const uint32_t> declared) {
  std::vector<UndeclaredWrite> found;
  for (const Watched& watched : watched_) {
    if (std::find(declared.begin(), declared.end(), watched.input) != declared.end()) continue;
    GRAPHTREE_ASSIGN_OR_RETURN(const ContentDigest after, reader_.Read(watched.range));
    AddressRange changed;
    for (size_t i = 0; i < after.size(); ++i) {
      const Address base = watched.range.base + i * kDigestedBytes;
      const AddressRange part = {base, std::min(kDigestedBytes, watched.range.end() - base)};
      if (after[i] == watched.before[i] || log_.DeclaresWriteTo(part)) continue;
      if (changed.empty()) changed.base = part.base;
      changed.bytes = part.end() - changed.base;
    }
    if (changed.empty()) continue;
    found.push_back({watched.input, changed, changed.base - watched.range.base,
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
