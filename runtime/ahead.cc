// Compares what was prepared with what is asked for.
#include "runtime/ahead.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "device/device.h"

namespace graphtree {
namespace {

void Append(const void* data, size_t bytes, std::vector<uint8_t>* to) {
  const auto* const from = static_cast<const uint8_t*>(data);
  to->insert(to->end(), from, from + bytes);
}

}  // namespace

absl::StatusOr<std::vector<uint8_t>> Ahead::BytesOf(absl::Span<const AheadRows> rows) const {
  std::vector<uint8_t> bytes;
  for (const AheadRows& row : rows) {
    GRAPHTREE_ASSIGN_OR_RETURN(const uint64_t size,
                               runtime_.StagedBytes(program_, row.slot, row.rows));
    const int64_t what[] = {row.slot, static_cast<int64_t>(row.rows.type), row.rows.rows};
    Append(what, sizeof(what), &bytes);
    Append(row.rows.data, size, &bytes);
  }
  return bytes;
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
  GRAPHTREE_ASSIGN_OR_RETURN(prepared->bytes, BytesOf(rows));
  GRAPHTREE_ASSIGN_OR_RETURN(prepared->done, side.device().NewEvent({}));
  GRAPHTREE_ASSIGN_OR_RETURN(prepared->outputs, Run(key, rows, side));
  GRAPHTREE_RETURN_IF_ERROR(side.Record(*prepared->done));
  prepared_ = std::move(prepared);
  ++stats_.prepared;
  return absl::OkStatus();
}

bool Ahead::IsRight(const Key& key, const std::vector<uint8_t>& bytes) {
  if (prepared_ == nullptr) return false;
  if (!(prepared_->key == key)) {
    ++stats_.other_key;
    return false;
  }
  if (prepared_->bytes != bytes) {
    ++stats_.other_rows;
    return false;
  }
  if (prepared_->touches == runtime_.touches()) return true;
  ++stats_.touched;
  return false;
}

absl::StatusOr<Values> Ahead::Take(const Key& key, absl::Span<const AheadRows> rows,
                                   Stream& stream) {
  GRAPHTREE_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, BytesOf(rows));
  const bool is_right = IsRight(key, bytes);
  const std::unique_ptr<Prepared> prepared = std::move(prepared_);
  if (!is_right) return Run(key, rows, stream);
  GRAPHTREE_RETURN_IF_ERROR(stream.Wait(*prepared->done));
  ++stats_.used;
  return std::move(prepared->outputs);
}

}  // namespace graphtree
