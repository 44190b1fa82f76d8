// Collects the memory that ops take, and looks for memory that none took.
#include "graphs/listen/work_log.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace graphtree {

void WorkLog::Accessed(Access access, const Tensor& tensor, int argument) {
  PassingObserver::Accessed(access, tensor, argument);
  const bool writes = access == Access::kWrite || access == Access::kReadWrite;
  const uint64_t serial = tensor.storage() == nullptr ? 0 : tensor.storage()->serial;
  if (!writes) return;
  (argument >= 0 ? taken_ : said_).push_back({serial, tensor.raw_bytes()});
}

// The op may write to the tensor although it is told to read.
void WorkLog::Doubted(const Tensor& tensor) {
  PassingObserver::Doubted(tensor);
  const uint64_t serial = tensor.storage() == nullptr ? 0 : tensor.storage()->serial;
  taken_.push_back({serial, tensor.raw_bytes()});
}

void WorkLog::Launched(const Kernel& kernel, const LaunchShape& shape, Arguments arguments) {
  PassingObserver::Launched(kernel, shape, arguments);
  ++ops_;
}

// A copy or a fill of no bytes captures nothing.
void WorkLog::Copied(const CopyParams& params) {
  PassingObserver::Copied(params);
  if (params.bytes > 0) ++ops_;
}

void WorkLog::Filled(const FillParams& params) {
  PassingObserver::Filled(params);
  if (params.count > 0) ++ops_;
}

void WorkLog::SetsEvent() {
  PassingObserver::SetsEvent();
  ++ops_;
}

void WorkLog::Broke(absl::string_view why) {
  PassingObserver::Broke(why);
  has_parts_ = true;
}

void WorkLog::EndSection(uint64_t ops, uint64_t own) {
  has_opaque_ops_ |= ops > ops_ + own;
  ops_ = 0;
}

// Compares serials, too: where an input has died another storage may have its memory.
bool WorkLog::IsTaken(const BodyMemory& memory) const {
  if (memory.range.empty()) return true;
  return std::any_of(taken_.begin(), taken_.end(), [&memory](const BodyMemory& taken) {
    if (memory.serial != 0 && taken.serial != 0) return memory.serial == taken.serial;
    return memory.range.Overlaps(taken.range);
  });
}

std::optional<MissingWork> WorkLog::Missing(const std::vector<Returned>& returned) const {
  using Kind = MissingWork::Kind;
  if (has_opaque_ops_ || has_parts_) return std::nullopt;
  for (uint32_t i = 0; i < said_.size(); ++i) {
    if (!IsTaken(said_[i])) return MissingWork{Kind::kSaid, i, said_[i].range};
  }
  for (const Returned& output : returned) {
    if (IsTaken(output.memory)) continue;
    return MissingWork{Kind::kReturned, output.number, output.memory.range};
  }
  return std::nullopt;
}

std::string ToString(const MissingWork& missing) {
  std::string text;
  switch (missing.kind) {
    case MissingWork::Kind::kSaid:
      text = absl::StrCat("it says that opaque work writes to ", missing.memory.bytes,
                          " bytes at 0x", absl::Hex(missing.memory.base), " (Launcher::Writes)");
      break;
    case MissingWork::Kind::kReturned:
      text = absl::StrCat("its output ", missing.number, " is memory that it made");
      break;
  }
  return absl::StrCat(text, ", and nothing was captured that takes this memory: a replay would not "
                      "write it. Put the work on Launcher::stream(), and not on the stream that "
                      "the function was called on or one of a library's own; if nothing is to "
                      "write it, or an op that no launch shows, set "
                      "FunctionOptions::unseen_writes");
}

}  // namespace graphtree
