// Launchers of graphtree.h, in a program's body: its key, slots, dependencies.
#include "absl/strings/str_cat.h"
#include "runtime/c/keys.h"
#include "runtime/c/launcher_object.h"
#include "runtime/c/values.h"
#include "runtime/program.h"

namespace graphtree::c {
namespace {

// What the program's body was given; null, and the entry has failed, in another body.
const ProgramInputs* ProgramIn(LauncherEntry& entry) {
  if (!entry) return nullptr;
  const ProgramInputs* const program = entry.object().given().program;
  if (program == nullptr) {
    entry.entry().Fail(absl::FailedPreconditionError(
        "this is no body of a program: a function of a tree has no key and no slots, and neither "
        "has a part"));
  }
  return program;
}

// False, and the entry has failed, where there is no such number.
bool IsThere(LauncherEntry& entry, const char* what, size_t number, size_t count) {
  if (number < count) return true;
  entry.entry().Fail(absl::OutOfRangeError(
      absl::StrCat("the body asks for ", what, " ", number, ", and its program has ", count)));
  return false;
}

}  // namespace
}  // namespace graphtree::c

using graphtree::ProgramInputs;
using graphtree::c::IsThere;
using graphtree::c::LauncherEntry;
using graphtree::c::OrEnd;
using graphtree::c::ProgramIn;

gt_error gt_launcher_key(gt_launcher on, gt_key* key, gt_mode* mode) noexcept {
  return OrEnd("gt_launcher_key", [&]() -> gt_error {
    LauncherEntry entry("gt_launcher_key", on);
    const ProgramInputs* const program = ProgramIn(entry);
    if (program == nullptr) return entry.Done();
    if (key != nullptr) *key = graphtree::c::KeyOf(program->key());
    if (mode != nullptr) *mode = static_cast<gt_mode>(program->mode());
    return entry.Done();
  });
}

gt_error gt_launcher_slot(gt_launcher on, uint32_t slot, gt_value* out) noexcept {
  return OrEnd("gt_launcher_slot", [&]() -> gt_error {
    LauncherEntry entry("gt_launcher_slot", on);
    if (!entry.Sets(out, "out")) return entry.Done();
    const ProgramInputs* const program = ProgramIn(entry);
    if (program != nullptr && IsThere(entry, "slot", slot, entry.object().given().slots)) {
      entry.object().Give(graphtree::Value(program->slot(slot)), out);
    }
    return entry.Done();
  });
}

gt_error gt_launcher_dependency(gt_launcher on, size_t place, gt_range* out) noexcept {
  return OrEnd("gt_launcher_dependency", [&]() -> gt_error {
    LauncherEntry entry("gt_launcher_dependency", on);
    if (!entry.Sets(out, "out")) return entry.Done();
    const ProgramInputs* const program = ProgramIn(entry);
    if (program != nullptr &&
        IsThere(entry, "dependency", place, entry.object().given().dependencies)) {
      const graphtree::AddressRange range = program->workspace(place);
      *out = {range.base, range.bytes};
    }
    return entry.Done();
  });
}

gt_error gt_launcher_prepared(gt_launcher on, size_t index, gt_value* out) noexcept {
  return OrEnd("gt_launcher_prepared", [&]() -> gt_error {
    LauncherEntry entry("gt_launcher_prepared", on);
    if (!entry.Sets(out, "out")) return entry.Done();
    const ProgramInputs* const program = ProgramIn(entry);
    if (program != nullptr &&
        IsThere(entry, "prepared value", index, program->prepared().size())) {
      entry.object().Give(graphtree::Value(program->prepared()[index]), out);
    }
    return entry.Done();
  });
}

gt_error gt_launcher_slots_are_free(gt_launcher on) noexcept {
  return OrEnd("gt_launcher_slots_are_free", [&]() -> gt_error {
    LauncherEntry entry("gt_launcher_slots_are_free", on);
    const ProgramInputs* const program = ProgramIn(entry);
    if (program != nullptr) program->SlotsAreFree(entry.on());
    return entry.Done();
  });
}
