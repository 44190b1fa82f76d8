// Rows, of which some are empty.
#include "runtime/core/programs.h"

#include "absl/strings/str_cat.h"
#include "allocator/memory/estate.h"
#include "device/device.h"
#include "runtime/core/lane.h"

namespace graphtree {

absl::StatusOr<ProgramState*> Programs::Find(ProgramId id) const {
  if (id.runtime != runtime_) {
    return absl::InvalidArgumentError(absl::StrCat("a program of ",
                                                   id.runtime == 0 ? "no" : "another",
                                                   " runtime was named; ids are those "
                                                   "that this runtime's AddProgram returned"));
  }
  if (id.index >= rows_.size()) {
    return absl::InvalidArgumentError(absl::StrCat("there is no program ", id.index,
                                                   "; this runtime has had ", rows_.size()));
  }
  if (rows_[id.index].program == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("program '", rows_[id.index].name, "' was removed"));
  }
  return rows_[id.index].program.get();
}

absl::Status Programs::CheckName(absl::string_view name) const {
  for (const Row& row : rows_) {
    if (row.program == nullptr || row.name != name) continue;
    return absl::AlreadyExistsError(
        absl::StrCat("there is a program '", name, "' already; names are unique"));
  }
  return absl::OkStatus();
}

absl::Status Programs::CheckAlone(const ProgramState& program) const {
  for (const Row& row : rows_) {
    const ProgramState* const other = row.program.get();
    if (other == nullptr || other == &program || &other->lane() != &program.lane()) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("'", program.name(), "' is to have a lane of its own, and '", other->name(),
                     "' lies in its lane ", program.lane().number,
                     ", too; give one of them another (ProgramOptions::lane)"));
  }
  return absl::OkStatus();
}

ProgramId Programs::Add(std::unique_ptr<ProgramState> program) {
  std::string name = program->name();
  program->SetNumber(static_cast<uint32_t>(rows_.size()));
  rows_.push_back({std::move(name), std::move(program)});
  return {runtime_, static_cast<uint32_t>(rows_.size() - 1)};
}

void Programs::LeaveBehind() {
  for (Row& row : rows_) {
    if (row.program == nullptr) continue;
    Device& device = row.program->lane().device;
    if (device.open_captures() == 0) continue;
    auto estate = std::make_unique<Estate>(device);
    estate->graphs = row.program->TakeMemory();
    device.LeaveBehind(std::move(estate));
  }
}

}  // namespace graphtree
