// Compares what was prepared with what is asked for.
#include "runtime/ahead.h"

#include <bit>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "device/device.h"
#include "runtime/slots/planted_bug.h"

namespace graphtree {
namespace {

absl::Status StageInto(Step& step, const AheadRows& row) {
  if (const auto* host = std::get_if<HostRows>(&row.rows)) return step.Stage(row.slot, *host);
  if (const auto* there = std::get_if<VersionedRows>(&row.rows)) {
    return step.Stage(row.slot, there->rows);
  }
  return step.Stage(row.slot, std::get<double>(row.rows));
}

// A wait would go into the capture, for an event from outside of it, which ends it.
absl::Status CheckNoCapture(Stream& stream, const char* call) {
  if (stream.device().open_captures() == 0 || !stream.IsCapturing()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("Ahead::", call, " was called with a stream that captures: call it on another "
                   "stream, or after the capture. What was prepared stays"));
}

}  // namespace

absl::Status Ahead::Look(absl::Span<const AheadRows> rows) {
  parts_.clear();
  slots_.clear();
  for (const AheadRows& row : rows) slots_.push_back(row.slot);
  GRAPHTREE_ASSIGN_OR_RETURN(const bool leaves_out, runtime_.LeavesOut(program_, slots_));
  is_known_ = !leaves_out;
  for (const AheadRows& row : rows) {
    Part part = {.head = {row.slot, row.rows.index()}, .runs = {}};
    if (const auto* host = std::get_if<HostRows>(&row.rows)) {
      GRAPHTREE_ASSIGN_OR_RETURN(part.runs, runtime_.RunsOf(program_, row.slot, *host));
      part.head[2] = static_cast<uint64_t>(host->type);
      part.head[3] = host->rows;
    } else if (const auto* there = std::get_if<VersionedRows>(&row.rows)) {
      part.head[2] = static_cast<uint64_t>(there->rows.type);
      part.head[3] = there->rows.rows;
      part.head[4] = there->version;
      is_known_ &= there->version != 0;
    } else {
      part.head[4] = std::bit_cast<uint64_t>(std::get<double>(row.rows));
    }
    parts_.push_back(part);
  }
  return absl::OkStatus();
}

std::vector<uint8_t> Ahead::Copied() const {
  uint64_t size = 0;
  for (const Part& part : parts_) size += sizeof(Head) + part.runs.bytes();
  std::vector<uint8_t> bytes;
  bytes.reserve(size);
  const auto append = [&bytes](const void* data, size_t count) {
    const auto* const from = static_cast<const uint8_t*>(data);
    bytes.insert(bytes.end(), from, from + count);
    return true;
  };
  for (const Part& part : parts_) {
    append(part.head.data(), sizeof(Head));
    part.runs.Visit([&](const uint8_t* run) { return append(run, part.runs.run_bytes); });
  }
  return bytes;
}

// Whether Copied would be these; copies nothing.
bool Ahead::AreSame(absl::Span<const uint8_t> kept) const {
  const auto starts_with = [&kept](const void* data, size_t count) {
    if (kept.size() < count) return false;
    if (count > 0 && std::memcmp(kept.data(), data, count) != 0) return false;
    kept.remove_prefix(count);
    return true;
  };
  for (const Part& part : parts_) {
    if (!starts_with(part.head.data(), sizeof(Head))) return false;
    const auto is_next = [&](const uint8_t* run) { return starts_with(run, part.runs.run_bytes); };
    if (!part.runs.Visit(is_next)) return false;
  }
  return kept.empty();
}

absl::StatusOr<Values> Ahead::Run(const Key& key, absl::Span<const AheadRows> rows,
                                  Stream& stream) {
  GRAPHTREE_ASSIGN_OR_RETURN(Step step, runtime_.Begin(program_, key, stream));
  for (const AheadRows& row : rows) {
    if (absl::Status staged = StageInto(step, row); !staged.ok()) {
      step.Cancel();
      return staged;
    }
  }
  Values outputs;
  GRAPHTREE_RETURN_IF_ERROR(step.Run(&outputs));
  return outputs;
}

absl::Status Ahead::Prepare(const Key& key, absl::Span<const AheadRows> rows, Stream& side) {
  GRAPHTREE_RETURN_IF_ERROR(CheckNoCapture(side, "Prepare"));
  prepared_ = nullptr;
  GRAPHTREE_RETURN_IF_ERROR(runtime_.CheckAloneInLane(program_));
  auto prepared = std::make_unique<Prepared>();
  prepared->key = key;
  prepared->touches = runtime_.touches();
  GRAPHTREE_RETURN_IF_ERROR(Look(rows));
  prepared->bytes = Copied();
  prepared->is_known = is_known_;
  GRAPHTREE_ASSIGN_OR_RETURN(prepared->done, side.device().NewEvent({}));
  GRAPHTREE_ASSIGN_OR_RETURN(prepared->outputs, Run(key, rows, side));
  GRAPHTREE_RETURN_IF_ERROR(side.Record(*prepared->done));
  prepared_ = std::move(prepared);
  ++stats_.prepared;
  return absl::OkStatus();
}

bool Ahead::IsRight(const Key& key) {
  if (prepared_ == nullptr) return false;
  if (!(prepared_->key == key)) {
    ++stats_.other_key;
    return false;
  }
  if (!prepared_->is_known || !AreSame(prepared_->bytes)) {
    ++stats_.other_rows;
    return false;
  }
  if (prepared_->touches == runtime_.touches() || IsPlanted(RuntimeBug::kTrustsPlans)) return true;
  ++stats_.touched;
  return false;
}

absl::StatusOr<Values> Ahead::Take(const Key& key, absl::Span<const AheadRows> rows,
                                   Stream& stream) {
  GRAPHTREE_RETURN_IF_ERROR(CheckNoCapture(stream, "Take"));
  GRAPHTREE_RETURN_IF_ERROR(Look(rows));
  const bool is_right = IsRight(key);
  const std::unique_ptr<Prepared> prepared = std::move(prepared_);
  if (!is_right) return Run(key, rows, stream);
  if (!IsPlanted(RuntimeBug::kForgetsPlanOrder)) {
    GRAPHTREE_RETURN_IF_ERROR(stream.Wait(*prepared->done));
  }
  ++stats_.used;
  return std::move(prepared->outputs);
}

}  // namespace graphtree
