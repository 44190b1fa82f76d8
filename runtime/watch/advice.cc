// Sums up the steps' fields.
#include "runtime/watch/advice.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graphs/reason.h"

namespace graphtree {
namespace {

std::string Value(const Key& key, KeyField field) {
  return absl::StrCat(KeyFieldName(field), "=",
                      field == KeyField::kExtra ? absl::StrCat(key.extra)
                                                : absl::StrCat(NumberOf(key, field)));
}

// The largest number that a shape has in the field.
std::optional<int32_t> Ceiling(KeyField field, absl::Span<const ExplainedShape> shapes) {
  std::optional<int32_t> most;
  if (field == KeyField::kExtra) return most;
  for (const ExplainedShape& shape : shapes) {
    most = std::max(most.value_or(0), NumberOf(shape.key, field));
  }
  return most;
}

// "tokens up to 600, where the largest shape has 64" for each field that stands against the steps.
std::string AboveCeiling(absl::Span<const LoggedStep> steps,
                         absl::Span<const ExplainedShape> shapes) {
  std::vector<std::string> parts;
  std::vector<std::string> wanted;
  for (size_t f = 0; f < kKeyNumberCount; ++f) {
    const auto field = static_cast<KeyField>(f);
    int32_t most = -1;
    for (const LoggedStep& step : steps) {
      if (step.field == field) most = std::max(most, NumberOf(step.key, field));
    }
    if (most < 0) continue;
    parts.push_back(absl::StrCat(KeyFieldName(field), " up to ", most, ", where the largest shape ",
                                 "has ", Ceiling(field, shapes).value_or(0)));
    wanted.push_back(absl::StrCat(KeyFieldName(field), "=", most));
  }
  if (parts.empty()) return "";
  return absl::StrCat(absl::StrJoin(parts, "; "), ": add a shape with ",
                      absl::StrJoin(wanted, " "), ", or split the call");
}

// "kind=3, kind=4": what the steps have in the fields that stand against them.
std::string Values(absl::Span<const LoggedStep> steps) {
  constexpr size_t kMostNamed = 4;
  std::set<std::string> values;
  for (const LoggedStep& step : steps) {
    if (step.field.has_value()) values.insert(Value(step.key, *step.field));
  }
  if (values.empty()) return "";
  std::vector<std::string> named(values.begin(), values.end());
  const size_t all = named.size();
  if (all > kMostNamed) named.resize(kMostNamed);
  return absl::StrCat(absl::StrJoin(named, ", "),
                      all > kMostNamed ? absl::StrCat(" and ", all - kMostNamed, " more") : "");
}

// "tokens=8, tokens=64": the shapes that would have served the steps.
std::string ShapesOf(absl::Span<const LoggedStep> steps, absl::Span<const ExplainedShape> shapes) {
  constexpr size_t kMostNamed = 4;
  std::set<uint32_t> ids;
  for (const LoggedStep& step : steps) {
    if (step.shape < shapes.size()) ids.insert(step.shape);
  }
  std::vector<std::string> named;
  for (const uint32_t id : ids) {
    if (named.size() < kMostNamed) named.push_back(ToString(shapes[id].key));
  }
  return absl::StrCat(absl::StrJoin(named, ", "),
                      ids.size() > kMostNamed ? absl::StrCat(" and ", ids.size() - kMostNamed,
                                                             " more")
                                              : "");
}

// The tree's own reasons for the steps.
std::string TreeReasons(absl::Span<const LoggedStep> steps) {
  std::set<Reason> reasons;
  for (const LoggedStep& step : steps) {
    if (step.reason.has_value()) reasons.insert(*step.reason);
  }
  std::vector<std::string> parts;
  for (const Reason reason : reasons) {
    parts.push_back(absl::StrCat(ReasonName(reason), ": ", ReasonSentence(reason)));
  }
  return absl::StrJoin(parts, "; ");
}

std::string What(Why why, absl::Span<const LoggedStep> steps,
                 absl::Span<const ExplainedShape> shapes) {
  if (why == Why::kAboveCeiling) return AboveCeiling(steps, shapes);
  if (why == Why::kUncovered || why == Why::kPadding) return Values(steps);
  return ShapesOf(steps, shapes);
}

}  // namespace

std::string AdviceFor(Why why, absl::Span<const LoggedStep> steps,
                      absl::Span<const ExplainedShape> shapes) {
  std::string text = What(why, steps, shapes);
  if (why == Why::kAboveCeiling && !text.empty()) return text;
  absl::StrAppend(&text, text.empty() ? "" : ": ", WhySentence(why));
  const std::string reasons = TreeReasons(steps);
  if (!reasons.empty()) absl::StrAppend(&text, " (", reasons, ")");
  return text;
}

std::string SentenceFor(const LoggedStep& step, absl::Span<const ExplainedShape> shapes) {
  std::string text = absl::StrCat(WhyName(step.why), ": ");
  if (IsReplay(step.why) && step.shape < shapes.size()) {
    const Key& shape = shapes[step.shape].key;
    return absl::StrCat(text, ToString(step.key), " in ", ToString(shape), "; ",
                        WhySentence(step.why));
  }
  absl::StrAppend(&text, step.field.has_value() ? Value(step.key, *step.field)
                                                : ToString(step.key));
  const std::optional<int32_t> ceiling =
      step.field.has_value() ? Ceiling(*step.field, shapes) : std::nullopt;
  if (step.why == Why::kAboveCeiling && ceiling.has_value()) {
    absl::StrAppend(&text, " where the largest is ", *ceiling);
  }
  if (step.why != Why::kFailed && step.shape < shapes.size()) {
    absl::StrAppend(&text, " in ", ToString(shapes[step.shape].key));
  }
  absl::StrAppend(&text, "; ", WhySentence(step.why));
  if (step.reason.has_value()) {
    absl::StrAppend(&text, " (", ReasonName(*step.reason), ": ", ReasonSentence(*step.reason),
                    ")");
  }
  return text;
}

}  // namespace graphtree
