// Memory of the caller's under tags, and what of it must wait.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "allocator/memory/estate.h"
#include "allocator/pool.h"
#include "device/base/known_enum.h"
#include "device/base/status_macros.h"
#include "device/device.h"
#include "graphs/tree.h"
#include "runtime/core/lane.h"
#include "runtime/core/parker.h"

namespace graphtree {

absl::Status Parker::CheckNotInBody(absl::string_view tag, absl::string_view what) const {
  const Lane* const lane = lanes_.InCallOf();
  if (lane == nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("'", tag, "' was to be ", what, " by a body of lane ", lane->number,
                   "; do it between steps"));
}

absl::Status Parker::AwaitTree(Tree& tree) {
  absl::Status status;
  tree.Inspect([&] { status = tree.pool().streams().Wait(); });
  return status;
}

// A program whose graphs point there, and that does not say so, would go on replaying them.
absl::Status Parker::CheckAllSayThatTheyNeed(absl::string_view name, const Tag& tag) const {
  absl::Status status;
  for (const TaggedMemory& one : tag.memory) {
    if (one.contents.value_or(tag.contents) == Contents::kPinned) continue;
    programs_.ForEach([&](ProgramId, const ProgramState& program) {
      if (!status.ok() || program.Needs(name)) return;
      if (!program.PointsInto(one.memory->range())) return;
      status = absl::FailedPreconditionError(absl::StrCat(
          "recordings of '", program.name(), "' point into '", one.memory->name(), "' of '", name,
          "', and it does not say that it needs that (ProgramOptions::needs)"));
    });
  }
  return status;
}

absl::StatusOr<AddressRange> Parker::AddMemory(const MemoryOptions& options) {
  const auto wrong = [&](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat("memory '", options.name, "' of ",
                                                   options.bytes, " bytes ", why));
  };
  if (options.tag.empty()) return wrong("has no tag");
  if (options.name.empty()) return wrong("has no name");
  if (options.bytes == 0) return wrong("is none");
  if (options.contents.has_value() && !IsKnown(*options.contents, Contents::kPinned)) {
    return wrong(absl::StrCat("has ", NotKnown("contents", *options.contents)));
  }
  if (options.device >= lanes_.devices()) {
    return wrong(absl::StrCat("is for device ", options.device, " of the runtime's ",
                              lanes_.devices(), ", numbered from 0"));
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [name, tag] : tags_) {
    for (const TaggedMemory& one : tag.memory) {
      if (one.memory->name() != options.name) continue;
      return absl::AlreadyExistsError(
          absl::StrCat("there is memory '", options.name, "' already; names are unique"));
    }
  }
  Tag& tag = Make(options.tag);
  if (tag.is_parked) {
    return absl::FailedPreconditionError(absl::StrCat("memory '", options.name,
                                                      "' was added while '", options.tag,
                                                      "' is parked; wake that first"));
  }
  Device& device = *lanes_.all_devices()[options.device];
  auto made = lanes_.MakeBeside(
      [&] { return ParkableMemory::Create(device, options.bytes, options.name); });
  if (!made.ok()) {
    return absl::Status(made.status().code(), absl::StrCat("making memory '", options.name,
                                                           "' of ", options.bytes, " bytes: ",
                                                           made.status().message()));
  }
  const AddressRange range = (*made)->range();
  tag.watch->memory_bytes.Add((*made)->mapped_bytes());
  tag.memory.push_back({options.device, options.contents, *std::move(made)});
  return range;
}

absl::Status Parker::RemoveMemory(absl::string_view name) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto& [tag_name, tag] : tags_) {
    const auto found = std::find_if(tag.memory.begin(), tag.memory.end(),
                                    [&](const TaggedMemory& one) {
                                      return one.memory->name() == name;
                                    });
    if (found == tag.memory.end()) continue;
    if (lanes_.all_devices()[found->device]->open_captures() > 0) {
      return absl::FailedPreconditionError(absl::StrCat(
          "memory '", name, "' was removed while a capture is open; end that capture first"));
    }
    tag.watch->memory_bytes.Set(tag.watch->memory_bytes.get() - found->memory->mapped_bytes());
    tag.watch->parked_bytes.Set(tag.watch->parked_bytes.get() -
                                std::min(tag.watch->parked_bytes.get(),
                                         found->memory->parked_bytes()));
    tag.watch->saved_bytes.Set(tag.watch->saved_bytes.get() -
                               std::min(tag.watch->saved_bytes.get(),
                                        found->memory->saved_bytes()));
    tag.memory.erase(found);
    ForgetIfUnused(std::string(tag_name));
    return absl::OkStatus();
  }
  return absl::NotFoundError(absl::StrCat("there is no memory '", name, "'"));
}

void Parker::LeaveBehind() {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto& [name, tag] : tags_) {
    for (TaggedMemory& one : tag.memory) {
      Device& device = *lanes_.all_devices()[one.device];
      if (device.open_captures() == 0) continue;
      auto estate = std::make_unique<Estate>(device);
      estate->graphs.push_back(std::shared_ptr<ParkableMemory>(std::move(one.memory)));
      device.LeaveBehind(std::move(estate));
    }
  }
}

}  // namespace graphtree
