// Times, names and warnings as text.
#include "tools/profile/words.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "tools/memory/text.h"

namespace graphtree::profile {
namespace {

using memory::Count;
using memory::Plural;
using trace::Identity;
using trace::TraceTables;

// Of a C++ signature the name, and the names of its template arguments: the rest fills a screen.
std::string ShortSignature(absl::string_view signature) {
  absl::ConsumePrefix(&signature, "void ");
  const std::string name = absl::StrReplaceAll(
      signature, {{"(anonymous namespace)::", ""}, {"at::native::", ""}, {"c10::", ""}});
  std::string text;
  int depth = 0;
  int brackets = 0;  // of parameters inside template arguments
  for (const char c : name) {
    if (c == '(' && depth == 0) break;
    brackets += c == '(' ? 1 : 0;
    depth -= c == '>' && depth > 0 ? 1 : 0;
    if (depth < 2 && brackets == 0) text.push_back(c);
    if (c == '<' && ++depth == 2 && brackets == 0) text += "...";
    brackets -= c == ')' ? 1 : 0;
  }
  return text;
}

}  // namespace

std::string SignedTimeText(double ns) { return absl::StrCat(ns < 0 ? "" : "+", TimeText(ns)); }

std::string OpName(const TraceTables& tables, trace::IdentityId id) {
  constexpr size_t kLong = 60;
  const absl::string_view name = tables.text(tables.identity(id).name);
  if (name.empty()) return "(unnamed)";
  // A copy's direction is in brackets and short.
  return memory::Safe(name.size() <= kLong ? std::string(name) : ShortSignature(name));
}

std::string PlaceOf(const TraceTables& tables, const Identity& identity) {
  std::vector<std::string> parts;
  if (identity.program != 0) parts.push_back(absl::StrCat(tables.text(identity.program)));
  if (identity.function != 0) parts.push_back(absl::StrCat(tables.text(identity.function)));
  if (identity.tree_node != trace::kUnknown) {
    parts.push_back(absl::StrCat("tree node ", identity.tree_node));
  }
  if (identity.shape != 0) parts.push_back(absl::StrCat(tables.text(identity.shape)));
  if (identity.scope != 0) parts.push_back(absl::StrCat(tables.text(identity.scope)));
  return memory::Safe(absl::StrJoin(parts, ", "));
}

std::string OpPlace(const TraceTables& tables, const trace::OpRow& row) {
  const Identity& identity = tables.identity(row.identity);
  std::string place = PlaceOf(tables, identity);
  if (row.local_node != 0) {
    place = absl::StrCat("op ", row.local_node, place.empty() ? "" : " of ", place);
  }
  if (identity.input_dims != 0) {
    absl::StrAppend(&place, place.empty() ? "" : ", ",
                    memory::Safe(tables.text(identity.input_dims)));
  }
  return place;
}

std::string ReplayName(const TraceTables& tables, const trace::ReplayRow& row) {
  std::string name = memory::Safe(tables.text(row.function));
  if (row.tree_node != trace::kUnknown) {
    absl::StrAppend(&name, name.empty() ? "" : ", ", "tree node ", row.tree_node);
  }
  if (!name.empty()) return name;
  if (row.graph != 0) return absl::StrCat("graph ", row.graph);
  return absl::StrCat("graph of ", Plural(row.ops_of_first, "op", "ops"), ", first ",
                      OpName(tables, row.first_op));
}

std::vector<std::string> Warnings(const trace::TraceStatistics& statistics) {
  const trace::TraceNotes& notes = statistics.notes();
  std::vector<std::string> warnings;
  if (!notes.cut.empty()) {
    warnings.push_back(absl::StrCat("The trace is not whole: ", notes.cut,
                                    ". What came before is counted."));
  }
  if (notes.dropped_records != 0) {
    warnings.push_back(absl::StrCat(Plural(notes.dropped_records, "record was", "records were"),
                                    " dropped while the trace was taken, so counts are too low."));
  }
  if (notes.unmatched_ops != 0) {
    warnings.push_back(absl::StrCat(
        Plural(notes.unmatched_ops, "op", "ops"),
        " of launches that have another number of ops than their graph are not told by name."));
  }
  uint64_t unmatched = 0;
  for (const trace::ReplayRow& row : statistics.replays()) unmatched += row.unmatched;
  if (unmatched != 0) {
    warnings.push_back(absl::StrCat(Plural(unmatched, "replay has", "replays have"),
                                    " another number of ops than the first of the same kind."));
  }
  if (statistics.without_launch() != 0) {
    warnings.push_back(absl::StrCat("The launch of ",
                                    Plural(statistics.without_launch(), "op", "ops"),
                                    " is not in the trace, so latencies lack them."));
  }
  if (statistics.without_room() != 0 || statistics.tables().overflowed() != 0) {
    warnings.push_back(absl::StrCat(
        "There are more kinds of ops than are told apart: ",
        Count(statistics.without_room() + statistics.tables().overflowed()), " records."));
  }
  if (notes.left_out != 0) {
    warnings.push_back(absl::StrCat(Plural(notes.left_out, "event", "events"),
                                    " of a kind that is not read: none is an op or a call."));
  }
  if (notes.drift_ppm != 0) {
    warnings.push_back(absl::StrFormat(
        "The device's clock drifted by %.3g ppm against the host's; times are corrected for it.",
        notes.drift_ppm));
  }
  for (const std::string& remark : notes.remarks) warnings.push_back(memory::Safe(remark));
  return warnings;
}

}  // namespace graphtree::profile
