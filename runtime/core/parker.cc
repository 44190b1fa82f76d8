// Walks over what has the tag.
#include "runtime/core/parker.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "device/base/known_enum.h"
#include "device/base/status_macros.h"
#include "device/device.h"
#include "graphs/tree.h"
#include "runtime/core/lane.h"
#include "runtime/watch/clock.h"

namespace graphtree {
namespace {

absl::Status In(absl::string_view doing, absl::string_view tag, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(doing, " '", tag, "': ", status.message()));
}

}  // namespace

class Parker::Taken {
 public:
  Taken() = default;
  Taken(const Taken&) = delete;
  Taken& operator=(const Taken&) = delete;
  ~Taken() {
    for (Lane* const lane : lanes_) {
      lane->is_parking.store(false);
      lane->GiveBack();
    }
  }

  // All lanes of programs that have the tag or need it, or none: then an error says who runs.
  absl::Status Take(const Programs& programs, absl::string_view tag, absl::string_view what) {
    absl::Status status;
    programs.ForEach([&](ProgramId, ProgramState& program) {
      if (!status.ok() || !program.Needs(tag)) return;
      status = TakeLane(program, absl::StrCat("'", tag, "' was to be ", what));
      if (!status.ok()) return;
      needing_.push_back(&program);
      if (program.options().tag == tag) own_.push_back(&program);
    });
    return status;
  }

  // Programs that have the tag; and all that must not run without it.
  const std::vector<ProgramState*>& own() const { return own_; }
  const std::vector<ProgramState*>& needing() const { return needing_; }
  const std::vector<Lane*>& lanes() const { return lanes_; }
  bool HasLane(const Lane& lane) const { return absl::c_linear_search(lanes_, &lane); }

 private:
  absl::Status TakeLane(ProgramState& program, absl::string_view what) {
    Lane& lane = program.lane();
    if (HasLane(lane)) return absl::OkStatus();
    if (!lane.Take(&program)) {
      const ProgramState* const other = lane.under_way.load(std::memory_order_acquire);
      return absl::FailedPreconditionError(absl::StrCat(
          what, " while a step of '", other == nullptr ? program.name() : other->name(),
          "' is under way in lane ", lane.number,
          "; run or cancel it first, or wait for the thread that has it"));
    }
    lane.is_parking.store(true);
    lanes_.push_back(&lane);
    return absl::OkStatus();
  }

  std::vector<Lane*> lanes_;
  std::vector<ProgramState*> own_;
  std::vector<ProgramState*> needing_;
};

Parker::Tag& Parker::Make(absl::string_view name) {
  const auto [found, is_new] = tags_.try_emplace(std::string(name));
  if (is_new) {
    found->second.watch = std::make_shared<TagWatch>(found->first);
    watch_.AddTag(found->second.watch);
  }
  return found->second;
}

bool Parker::IsUsed(absl::string_view name) const {
  bool is_used = false;
  programs_.ForEach([&](ProgramId, const ProgramState& program) {
    is_used |= program.options().tag == name;
  });
  const auto found = tags_.find(name);
  if (found == tags_.end()) return is_used;
  return is_used || !found->second.memory.empty() || found->second.is_parked;
}

void Parker::ForgetIfUnused(const std::string& name) {
  bool is_used = IsUsed(name);
  programs_.ForEach([&](ProgramId, const ProgramState& program) {
    is_used |= program.Needs(name);
  });
  const auto found = tags_.find(name);
  if (is_used || found == tags_.end()) return;
  watch_.RemoveTag(found->second.watch.get());
  tags_.erase(found);
}

absl::StatusOr<Parker::Tag*> Parker::Find(absl::string_view name) {
  if (!name.empty() && IsUsed(name)) return &Make(name);
  std::vector<std::string> there;
  for (const auto& [tag, has] : tags_) {
    if (!has.memory.empty()) there.push_back(tag);
  }
  programs_.ForEach([&](ProgramId, const ProgramState& program) {
    const std::string& tag = program.options().tag;
    if (!tag.empty() && !absl::c_linear_search(there, tag)) there.push_back(tag);
  });
  return absl::NotFoundError(absl::StrCat(
      "no program and no memory has the tag '", name, "'; ",
      there.empty() ? "none has any" : absl::StrCat("there are '", absl::StrJoin(there, "', '"),
                                                    "'")));
}

absl::Status Parker::CheckProgram(const ProgramOptions& options) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  absl::Status status;
  programs_.ForEach([&](ProgramId, const ProgramState& other) {
    const Lane& lane = other.lane();
    if (lane.number != options.lane || lane.device_number != options.device) return;
    if (other.options().tag == options.tag) return;
    status = absl::InvalidArgumentError(absl::StrCat(
        "program '", options.name, "' has the tag '", options.tag, "', and '", other.name(),
        "' in its lane ", lane.number, " has '", other.options().tag,
        "'; graphs of a lane share memory, so they are parked together"));
  });
  GRAPHTREE_RETURN_IF_ERROR(status);
  for (const auto& [name, tag] : tags_) {
    if (!tag.is_parked) continue;
    const bool is_lane_parked = absl::c_any_of(tag.pools, [&](const ParkedPool& pool) {
      return pool.lane().number == options.lane && pool.lane().device_number == options.device;
    });
    const bool needs = name == options.tag || absl::c_linear_search(options.needs, name);
    if (!is_lane_parked && !needs) continue;
    return absl::FailedPreconditionError(absl::StrCat("program '", options.name,
                                                      "' was added while '", name,
                                                      "' is parked; wake that first"));
  }
  return absl::OkStatus();
}

absl::Status Parker::CheckMayPark(absl::string_view name, const Tag& tag,
                                  const Taken& taken) const {
  for (const Lane* const lane : taken.lanes()) {
    if (lane->device.open_captures() > 0) {
      return absl::FailedPreconditionError(
          absl::StrCat("'", name, "' was to be parked while a capture is open on ",
                       lane->device.info().name, ", so nothing may be unmapped; end it first"));
    }
  }
  for (const ProgramState* const program : taken.own()) {
    const uint64_t lent = program->lane().watch->lent_bytes.load();
    if (lent == 0) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("'", name, "' was to be parked while ", lent, " bytes of lane ",
                     program->lane().number, " are lent; give them back first"));
  }
  return CheckAllSayThatTheyNeed(name, tag);
}

absl::Status Parker::Park(absl::string_view name, Contents contents) {
  if (!IsKnown(contents, Contents::kPinned)) {
    return absl::InvalidArgumentError(absl::StrCat("'", name, "' was to be parked with ",
                                                   NotKnown("contents", contents)));
  }
  GRAPHTREE_RETURN_IF_ERROR(CheckNotInBody(name, "parked"));
  const std::lock_guard<std::mutex> lock(mutex_);
  GRAPHTREE_ASSIGN_OR_RETURN(Tag* const tag, Find(name));
  const bool gives_up = tag->is_parked && contents == Contents::kDrop && !tag->damage.ok();
  if (tag->is_parked && tag->contents == contents && tag->damage.ok()) return absl::OkStatus();
  if (tag->is_parked && !gives_up) {
    return absl::FailedPreconditionError(absl::StrCat(
        "'", name, "' was to be parked with ", ContentsName(contents), ", and is parked with ",
        ContentsName(tag->contents), tag->damage.ok() ? "" : ", and what came back was wrong",
        "; ", tag->damage.ok() ? "wake it first" : "park it with drop, to give that up"));
  }
  Taken taken;
  GRAPHTREE_RETURN_IF_ERROR(taken.Take(programs_, name, "parked"));
  if (gives_up) return GiveUpContents(*tag, taken);
  tag->contents = contents;
  GRAPHTREE_RETURN_IF_ERROR(CheckMayPark(name, *tag, taken));
  tag->damage = absl::OkStatus();
  absl::Status status = ParkAll(*tag, taken);
  if (!status.ok()) {
    status = In("parking", name, status);
    const absl::Status back = WakeAll(*tag, taken);
    if (back.ok()) {
      tag->pools.clear();
      TellWatch(*tag, taken);
      return status;
    }
    status = absl::Status(status.code(),
                          absl::StrCat(status.message(), "; what was parked before that could not "
                                       "be woken (", back.message(), "): call Wake"));
  }
  if (status.ok()) ++tag->watch->parks;
  SetParked(std::string(name), *tag, taken, true);
  return status;
}

// What a park that fails does not reach was written to since the last one.
absl::Status Parker::ParkAll(Tag& tag, const Taken& taken) {
  for (ProgramState* const program : taken.own()) program->ForgetLastPark();
  for (TaggedMemory& one : tag.memory) one.memory->ForgetLastPark();
  for (ProgramState* const program : taken.needing()) {
    GRAPHTREE_RETURN_IF_ERROR(program->AwaitSteps());
  }
  tag.pools.clear();
  for (Lane* const lane : taken.lanes()) {
    const bool is_own = absl::c_any_of(
        taken.own(), [&](const ProgramState* program) { return &program->lane() == lane; });
    if (!is_own) {
      GRAPHTREE_RETURN_IF_ERROR(AwaitTree(*lane->tree));
      continue;
    }
    tag.pools.emplace_back(*lane);
    GRAPHTREE_RETURN_IF_ERROR(tag.pools.back().Park(tag.contents));
  }
  for (ProgramState* const program : taken.own()) {
    GRAPHTREE_RETURN_IF_ERROR(program->ParkSlots(tag.contents));
  }
  for (TaggedMemory& one : tag.memory) {
    GRAPHTREE_RETURN_IF_ERROR(one.memory->Park(one.contents.value_or(tag.contents)));
  }
  return absl::OkStatus();
}

absl::Status Parker::WakePool(ParkedPool& pool) {
  const uint64_t bytes = pool.bytes_to_wake();
  if (bytes > 0) GRAPHTREE_RETURN_IF_ERROR(lanes_.MakeRoomToWake(pool.lane(), bytes));
  return pool.Wake();
}

// What is awake already is left alone.
absl::Status Parker::WakeAll(Tag& tag, const Taken& taken) {
  for (ParkedPool& pool : tag.pools) GRAPHTREE_RETURN_IF_ERROR(WakePool(pool));
  for (ProgramState* const program : taken.own()) {
    GRAPHTREE_RETURN_IF_ERROR(program->WakeSlots());
  }
  for (TaggedMemory& one : tag.memory) GRAPHTREE_RETURN_IF_ERROR(one.memory->Wake());
  return absl::OkStatus();
}

absl::Status Parker::CheckAll(Tag& tag, const Taken& taken) {
  for (ParkedPool& pool : tag.pools) GRAPHTREE_RETURN_IF_ERROR(pool.Check());
  for (const ProgramState* const program : taken.own()) {
    GRAPHTREE_RETURN_IF_ERROR(program->CheckSlots());
  }
  for (const TaggedMemory& one : tag.memory) GRAPHTREE_RETURN_IF_ERROR(one.memory->Check());
  return absl::OkStatus();
}

absl::Status Parker::Wake(absl::string_view name) {
  GRAPHTREE_RETURN_IF_ERROR(CheckNotInBody(name, "woken"));
  const std::lock_guard<std::mutex> lock(mutex_);
  GRAPHTREE_ASSIGN_OR_RETURN(Tag* const tag, Find(name));
  if (!tag->is_parked) return absl::OkStatus();
  GRAPHTREE_RETURN_IF_ERROR(tag->damage);
  Taken taken;
  GRAPHTREE_RETURN_IF_ERROR(taken.Take(programs_, name, "woken"));
  const absl::StatusOr<int64_t> begin = LookAt(options_.clock_ns);
  GRAPHTREE_RETURN_IF_ERROR(begin.status());
  absl::Status status =
      lanes_.MakeBeside([&] { return WakeAll(*tag, taken); }, taken.lanes());
  if (status.ok()) {
    status = CheckAll(*tag, taken);
    if (absl::IsDataLoss(status)) tag->damage = status = In("waking", name, status);
  } else {
    status = In("waking", name, status);
  }
  SetParked(std::string(name), *tag, taken, !status.ok());
  if (!status.ok()) {
    ++tag->watch->failed_wakes;
    return status;
  }
  tag->pools.clear();
  ++tag->watch->wakes;
  const absl::StatusOr<int64_t> end = LookAt(options_.clock_ns);
  if (end.ok()) {
    tag->watch->wake_times.Add(static_cast<uint64_t>(std::max<int64_t>(*end - *begin, 1)));
  }
  ForgetIfUnused(std::string(name));
  return absl::OkStatus();
}

absl::Status Parker::GiveUpContents(Tag& tag, const Taken& taken) {
  for (ParkedPool& pool : tag.pools) pool.GiveUpContents();
  for (ProgramState* const program : taken.own()) {
    GRAPHTREE_RETURN_IF_ERROR(program->DropSlots());
  }
  for (TaggedMemory& one : tag.memory) one.memory->GiveUpContents();
  for (Lane* const lane : taken.lanes()) lane->tree->BeginStep();
  tag.contents = Contents::kDrop;
  tag.damage = absl::OkStatus();
  TellWatch(tag, taken);
  return absl::OkStatus();
}

void Parker::SetParked(const std::string& name, Tag& tag, const Taken& taken, bool is_parked) {
  tag.is_parked = is_parked;
  for (ProgramState* const program : taken.needing()) program->SetParkedBy(name, is_parked);
  TellWatch(tag, taken);
}

void Parker::TellWatch(Tag& tag, const Taken& taken) {
  uint64_t parked = 0, saved = 0, memory = 0;
  for (const ParkedPool& pool : tag.pools) {
    parked += pool.bytes_to_wake();
    saved += pool.saved_bytes();
  }
  for (const ProgramState* const program : taken.own()) {
    parked += program->slot_memory().parked_bytes();
    saved += program->slot_memory().saved_bytes();
  }
  for (const TaggedMemory& one : tag.memory) {
    parked += one.memory->parked_bytes();
    saved += one.memory->saved_bytes();
    memory += one.memory->mapped_bytes();
  }
  tag.watch->is_parked.Set(tag.is_parked);
  tag.watch->contents.Set(static_cast<uint64_t>(tag.contents));
  tag.watch->parked_bytes.Set(parked);
  tag.watch->saved_bytes.Set(saved);
  tag.watch->memory_bytes.Set(memory);
}

}  // namespace graphtree
