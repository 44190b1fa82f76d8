// Compares outputs, one by one.
#include "graphs/check/output_compare.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace graphtree {
namespace {

std::string InWords(const OutputForm& form) {
  switch (form.kind) {
    case ValueKind::kNothing:
      return "nothing";
    case ValueKind::kConsumed:
      return "a tensor that was consumed";
    case ValueKind::kTensor:
      return absl::StrCat("a tensor of ", form.layout->ToString());
    case ValueKind::kInteger:
      return absl::StrCat("the integer ", static_cast<int64_t>(form.word));
    case ValueKind::kOpaque:
      return "an opaque object";
    case ValueKind::kVersionedOpaque:
      return absl::StrCat("an opaque object of version ", form.word);
  }
  return "?";
}

bool IsCallers(const OutputForm& form) {
  return form.kind == ValueKind::kTensor && form.word != 0;
}

// Where a body allocates memory of its own in each run, the address says nothing.
bool IsElsewhere(const OutputForm& run, const OutputForm& again, const OutputForm& replay) {
  return IsCallers(run) && IsCallers(replay) && run.word == again.word && run.word != replay.word;
}

bool IsAnother(const OutputForm& run, const OutputForm& replay) {
  if (run.kind != replay.kind || run.layout != replay.layout) return true;
  return run.kind != ValueKind::kTensor && run.word != replay.word;
}

}  // namespace

OutputForms FormsOf(absl::Span<const Value> outputs) {
  OutputForms forms;
  for (const Value& output : outputs) {
    OutputForm& form = forms.emplace_back();
    form.kind = output.kind();
    form.layout = output.layout();
    const bool is_callers = output.is_tensor() && output.storage() == nullptr;
    if (output.is_integer() || output.has_version() || is_callers) form.word = output.word();
  }
  return forms;
}

std::string FirstFormDifference(const OutputForms& run, const OutputForms& again,
                                const OutputForms& replay) {
  if (replay.size() != run.size() && replay.size() != again.size()) {
    return absl::StrCat("it has ", replay.size(), " outputs in the replay, and ", run.size(),
                        " in a run of its body");
  }
  const size_t count = std::min({run.size(), again.size(), replay.size()});
  for (size_t i = 0; i < count; ++i) {
    if (IsAnother(run[i], replay[i]) && IsAnother(again[i], replay[i])) {
      return absl::StrCat("output ", i, " is ", InWords(replay[i]), " in the replay, and ",
                          InWords(run[i]), " in a run of its body");
    }
    if (IsElsewhere(run[i], again[i], replay[i])) {
      return absl::StrCat("output ", i, " is memory of the caller's at 0x",
                          absl::Hex(replay[i].word), " in the replay, and at 0x",
                          absl::Hex(run[i].word), " in a run of its body");
    }
  }
  return "";
}

bool HaveOneForm(size_t output, const OutputForms& run, const OutputForms& again,
                 const OutputForms& replay) {
  if (output >= run.size() || output >= again.size() || output >= replay.size()) return false;
  const Layout* const layout = replay[output].layout;
  return replay[output].kind == ValueKind::kTensor && run[output].layout == layout &&
         again[output].layout == layout;
}

}  // namespace graphtree
