// The file behind the figures, where there are both.
#include "profiler/profile_output.h"

#include "absl/memory/memory.h"
#include "device/base/status_macros.h"
#include "profiler/stats/figures.h"
#include "profiler/trace/records.h"

namespace graphtree {

absl::Status ProfileOutput::Check(const ProfileOutputOptions& options) {
  if (!options.path.empty()) return ProfileFile::CheckName(options.path);
  if (options.figures) return absl::OkStatus();
  return absl::InvalidArgumentError("a profile without a file and without figures shows nothing");
}

absl::StatusOr<std::unique_ptr<ProfileOutput>> ProfileOutput::Open(
    const ProfileOutputOptions& options) {
  GRAPHTREE_RETURN_IF_ERROR(Check(options));
  auto output = absl::WrapUnique(new ProfileOutput);
  if (!options.path.empty()) {
    GRAPHTREE_ASSIGN_OR_RETURN(output->file_, ProfileFile::Create(options.path));
  }
  if (options.figures) {
    ProfileOptions into;
    output->Into(&into);
    output->figures_ = std::make_unique<trace::LiveFigures>(*into.tables, into.listener,
                                                            options.memory_bytes_per_second);
  }
  return output;
}

void ProfileOutput::Into(ProfileOptions* options) {
  options->tables = file_ != nullptr ? &file_->tables() : &own_tables_;
  options->listener = file_ != nullptr ? &file_->listener() : nullptr;
  if (figures_ != nullptr) options->listener = figures_.get();
}

std::string ProfileOutput::Table(size_t most_rows) const {
  return trace::FiguresText(*figures_->Rows(), most_rows);
}

std::string ProfileOutput::FiguresJson() const { return trace::FiguresJson(*figures_->Rows()); }

absl::Status ProfileOutput::Finish() {
  return file_ != nullptr ? file_->Finish() : absl::OkStatus();
}

}  // namespace graphtree
