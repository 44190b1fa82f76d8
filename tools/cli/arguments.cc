// The command line parser: options by declaration, operands by count, errors as sentences.
#include "tools/cli/arguments.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "device/base/check.h"
#include "device/base/status_macros.h"

namespace graphtree::cli {
namespace {

absl::Status WrongUse(absl::string_view message) { return absl::InvalidArgumentError(message); }

// How many single-letter changes turn one word into the other.
size_t EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

std::string DidYouMean(absl::string_view word, const std::vector<std::string>& candidates) {
  const std::string nearest = Nearest(word, candidates);
  return nearest.empty() ? "" : absl::StrCat("; did you mean ", nearest, "?");
}

absl::Status CheckValue(const Option& option, absl::string_view value) {
  int64_t integer;
  double number;
  switch (option.kind) {
    case ValueKind::kInteger:
      if (absl::SimpleAtoi(value, &integer)) return absl::OkStatus();
      return WrongUse(absl::StrCat(option.name, " takes a whole number, not \"", value, "\""));
    case ValueKind::kNumber:
      if (absl::SimpleAtod(value, &number) && std::isfinite(number)) return absl::OkStatus();
      return WrongUse(absl::StrCat(option.name, " takes a number, not \"", value, "\""));
    case ValueKind::kBytes:
      if (ParseBytes(value).ok()) return absl::OkStatus();
      return WrongUse(absl::StrCat(option.name, ": ", ParseBytes(value).status().message()));
    case ValueKind::kChoice:
      if (std::count(option.choices.begin(), option.choices.end(), value)) return absl::OkStatus();
      return WrongUse(absl::StrCat(option.name, " takes one of ",
                                   absl::StrJoin(option.choices, ", "), ", not \"", value, "\""));
    case ValueKind::kFlag:
    case ValueKind::kText:
      return absl::OkStatus();
  }
  return absl::OkStatus();
}

}  // namespace

std::string Nearest(absl::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  // A third of the letters may be wrong: more than a slip of the finger is a different word.
  size_t limit = std::max<size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const size_t distance = EditDistance(word, candidate);
    if (distance < limit) {
      limit = distance;
      best = candidate;
    }
  }
  return best;
}

absl::StatusOr<int64_t> ParseBytes(absl::string_view text) {
  const size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string unit = absl::AsciiStrToUpper(text.substr(digits));
  static constexpr absl::string_view kPowers = "KMGT";
  double scale = 1;
  bool known = unit.empty() || unit == "B";
  if (!unit.empty() && absl::StrContains(kPowers, unit[0])) {
    scale = std::ldexp(1.0, 10 * static_cast<int>(kPowers.find(unit[0]) + 1));
    const absl::string_view rest = absl::string_view(unit).substr(1);
    known = rest.empty() || rest == "B" || rest == "IB";
  }
  double number;
  if (!known || !absl::SimpleAtod(text.substr(0, digits), &number) ||
      number * scale >= static_cast<double>(std::numeric_limits<int64_t>::max())) {
    return WrongUse(absl::StrCat("\"", text, "\" is not a size; write 4096, 64K, 8MiB or 1.5GiB"));
  }
  return static_cast<int64_t>(std::llround(number * scale));
}

// Walks over the words once; one object per command line.
class ArgumentParser {
 public:
  ArgumentParser(const Verb& verb, const std::vector<std::string>& args)
      : verb_(verb), args_(args) {
    for (const Option& option : verb.options) result_.declared_[option.name] = option.kind;
  }

  absl::StatusOr<Arguments> Parse() {
    bool only_operands = false;
    for (next_ = 0; next_ < args_.size();) {
      const std::string& word = args_[next_++];
      if (only_operands || word == "-" || !absl::StartsWith(word, "-")) {
        result_.operands_.push_back(word);
      } else if (word == "--") {
        only_operands = true;
      } else {
        GRAPHTREE_RETURN_IF_ERROR(TakeOption(word));
      }
    }
    GRAPHTREE_RETURN_IF_ERROR(CheckOperands());
    return std::move(result_);
  }

 private:
  absl::Status TakeOption(absl::string_view word) {
    const size_t equals = word.find('=');
    const absl::string_view name = word.substr(0, equals);
    GRAPHTREE_ASSIGN_OR_RETURN(const Option* option, FindOption(name));
    std::vector<std::string>& values = result_.values_[option->name];
    if (!values.empty() && !option->repeats && option->kind != ValueKind::kFlag) {
      return WrongUse(absl::StrCat(name, " is given twice"));
    }
    if (option->kind == ValueKind::kFlag) {
      if (equals != absl::string_view::npos) {
        return WrongUse(absl::StrCat(name, " takes no value, but \"", word, "\" gives one"));
      }
      values.push_back("");
      return absl::OkStatus();
    }
    std::string value;
    if (equals != absl::string_view::npos) {
      value = std::string(word.substr(equals + 1));
    } else if (next_ < args_.size() && !absl::StartsWith(args_[next_], "--")) {
      value = args_[next_++];
    } else {
      return WrongUse(absl::StrCat(name, " needs a value"));
    }
    GRAPHTREE_RETURN_IF_ERROR(CheckValue(*option, value));
    values.push_back(std::move(value));
    return absl::OkStatus();
  }

  absl::StatusOr<const Option*> FindOption(absl::string_view name) const {
    std::vector<std::string> names;
    for (const Option& option : verb_.options) {
      if (option.name == name || (option.short_name == name && !name.empty())) return &option;
      names.push_back(option.name);
    }
    names.push_back("--help");
    return WrongUse(absl::StrCat(verb_.name, " has no option ", name, DidYouMean(name, names)));
  }

  absl::Status CheckOperands() const {
    size_t most = verb_.operands.size();
    const std::vector<std::string>& given = result_.operands_;
    for (size_t i = 0; i < verb_.operands.size(); ++i) {
      const Operand& operand = verb_.operands[i];
      if (i >= given.size() && !operand.optional) {
        return WrongUse(absl::StrCat(operand.name, " is missing: ", operand.help));
      }
      if (operand.repeats) most = std::numeric_limits<size_t>::max();
    }
    if (given.size() > most) {
      return WrongUse(
          absl::StrCat(verb_.name, " does not know what to do with \"", given[most], "\""));
    }
    return absl::OkStatus();
  }

  const Verb& verb_;
  const std::vector<std::string>& args_;
  size_t next_ = 0;
  Arguments result_;
};

absl::StatusOr<Arguments> ParseArguments(const Verb& verb, const std::vector<std::string>& args) {
  return ArgumentParser(verb, args).Parse();
}

ValueKind Arguments::KindOf(absl::string_view option) const {
  const auto found = declared_.find(option);
  GRAPHTREE_CHECK(found != declared_.end()) << "the verb reads " << option << ", undeclared";
  return found->second;
}

const std::vector<std::string>& Arguments::Values(absl::string_view option, bool kind_fits) const {
  GRAPHTREE_CHECK(kind_fits) << "the verb reads " << option << " as a kind that it is not";
  static const auto* const kNone = new std::vector<std::string>();
  const auto found = values_.find(option);
  return found == values_.end() ? *kNone : found->second;
}

bool Arguments::Has(absl::string_view option) const {
  KindOf(option);
  return !Values(option, true).empty();
}

std::string Arguments::Text(absl::string_view option, absl::string_view fallback) const {
  const ValueKind kind = KindOf(option);
  const auto& values = Values(option, kind == ValueKind::kText || kind == ValueKind::kChoice);
  return values.empty() ? std::string(fallback) : values.back();
}

std::vector<std::string> Arguments::Texts(absl::string_view option) const {
  return Values(option, KindOf(option) != ValueKind::kFlag);
}

int64_t Arguments::Integer(absl::string_view option, int64_t fallback) const {
  const auto& values = Values(option, KindOf(option) == ValueKind::kInteger);
  int64_t value = fallback;
  if (!values.empty()) GRAPHTREE_CHECK(absl::SimpleAtoi(values.back(), &value));
  return value;
}

double Arguments::Number(absl::string_view option, double fallback) const {
  const auto& values = Values(option, KindOf(option) == ValueKind::kNumber);
  double value = fallback;
  if (!values.empty()) GRAPHTREE_CHECK(absl::SimpleAtod(values.back(), &value));
  return value;
}

int64_t Arguments::Bytes(absl::string_view option, int64_t fallback) const {
  const auto& values = Values(option, KindOf(option) == ValueKind::kBytes);
  return values.empty() ? fallback : ParseBytes(values.back()).value();
}

std::string Arguments::OperandAt(size_t n, absl::string_view fallback) const {
  return n < operands_.size() ? operands_[n] : std::string(fallback);
}

}  // namespace graphtree::cli
