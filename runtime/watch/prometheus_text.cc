// Lines of text.
#include "runtime/watch/prometheus_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "device/base/json_writer.h"

namespace graphtree {
namespace {

// The format wants UTF-8: a name that is none is written with its other bytes as hexadecimal.
std::string Utf8(absl::string_view text) {
  if (IsUtf8(text)) return std::string(text);
  std::string safe;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x80) {
      safe.push_back(c);
    } else {
      absl::StrAppendFormat(&safe, "<%02x>", static_cast<unsigned char>(c));
    }
  }
  return safe;
}

std::string Escaped(absl::string_view text) {
  return absl::StrReplaceAll(Utf8(text), {{"\\", "\\\\"}, {"\"", "\\\""}, {"\n", "\\n"}});
}

std::string Digits(double value) { return absl::StrFormat("%.12g", value); }

}  // namespace

void PrometheusText::Family(absl::string_view name, absl::string_view type,
                            absl::string_view help) {
  name_ = std::string(name);
  absl::StrAppend(&text_, "# HELP ", name, " ", help, "\n# TYPE ", name, " ", type, "\n");
}

void PrometheusText::Sample(const Labels& labels, uint64_t value) {
  Line("", labels, absl::StrCat(value));
}

void PrometheusText::Sample(const Labels& labels, double value) {
  Line("", labels, Digits(value));
}

void PrometheusText::Histogram(const Labels& labels, const DurationCounts& durations) {
  uint64_t below = 0;
  for (size_t i = 0; i < DurationCounts::kBuckets; ++i) {
    below += durations.buckets[i];
    const bool is_last = i + 1 == DurationCounts::kBuckets;
    Labels with_end = labels;
    with_end.emplace_back("le", is_last ? "+Inf" : Digits(DurationCounts::EndOf(i) / 1e9));
    Line("_bucket", with_end, absl::StrCat(below));
  }
  Line("_sum", labels, Digits(durations.total_ns / 1e9));
  Line("_count", labels, absl::StrCat(below));
}

void PrometheusText::Line(absl::string_view suffix, const Labels& labels,
                          absl::string_view value) {
  absl::StrAppend(&text_, name_, suffix);
  char before = '{';
  for (const auto& [name, text] : labels) {
    text_.push_back(before);
    absl::StrAppend(&text_, name, "=\"", Escaped(text), "\"");
    before = ',';
  }
  absl::StrAppend(&text_, labels.empty() ? " " : "} ", value, "\n");
}

}  // namespace graphtree
