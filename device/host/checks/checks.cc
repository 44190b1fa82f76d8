// The checks of one op, and the messages of what they find.
#include "device/host/checks/checks.h"

#include <cstring>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "device/error.h"

namespace graphtree::host {
namespace {

const char* Verb(Access access) {
  switch (access) {
    case Access::kRead: return "reads";
    case Access::kWrite: return "writes";
    default: return "reads and writes";
  }
}

// Filling more than this at once would cost more than it finds: the ends are where ops go wrong.
constexpr uint64_t kFillAtMost = uint64_t{32} << 20;

}  // namespace

absl::Status Checks::Issue(Work& work) {
  for (const Footprint& print : work.footprints()) {
    const std::string wrong = liveness_.Check(print.range);
    if (wrong.empty()) continue;
    return DeviceError(ErrorCode::kLaunchFailure,
                       absl::StrCat(work.name(), " ", Verb(print.access), " ", wrong));
  }
  FindLoosePointers(work);
  return absl::OkStatus();
}

void Checks::FindLoosePointers(Work& work) const {
  if (!poison_ || work.opaque()) return;
  // A declared argument's own pointer is none that is loose.
  const auto declared = [&work](uint64_t word) {
    for (const Footprint& print : work.footprints()) {
      if (print.range.base == word) return true;
    }
    return false;
  };
  work.set_opaque(work.AnyValueWord(
      [&](uint64_t word) { return access_.IsReserved(word) && !declared(word); }));
}

const std::string* Checks::Interned(const Work& work) {
  const std::string*& known = kernel_names_[work.kernel()];
  if (known == nullptr || *known != work.name()) known = &*names_.insert(work.name()).first;
  return known;
}

absl::Status Checks::RaceError(const Work& work, const Footprint& print, const Race& race,
                               const Moment& now) const {
  const bool same_launch = race.earlier_slot == now.ticket.slot;
  return DeviceError(
      ErrorCode::kLaunchFailure,
      absl::StrFormat(
          "race: %s on %s %s [%#x, +%d), which %s %s on %s, and nothing orders the two: "
          "record an event behind the one and let the other's stream wait for it",
          work.name(), slot_names_[now.ticket.slot], Verb(print.access), race.bytes.base,
          race.bytes.bytes, race.earlier_op, race.earlier_wrote ? "writes" : "reads",
          same_launch ? "another branch of the same graph" : slot_names_[race.earlier_slot]));
}

absl::Status Checks::RunRaces(const Work& work, Moment now) {
  now.op = Interned(work);
  for (const Footprint& print : work.footprints()) {
    const std::optional<Race> race = races_.Touch(print.range, print.writes(), now);
    if (race.has_value()) return RaceError(work, print, *race, now);
  }
  return absl::OkStatus();
}

absl::Status Checks::Run(const Work& work, Moment now) {
  for (const Footprint& print : work.footprints()) {
    const std::string wrong = access_.Check(print.range, print.writes());
    if (wrong.empty()) continue;
    return DeviceError(ErrorCode::kIllegalAddress,
                       absl::StrCat(work.name(), " on ", slot_names_[now.ticket.slot], " ",
                                    Verb(print.access), ": ", wrong));
  }
  return check_races_ ? RunRaces(work, now) : absl::OkStatus();
}

void Checks::NameSlot(uint32_t slot, const std::string& name) {
  if (slot >= slot_names_.size()) slot_names_.resize(slot + 1);
  slot_names_[slot] = name;
}

void Checks::Fill(AddressRange range, uint8_t byte) const {
  for (const AddressRange& part : access_.Writable(range)) {
    if (part.bytes <= kFillAtMost) {
      std::memset(PointerTo<>(part.base), byte, part.bytes);
    } else {
      std::memset(PointerTo<>(part.base), byte, kFillAtMost / 2);
      std::memset(PointerTo<>(part.end() - kFillAtMost / 2), byte, kFillAtMost / 2);
    }
  }
}

}  // namespace graphtree::host
