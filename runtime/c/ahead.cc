// Preparing ahead, of graphtree.h.
#include "runtime/ahead.h"

#include <memory>
#include <utility>
#include <vector>

#include "runtime/c/entry.h"
#include "runtime/c/keys.h"
#include "runtime/c/runtime_objects.h"

namespace graphtree::c {
namespace {

class AheadObject : public RuntimesOwn {
 public:
  static constexpr Kind kKind = c::kAhead;
  AheadObject(std::shared_ptr<OpenedRuntime> opened, ProgramId program)
      : RuntimesOwn(std::move(opened)), ahead_(runtime(), program) {}
  Ahead& ahead() { return ahead_; }
  CallScratch& scratch() { return scratch_; }

 private:
  Ahead ahead_;
  CallScratch scratch_;
};

std::vector<AheadRows> RowsOf(const gt_ahead_rows* rows, size_t count, Entry* entry) {
  std::vector<AheadRows> made;
  if (!entry->HasArray(rows, count, "rows")) return made;
  entry->Own([&] { made.reserve(count); });
  for (size_t i = 0; i < count && entry->ok(); ++i) {
    const gt_rows& given = rows[i].rows;
    entry->AtInput(rows[i].slot);
    entry->Fail(CheckEnum("dtype", given.dtype, GT_F64));
    const auto type = static_cast<DType>(given.dtype);
    AheadRows row = {.slot = rows[i].slot, .rows = rows[i].number};
    if (rows[i].is_number == 0 && given.on_device != 0) {
      row.rows = VersionedRows{{given.address, type, given.rows, given.row_stride,
                                given.piece_stride},
                               rows[i].version};
    } else if (rows[i].is_number == 0) {
      row.rows = HostRows{PointerTo<const void>(given.address), type, given.rows, given.row_stride,
                          given.piece_stride};
    }
    made.push_back(row);
  }
  entry->NoInput();
  return made;
}

}  // namespace
}  // namespace graphtree::c

using graphtree::c::AheadObject;
using graphtree::c::Entry;
using graphtree::c::Ref;
using graphtree::c::StreamObject;
using graphtree::c::Within;

gt_error gt_ahead_new(gt_program program, gt_ahead* out) noexcept {
  return Within("gt_ahead_new", [&](Entry& entry) -> gt_error {
    const auto of = entry.Get<graphtree::c::ProgramObject>(program, "program");
    if (!entry.Sets(out, "out") || !entry.ok()) return entry.Failed();
    return graphtree::c::GiveRuntimesOwn(
        entry, graphtree::c::NewObject<AheadObject>(of->opened(), of->id()), out);
  });
}

gt_error gt_ahead_prepare(gt_ahead ahead, const gt_key* key, const gt_ahead_rows* rows,
                          size_t count, gt_stream side) noexcept {
  return Within("gt_ahead_prepare", [&](Entry& entry) -> gt_error {
    const Ref<AheadObject> of = entry.GetAlone<AheadObject>(ahead, "ahead");
    const Ref<StreamObject> on = entry.Get<StreamObject>(side, "side");
    const std::vector<graphtree::AheadRows> read = graphtree::c::RowsOf(rows, count, &entry);
    if (entry.Has(key, "key")) entry.Fail(graphtree::c::CheckKey(*key));
    if (!entry.ok()) return entry.Failed();
    return entry.Return(of->ahead().Prepare(graphtree::c::KeyOf(*key), read, on->stream()));
  });
}

gt_error gt_ahead_take(gt_ahead ahead, const gt_key* key, const gt_ahead_rows* rows,
                       size_t row_count, gt_stream stream, gt_value* outputs, size_t capacity,
                       size_t* count) noexcept {
  return Within("gt_ahead_take", [&](Entry& entry) -> gt_error {
    const Ref<AheadObject> of = entry.GetAlone<AheadObject>(ahead, "ahead");
    const Ref<StreamObject> on = entry.Get<StreamObject>(stream, "stream");
    const std::vector<graphtree::AheadRows> read = graphtree::c::RowsOf(rows, row_count, &entry);
    entry.HasArray(outputs, capacity, "outputs");
    if (entry.Has(key, "key")) entry.Fail(graphtree::c::CheckKey(*key));
    if (!entry.ok()) return entry.Failed();
    absl::StatusOr<graphtree::Values> taken =
        of->ahead().Take(graphtree::c::KeyOf(*key), read, on->stream());
    if (taken.ok()) of->scratch().outputs = *std::move(taken);
    entry.Fail(taken.status());
    return entry.Return(graphtree::c::HandOut(&of->scratch(), {outputs, capacity, count}));
  });
}

gt_error gt_ahead_look(gt_ahead ahead, gt_ahead_stats* out) noexcept {
  return Within("gt_ahead_look", [&](Entry& entry) -> gt_error {
    const Ref<AheadObject> of = entry.GetAlone<AheadObject>(ahead, "ahead");
    if (!entry.ok()) return entry.Failed();
    const graphtree::AheadStats& stats = of->ahead().stats();
    const gt_ahead_stats found = {sizeof(gt_ahead_stats), stats.prepared,   stats.used,
                                  stats.other_key,        stats.other_rows, stats.touched};
    return entry.Return(graphtree::c::WriteFigures(found, "gt_ahead_stats", out));
  });
}
