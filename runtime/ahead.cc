// Compares what was prepared with what is asked for.
#include "runtime/ahead.h"

#include <array>
#include <cstring>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "device/device.h"
#include "runtime/slots/planted_bug.h"

namespace graphtree {
namespace {

// Before the bytes of each slot's rows.
using Head = std::array<int64_t, 3>;

Head HeadOf(const AheadRows& row) {
  return {row.slot, static_cast<int64_t>(row.rows.type), row.rows.rows};
}

// All rows, one slot's after the other. `sizes` are those of each, in bytes.
std::vector<uint8_t> BytesOf(absl::Span<const AheadRows> rows, absl::Span<const uint64_t> sizes) {
  std::vector<uint8_t> bytes;
  bytes.reserve(std::accumulate(sizes.begin(), sizes.end(), sizes.size() * sizeof(Head)));
  const auto append = [&bytes](const void* data, size_t count) {
    const auto* const from = static_cast<const uint8_t*>(data);
    bytes.insert(bytes.end(), from, from + count);
  };
  for (size_t i = 0; i < rows.size(); ++i) {
    append(HeadOf(rows[i]).data(), sizeof(Head));
    append(rows[i].rows.data, sizes[i]);
  }
  return bytes;
}

// Whether BytesOf the rows are these; copies nothing.
bool IsSame(absl::Span<const uint8_t> kept, absl::Span<const AheadRows> rows,
            absl::Span<const uint64_t> sizes) {
  const auto starts_with = [&kept](const void* data, size_t count) {
    if (kept.size() < count) return false;
    if (count > 0 && std::memcmp(kept.data(), data, count) != 0) return false;
    kept.remove_prefix(count);
    return true;
  };
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!starts_with(HeadOf(rows[i]).data(), sizeof(Head))) return false;
    if (!starts_with(rows[i].rows.data, sizes[i])) return false;
  }
  return kept.empty();
}

}  // namespace

absl::Status Ahead::Measure(absl::Span<const AheadRows> rows) {
  sizes_.clear();
  for (const AheadRows& row : rows) {
    GRAPHTREE_ASSIGN_OR_RETURN(const uint64_t size,
                               runtime_.StagedBytes(program_, row.slot, row.rows));
    sizes_.push_back(size);
  }
  return absl::OkStatus();
}

absl::StatusOr<Values> Ahead::Run(const Key& key, absl::Span<const AheadRows> rows,
                                  Stream& stream) {
  GRAPHTREE_ASSIGN_OR_RETURN(Step step, runtime_.Begin(program_, key, stream));
  for (const AheadRows& row : rows) {
    if (absl::Status staged = step.Stage(row.slot, row.rows); !staged.ok()) {
      step.Cancel();
      return staged;
    }
  }
  Values outputs;
  GRAPHTREE_RETURN_IF_ERROR(step.Run(&outputs));
  return outputs;
}

absl::Status Ahead::Prepare(const Key& key, absl::Span<const AheadRows> rows, Stream& side) {
  prepared_ = nullptr;
  auto prepared = std::make_unique<Prepared>();
  prepared->key = key;
  prepared->touches = runtime_.touches();
  GRAPHTREE_RETURN_IF_ERROR(Measure(rows));
  prepared->bytes = BytesOf(rows, sizes_);
  GRAPHTREE_ASSIGN_OR_RETURN(prepared->done, side.device().NewEvent({}));
  GRAPHTREE_ASSIGN_OR_RETURN(prepared->outputs, Run(key, rows, side));
  GRAPHTREE_RETURN_IF_ERROR(side.Record(*prepared->done));
  prepared_ = std::move(prepared);
  ++stats_.prepared;
  return absl::OkStatus();
}

bool Ahead::IsRight(const Key& key, absl::Span<const AheadRows> rows) {
  if (prepared_ == nullptr) return false;
  if (!(prepared_->key == key)) {
    ++stats_.other_key;
    return false;
  }
  if (!IsSame(prepared_->bytes, rows, sizes_)) {
    ++stats_.other_rows;
    return false;
  }
  if (prepared_->touches == runtime_.touches() || IsPlanted(RuntimeBug::kTrustsPlans)) return true;
  ++stats_.touched;
  return false;
}

absl::StatusOr<Values> Ahead::Take(const Key& key, absl::Span<const AheadRows> rows,
                                   Stream& stream) {
  GRAPHTREE_RETURN_IF_ERROR(Measure(rows));
  const bool is_right = IsRight(key, rows);
  const std::unique_ptr<Prepared> prepared = std::move(prepared_);
  if (!is_right) return Run(key, rows, stream);
  if (!IsPlanted(RuntimeBug::kForgetsPlanOrder)) {
    GRAPHTREE_RETURN_IF_ERROR(stream.Wait(*prepared->done));
  }
  ++stats_.used;
  return std::move(prepared->outputs);
}

}  // namespace graphtree
