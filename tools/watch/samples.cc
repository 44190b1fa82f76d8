// Reads line by line.
#include "tools/watch/samples.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "device/base/one_line.h"

namespace graphtree::watch {
namespace {

// Takes a quoted value with its escapes off the front. False if it has no end.
bool TakeQuoted(absl::string_view* text, std::string* value) {
  if (!absl::ConsumePrefix(text, "\"")) return false;
  for (size_t i = 0; i < text->size(); ++i) {
    char c = (*text)[i];
    if (c == '"') {
      text->remove_prefix(i + 1);
      return true;
    }
    if (c == '\\') {
      if (++i == text->size()) return false;
      c = (*text)[i] == 'n' ? '\n' : (*text)[i];
    }
    value->push_back(c);
  }
  return false;
}

bool TakeLabels(absl::string_view* text, Sample* sample) {
  while (!absl::ConsumePrefix(text, "}")) {
    const size_t equals = text->find('=');
    if (equals == text->npos) return false;
    std::string name(text->substr(0, equals)), value;
    text->remove_prefix(equals + 1);
    if (!TakeQuoted(text, &value)) return false;
    sample->labels.emplace_back(std::move(name), std::move(value));
    absl::ConsumePrefix(text, ",");
  }
  return true;
}

bool ReadLine(absl::string_view line, Sample* sample) {
  const size_t end = line.find_first_of("{ ");
  if (end == line.npos || end == 0) return false;
  sample->name = std::string(line.substr(0, end));
  line.remove_prefix(end);
  if (absl::ConsumePrefix(&line, "{") && !TakeLabels(&line, sample)) return false;
  return absl::ConsumePrefix(&line, " ") && absl::SimpleAtod(line, &sample->value);
}

}  // namespace

absl::string_view Sample::Label(absl::string_view wanted) const {
  for (const auto& [name, value] : labels) {
    if (name == wanted) return value;
  }
  return "";
}

absl::StatusOr<Samples> Samples::Parse(absl::string_view text) {
  Samples samples;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (line.empty() || line[0] == '#') continue;
    Sample sample;
    if (!ReadLine(line, &sample)) {
      return absl::InvalidArgumentError(
          absl::StrCat("this line is no sample: ", OneLine(line.substr(0, 200))));
    }
    samples.all_.push_back(std::move(sample));
  }
  return samples;
}

bool Samples::Has(absl::string_view name) const {
  return std::any_of(all_.begin(), all_.end(),
                     [name](const Sample& sample) { return sample.name == name; });
}

double Samples::Sum(absl::string_view name) const {
  double sum = 0;
  for (const Sample& sample : all_) sum += sample.name == name ? sample.value : 0;
  return sum;
}

double Samples::Sum(absl::string_view name, absl::string_view label,
                    absl::string_view value) const {
  double sum = 0;
  for (const Sample& sample : all_) {
    if (sample.name == name && sample.Label(label) == value) sum += sample.value;
  }
  return sum;
}

}  // namespace graphtree::watch
